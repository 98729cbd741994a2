#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A flight recorder's slice says what threads did in its own stretch of time, as a program says it by its own clock."""

import json
import os
import re
import subprocess
import sys
import time

from flight_recorder import recorder_of
from harness import case, check, child, ctop, ctop_ok, directory, main, need_root, wait_until

NAP = 0.15
# Sleeps and computes in turn, and writes down each sleep; another thread sleeps all the time. At a word it starts one more, which ends at once.
NAPS = f"""
import sys, threading, time
def compute():
    until = time.thread_time() + 0.03
    while time.thread_time() < until:
        pass
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
def on_word():
    for _ in sys.stdin:
        short = threading.Thread(target=time.sleep, args=(0.03,))
        short.start()
        print("created", short.native_id, threading.get_native_id(), flush=True)
threading.Thread(target=on_word, daemon=True).start()
print("ready", flush=True)
while True:
    began = time.monotonic_ns()
    time.sleep({NAP})
    print("nap", began, time.monotonic_ns(), flush=True)
    compute()
"""


def rows_of(report):
    """{tid: (computed, queued, waited, cells)}, in s."""
    found = re.findall(r"^ *([\d.]+) +([\d.]+) +([\d.]+) +(\d+)  .*? *\|(.*)\|$", report, re.M)
    return {int(tid): (float(a), float(b), float(c), cells) for a, b, c, tid, cells in found}


def stretch_of(path):
    """From when to when, in s of CLOCK_MONOTONIC."""
    facts = json.loads(ctop_ok("export", "json", path).stdout)["facts"]
    return int(facts["start_ns"]) / 1e9, (int(facts["start_ns"]) + int(facts["duration_ns"])) / 1e9


def waits_of(path, tid):
    """What the slice's stacks say that a thread waited, in s."""
    stacks = ctop_ok("export", "folded", "--no-inline", "--time", "wait", "--tid", tid, path).stdout.splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in stacks if "[run queue]" not in line) / 1e9


def overlap(from_s, to_s, began, ended):
    return max(0, min(to_s, ended) - max(from_s, began))


def check_slice(path, naps, pid, sleeper):
    from_s, to_s = stretch_of(path)
    length = to_s - from_s
    report = ctop_ok("report", "--timeline", path).stdout
    rows = rows_of(report)
    computed, queued, waited, cells = rows[pid]
    # A nap is at least as long as it was asked to be, and at most as long as the program saw: it had to get a CPU then.
    least = sum(overlap(from_s, to_s, began, min(began + NAP, ended)) for began, ended in naps)
    most = sum(overlap(from_s, to_s, began, ended) for began, ended in naps)
    check(0.99 * least - 2e-3 <= waited <= 1.01 * most + 2e-3, f"{path}: waited {waited}, naps of {least} to {most}\n{report}")
    check(abs(computed + queued + waited - length) < 0.01 * length, f"{rows[pid]} in {length}\n{report}")
    check("s" in cells and set(cells) <= set("#+qs-l"), report)
    # It began to sleep long before, and goes on.
    check(abs(rows[sleeper][2] - length) < 2e-3 and set(rows[sleeper][3]) == {"s"}, f"{rows[sleeper]} in {length}\n{report}")
    # A nap that began before the stretch has its stack when it ends, one that goes on behind it has none yet.
    check(abs(waits_of(path, pid) - waited) < 2 * NAP + 0.02 * waited, f"{waits_of(path, pid)}, {waited}")
    check(re.search(r"^from 0\.000 s to ([\d.]+) s", report, re.M)[1] == f"{length:.3f}", f"{length}\n{report}")
    return report


@case
def slices_have_their_own_time():
    """Twice of one recorder, whose stretch begins in the middle of a wait; the end's own, too."""
    need_root()
    with directory() as where, child(sys.executable, "-c", NAPS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        naps = []

        def nap(times):
            while times:
                word, *numbers = program.stdout.readline().split()
                if word == "nap":
                    naps.append([int(number) / 1e9 for number in numbers])
                    times -= 1

        check(program.stdout.readline() == "ready\n", "not ready")
        sleeper = min(int(tid) for tid in os.listdir(f"/proc/{program.pid}/task") if int(tid) != program.pid)
        found = []
        with recorder_of(where, "--last", "2s", "--time", "wall", "-p", program.pid) as recorder:
            for word in False, True:
                nap(20)
                if word:
                    program.stdin.write("\n")
                    program.stdin.flush()
                    created = None
                    while not created:
                        line = program.stdout.readline().split()
                        if line[0] == "created":
                            created = list(map(int, line[1:]))
                        else:
                            naps.append([int(number) / 1e9 for number in line[1:]])
                    wait_until(lambda: str(created[0]) not in os.listdir(f"/proc/{program.pid}/task"), "thread to end")
                    nap(1)
                check(ctop("dump", recorder.process.pid).returncode == 0, "not asked")
                found.append(recorder.until_said(r"ctop: (\S+\.ctop): 2.0 s before .*SIGUSR2")[1])
                nap(1)
            check(recorder.end() == 0, f"{recorder.said}")
        ended = time.monotonic()
        while naps[-1][0] < ended:
            nap(1)
        reports = [check_slice(path, naps, program.pid, sleeper) for path in (*found, os.path.join(where, "x.ctop"))]
    check(re.search(rf"^ +[\d.]+ +[\d.]+ +[\d.]+ +\d+ +\d+ +{created[0]}  .*, by {created[1]} ", reports[1], re.M), reports[1])
    check(f" {created[0]} " not in reports[0], reports[0])


if __name__ == "__main__":
    main()
