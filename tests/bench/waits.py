# SPDX-License-Identifier: MIT
"""What it costs to see where threads wait: very many switches, beside perf; very many threads that only wait, or wake; and beside strace what it finds."""

import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

NR_THREADS = 500
NR_WAKERS, PERIOD_US = 1000, 10000
# By the calls of strace -c: what ctop has them for.
KINDS = {"clock_nanosleep": "[sleep]", "poll": "[poll]", "wait4": "[child]", "futex": "[lock]"}
PIPE = ("perf", "bench", "sched", "pipe", "-l", "200000")


def pipe_seconds(*prefix):
    shown = subprocess.run([*prefix, *PIPE], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"Total time: ([\d.]+)", shown).group(1))


def cpu_of(ctop, where, pid, seconds, *options):
    """CPU seconds of ctop, seconds to its first complete stack, and the recording."""
    path, stats = os.path.join(where, "w.ctop"), os.path.join(where, "stats.json")
    subprocess.run([ctop, "record", "-q", "-e", "cpu-clock", *options, "-p", str(pid), "--duration", str(seconds), "-o", path, "--stats", stats],
                   check=True, stdin=subprocess.DEVNULL)
    with open(stats, encoding="utf-8") as file:
        found = json.load(file)
    return found["cpu_seconds"], found.get("first_stack_seconds", 0), path


def seen(ctop, path):
    weights = {False: 0, True: 0}
    for line in subprocess.run([ctop, "export", "folded", path, "--time", "wait"], capture_output=True, text=True, check=True).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        weights[stack.endswith("[wait, not seen]")] += int(ns)
    return weights[False] / max(sum(weights.values()), 1)


def wakers(ctop, build, where):
    program = subprocess.Popen([os.path.join(build, "bench", "wakers"), str(NR_WAKERS), str(PERIOD_US)], stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        for options in ((), ("--time", "wall")):
            short, _, _ = cpu_of(ctop, where, program.pid, 2, *options)
            long, _, _ = cpu_of(ctop, where, program.pid, 12, *options)
            print(f"{NR_WAKERS} threads that wake every {PERIOD_US // 1000} ms, {' '.join(options) or 'cpu alone'}: {short:.2f} s of CPU for 2 s, "
                  f"{10 * (long - short):.2f} % of a core for the 10 s more")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def beside_strace(ctop, build, where):
    """Both look at the same run: what strace counts has ended; ctop has what still waited, too, where its calls are read()s."""
    if not shutil.which("strace"):
        print("beside strace: there is none")
        return
    path, summary = os.path.join(where, "s.ctop"), os.path.join(where, "strace.txt")
    subprocess.run([ctop, "record", "-q", "--time", "wall", "-o", path, "--", "strace", "-f", "-c", "-w", "-o", summary,
                    os.path.join(build, "workloads", "waiters"), "6"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(summary, encoding="utf-8") as file:
        strace = {line.split()[-1]: float(line.split()[1]) for line in file if re.match(r" *[\d.]+ +[\d.]+ +\d+ ", line)}
    found = collections.Counter()
    for line in subprocess.run([ctop, "export", "folded", path, "--time", "wait"], capture_output=True, text=True, check=True).stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        if not stack.startswith("strace"):
            found[stack.rpartition(";")[2]] += int(ns) / 1e9
    print("beside strace -f -c -w, seconds by strace and by ctop: " +
          ", ".join(f"{call} {strace[call]:.3f} {found[kind]:.3f}" for call, kind in KINDS.items() if call in strace) +
          f"; not seen {found['[wait, not seen]']:.3f}")


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
                short, first, _ = cpu_of(ctop, where, program.pid, 2, *options)
                long, _, path = cpu_of(ctop, where, program.pid, 12, *options)
                share = f", {100 * seen(ctop, path):.2f} % of the waiting with its stack, the first after {first:.2f} s" if options else ""
                print(f"{NR_THREADS + 3} threads that wait, {' '.join(options) or 'cpu alone'}: {short:.2f} s of CPU for 2 s, "
                      f"{10 * (long - short):.2f} % of a core for the 10 s more{share}")
        finally:
            program.kill()
            program.wait()
            program.stdout.close()
        wakers(ctop, build, where)
        beside_strace(ctop, build, where)
