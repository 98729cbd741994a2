# SPDX-License-Identifier: MIT
"""How soon ^C is seen, and how soon the recorder has ended: of 4,000 threads, with a child that keeps main as busy as it can."""

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

NR_THREADS = 4000


def status(pid, key):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            found = re.search(rf"^{key}:\s+(\S+)", file.read(), re.M)
    except OSError:
        return 0
    return int(found.group(1), 16) if found else 0


def has_bit(pid, key, number):
    return status(pid, key) >> (number - 1) & 1


def collector_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/cmdline", "rb") as command:
                if b"--child=collector" in command.read():
                    return int(child)
    return None


def until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"interrupt: no {what} within {seconds} s")
        time.sleep(0.0005)


def once(faulty, target, fault):
    """Seconds from the signal to when main has taken it, and to its end. A signal that is blocked is pending until then."""
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        path = os.path.join(where, "x.ctop")
        recorder = subprocess.Popen([faulty, "record", "-q", "-e", "cpu-clock", "-p", str(target), "-o", path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "CTOP_FAULT": f"collector:{fault}={target}:told-turn"})
        until(lambda: os.path.exists(path) and os.path.getsize(path) > 1000, "samples")
        if fault != "none":
            collector = collector_of(recorder.pid)
            until(lambda: has_bit(collector, "SigCgt", signal.SIGUSR2), "fault")
            os.kill(collector, signal.SIGUSR2)
        time.sleep(0.5)
        began = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        until(lambda: not has_bit(recorder.pid, "ShdPnd", signal.SIGINT), "look at the signal")
        seen = time.monotonic() - began
        recorder.wait(timeout=120)
        return seen, time.monotonic() - began


def run(build, rounds):
    workload = os.path.join(build, "workloads", "crowd")
    with subprocess.Popen([workload, "waiting", str(NR_THREADS)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as target:
        try:
            target.stdout.readline()
            for fault, what in (("none", "nobody in the way"), ("flood", "a collector that asks for all threads for ever"),
                                ("deaf", "one that does not take the answers either")):
                seen, ended = zip(*(once(os.path.join(build, "faulty", "ctop"), target.pid, fault) for _ in range(rounds)))
                print(f"interrupt: {NR_THREADS:,} threads, {what}: ^C is seen after {1e3 * statistics.median(seen):.0f} ms "
                      f"(worst of {rounds}: {1e3 * max(seen):.0f}), the end is after {statistics.median(ended):.1f} s")
                sys.stdout.flush()
        finally:
            target.kill()
