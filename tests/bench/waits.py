# SPDX-License-Identifier: MIT
"""What it costs to see where threads wait: very many switches, beside perf; very many threads that only wait."""

import json
import os
import re
import statistics
import subprocess
import tempfile

NR_THREADS = 500
PIPE = ("perf", "bench", "sched", "pipe", "-l", "200000")


def pipe_seconds(*prefix):
    shown = subprocess.run([*prefix, *PIPE], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"Total time: ([\d.]+)", shown).group(1))


def cpu_of(ctop, where, pid, seconds, *options):
    """CPU seconds of ctop, and the share of the waiting that has a stack."""
    path, stats = os.path.join(where, "w.ctop"), os.path.join(where, "stats.json")
    subprocess.run([ctop, "record", "-q", "-e", "cpu-clock", *options, "-p", str(pid), "--duration", str(seconds), "-o", path, "--stats", stats],
                   check=True, stdin=subprocess.DEVNULL)
    with open(stats, encoding="utf-8") as file:
        return json.load(file)["cpu_seconds"], path


def seen(ctop, path):
    weights = {False: 0, True: 0}
    for line in subprocess.run([ctop, "export", "folded", path, "--time", "wait"], capture_output=True, text=True, check=True).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        weights[stack.endswith("[wait, not seen]")] += int(ns)
    return weights[False] / max(sum(weights.values()), 1)


def run(ctop, build, rounds):
    ways = {
        "alone": (),
        "ctop": (ctop, "record", "-q", "-e", "cpu-clock", "-o", "OUT", "--"),
        "ctop --time wall": (ctop, "record", "-q", "--time", "wall", "-o", "OUT", "--"),
        "perf -e sched:sched_switch -g": ("perf", "record", "-q", "-e", "sched:sched_switch", "-g", "-o", "OUT"),
    }
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        times = {name: [] for name in ways}
        for _ in range(rounds):
            for name, prefix in ways.items():
                out = os.path.join(where, "out")
                times[name].append(pipe_seconds(*(out if word == "OUT" else word for word in prefix)))
        alone = statistics.median(times["alone"])
        print(f"{' '.join(PIPE)}, {rounds} x, medians: " +
              ", ".join(f"{name} {statistics.median(of) / alone:.2f}" for name, of in times.items()) + " times")
        program = subprocess.Popen([os.path.join(build, "workloads", "deadlock"), "600", str(NR_THREADS)], stdout=subprocess.PIPE, text=True)
        try:
            program.stdout.readline()
            for options in ((), ("--time", "wall")):
                short, _ = cpu_of(ctop, where, program.pid, 2, *options)
                long, path = cpu_of(ctop, where, program.pid, 12, *options)
                share = f", {100 * seen(ctop, path):.2f} % of the waiting with its stack" if options else ""
                print(f"{NR_THREADS + 3} threads that wait, {' '.join(options) or 'cpu alone'}: {short:.2f} s of CPU for 2 s, "
                      f"{10 * (long - short):.2f} % of a core for the 10 s more{share}")
        finally:
            program.kill()
            program.wait()
            program.stdout.close()
