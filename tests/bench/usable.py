# SPDX-License-Identifier: MIT
"""What one usable stack costs, from the sample to the text: ctop record and export beside perf record and script, on the same target in turn."""

import os
import statistics
import subprocess
import tempfile

# Where a stack ends that was followed to its outermost function.
OUTERMOST = {"_start", "__libc_start_main", "__libc_start_main@@GLIBC_2.34", "__clone3", "clone3", "__clone", "clone", "start_thread", "ret_from_fork_asm"}


def perf_usable(data, measured, where):
    """(stacks that reach their outermost function, all of them, CPU seconds of perf script)"""
    text = os.path.join(where, "script")
    with open(text, "w", encoding="utf-8") as file:
        _, cpu, _, _ = measured(["perf", "script", "--no-inline", "-F", "tid,time,ip,sym", "-i", data], stdout=file)
    usable = nr = 0
    last = None
    with open(text, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.strip():
                last = line
            elif last:
                nr += 1
                usable += last.split(maxsplit=1)[-1].strip() in OUTERMOST
                last = None
    return usable, nr, cpu


def compare(title, target, hz, dump, rounds, tools):
    """tools: how the benchmarks record, and measure a command."""
    costs = {"perf": [], "ctop": []}
    shares = {"perf": [], "ctop": []}
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        for _ in range(rounds):
            perf = tools.perf_record(where, target.pid, hz, dump)
            usable, nr, script_cpu = perf_usable(os.path.join(where, "perf.data"), tools.measured, where)
            costs["perf"].append(1e6 * (perf["cpu"] + script_cpu) / max(usable, 1))
            shares["perf"].append(usable / max(nr, 1))
            ctop = tools.ctop_record(where, target.pid, hz, dump)
            _, export_cpu, _, _ = tools.measured([tools.CTOP, "export", "folded", os.path.join(where, "x.ctop")])
            costs["ctop"].append(1e6 * (ctop["cpu"] + export_cpu) / max(ctop["complete"] * ctop["samples"], 1))
            shares["ctop"].append(ctop["complete"])
    perf, ctop = (statistics.median(costs[name]) for name in ("perf", "ctop"))
    print(f"usable: {title}, cpu-clock at {hz} Hz, {dump}-byte dumps, medians of {rounds}: CPU of recording and of the text for each stack "
          f"that reaches its outermost function: perf {perf:.0f} us ({100 * statistics.median(shares['perf']):.1f} % of its stacks), "
          f"ctop {ctop:.1f} us ({100 * statistics.median(shares['ctop']):.1f} %): 1/{perf / ctop:.0f}", flush=True)
