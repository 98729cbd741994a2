#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A flight recorder that runs for long: its memory, and what its slices have. SOAK_SECONDS: for how long (`make soak`: 2 hours)."""

import os
import re
import signal
import statistics
import time

from flight_recorder import BEFORE, excerpt_of, recorder_of
from harness import BUILD, CASE_SECONDS, PATIENCE, alone, child_pids, check, ctop_ok, directory, long_case, main

SECONDS = float(os.environ.get("SOAK_SECONDS", "180"))
LAST_SECONDS = 3

# Forks and execs as fast as they go, and modules that come and go; something computes all the time.
CHURN = """
{build}/workloads/dlopen & a=$!
{build}/workloads/spin & b=$!
trap 'kill $a $b; exit' TERM
while :; do /bin/true; sh -c '(:); exec /bin/true'; done"""


def own_bytes(pid):
    """Of a recorder and its own processes: anonymous memory, and shared memory once."""
    total = shared = 0
    for one in [pid, *child_pids(pid)]:
        try:
            with open(f"/proc/{one}/cmdline", encoding="utf-8", errors="replace") as file:
                if one != pid and "--child=" not in file.read():
                    continue
            with open(f"/proc/{one}/status", encoding="utf-8") as file:
                kib = {key: int(value) for key, value in re.findall(r"^(RssAnon|RssShmem):\s+(\d+) kB", file.read(), re.M)}
        except OSError:  # it has just ended
            continue
        total += kib.get("RssAnon", 0)
        shared = max(shared, kib.get("RssShmem", 0))
    return (total + shared) * 1024


def check_slice(path):
    """The moment is in it, and of what was lost it says how much."""
    check(re.match(rf"[\d.]+ s {BEFORE}(and [\d.]+ s after )?SIGUSR2, ", excerpt_of(path)), excerpt_of(path))
    report = ctop_ok("report", "--stdio", path).stdout
    check(re.search(r"^duration +[\d.]+ s, [\d,]+ samples, lost [\d,]+ ", report, re.M), report[:2000])


@long_case
@alone("its forks and what computes take the CPUs for minutes")
def memory_is_flat_and_slices_have_their_moments():
    signal.alarm(int(SECONDS) + CASE_SECONDS)
    with directory() as where, recorder_of(where, "--last", f"{LAST_SECONDS}s", "--post", "1s", "--keep", "3", "--", "sh", "-c",
                                           CHURN.format(build=BUILD)) as recorder:
        sizes, nr_slices, began = [], 0, time.monotonic()
        while time.monotonic() < began + SECONDS:
            os.kill(recorder.process.pid, signal.SIGUSR2)
            found = recorder.until_said(r"(\S+\.ctop): .* SIGUSR2, .*, (\d+) samples|(no slice): ")
            if found[1]:
                nr_slices += 1
                check_slice(found[1])
            for _ in range(8):
                sizes.append(own_bytes(recorder.process.pid))
                time.sleep(0.25)  # its memory at other moments than slices'
        check(len(recorder.slices()) <= 3, f"{recorder.slices()}")
        check(nr_slices > 1, f"{recorder.said}")
        # Where nothing leaks, the second half takes what the first did.
        half = len(sizes) // 2
        first, second = max(sizes[half // 4:half]), max(sizes[half:])
        print(f"# {SECONDS:.0f} s, {nr_slices} slices: {first / 2**20:.1f} MiB at most in the first half, {second / 2**20:.1f} in the second "
              f"({100 * (second / first - 1):+.1f} %); medians {statistics.median(sizes[:half]) / 2**20:.1f}, "
              f"{statistics.median(sizes[half:]) / 2**20:.1f}", flush=True)
        check(second < 1.25 * first + (4 << 20), f"{[size >> 20 for size in sizes]}")
        # What is written stays, whatever becomes of the recorder.
        kept = recorder.slices()
        family = child_pids(recorder.process.pid)
        recorder.process.kill()
        recorder.process.wait(PATIENCE)
        for path in kept:
            check_slice(path)
        for pid in family:
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass


main()
