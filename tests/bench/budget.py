# SPDX-License-Identifier: MIT
"""What ctop takes of the machine while every CPU is busy, without and with a budget: its processes by getrusage(), the kernel's samples as it counts them."""

import contextlib
import json
import os
import resource
import subprocess
import tempfile

# What comes once, as names, is in both.
SHORT, LONG = 30, 120


def cpu_seconds(ctop, where, pids, seconds, *options):
    """Of ctop's processes, and what it says of itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = os.path.join(where, "s.json")
    subprocess.run([ctop, "record", "-q", "-e", "cpu-clock", *options, "-p", pids, "--duration", str(seconds), "--stats", stats, "-o",
                    os.path.join(where, "x.ctop")], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(stats, encoding="utf-8") as file:
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.load(file)


def run(ctop, build):
    cpus = os.cpu_count()
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where, contextlib.ExitStack() as stack:
        programs = [stack.enter_context(subprocess.Popen([os.path.join(build, "workloads", "spin"), "100000"], stdout=subprocess.DEVNULL))
                    for _ in range((cpus + 1) // 2)]
        for program in programs:
            stack.callback(program.kill)
        pids = ",".join(str(program.pid) for program in programs)
        for name, options in ("no budget", ()), ("--budget 1%", ("--budget", "1%")), ("--budget 0.2%", ("--budget", "0.2%")):
            short, _ = cpu_seconds(ctop, where, pids, SHORT, *options)
            used, stats = cpu_seconds(ctop, where, pids, LONG, *options)
            machine = cpus * LONG
            line = (f"{2 * len(programs)} busy threads, {cpus} CPUs, {name}: ctop's processes {100 * used / machine:.2f} % of the machine in {LONG} s, "
                    f"{100 * (used - short) / (cpus * (LONG - SHORT)):.2f} % from {SHORT} s on")
            if options:
                line += f"; samples in the kernel {100 * stats['budget']['kernel_cpu_seconds'] / machine:.2f} %"
            print(f"{line}; {stats['samples'] / stats['events_counted'] * 1e9:.0f} samples a second of CPU time")
