# SPDX-License-Identifier: MIT
"""What one usable stack costs, from the sample to the text: ctop record and export beside perf record and script, on the same target in turn."""

import collections
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


def ctop_usable(where, target, hz, dump, options, tools):
    """(stacks that reach their outermost function, all of them, CPU seconds of recording and text)"""
    ctop = tools.ctop_record(where, target.pid, hz, dump, *options)
    _, cpu, _, _ = tools.measured([tools.CTOP, "export", "folded", *options, os.path.join(where, "x.ctop")])
    return ctop["complete"] * ctop["samples"], ctop["samples"], ctop["cpu"] + cpu


def compare(title, target, hz, dump, rounds, tools):
    """tools: how the benchmarks record, and measure a command."""
    costs = collections.defaultdict(list)
    shares = collections.defaultdict(list)

    def note(name, usable, nr, cpu):
        costs[name].append(1e6 * cpu / max(usable, 1))
        shares[name].append(usable / max(nr, 1))
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        for _ in range(rounds):
            perf = tools.perf_record(where, target.pid, hz, dump)
            usable, nr, script_cpu = perf_usable(os.path.join(where, "perf.data"), tools.measured, where)
            note("perf", usable, nr, perf["cpu"] + script_cpu)
            # What perf script --no-inline has, and all that a recording has.
            note("ctop --no-inline", *ctop_usable(where, target, hz, dump, ["--no-inline"], tools))
            note("ctop", *ctop_usable(where, target, hz, dump, [], tools))
    perf = statistics.median(costs["perf"])
    found = "; ".join(f"{name} {statistics.median(costs[name]):.1f} us ({100 * statistics.median(shares[name]):.1f} % of its stacks), "
                      f"1/{perf / statistics.median(costs[name]):.1f}" for name in costs)
    dumps = f"{dump}-byte dumps" if dump else "dumps as each takes them by itself"
    print(f"usable: {title}, cpu-clock at {hz} Hz, {dumps}, {tools.SECONDS:g} s, medians of {rounds}: CPU of recording and of the text for each "
          f"stack that reaches its outermost function: {found}", flush=True)
