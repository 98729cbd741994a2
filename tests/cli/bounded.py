#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""New stacks, new files without an end: memory stays within bounds, and nothing is lost by that."""

import os
import signal
import subprocess
import time

from harness import (CTOP, PATIENCE, Skip, anonymous_bytes, case, check, check_accounts, children_of, cpu_seconds,
                     ctop_ok, directory, ended_well, long_case, main, need_root, record, share_complete, target,
                     with_function)


@case
def full_tables_lose_nothing():
    need_root()
    with directory() as where, target("newstacks") as program:
        before = cpu_seconds(program.pid)
        recording = record(where, "-F", "10000", "--max-overhead", "0", "-e", "cpu-clock:u", "-p",
                           program.pid, seconds=6.5)
        used = cpu_seconds(program.pid) - before
        report = ctop_ok("report", "--stdio", recording.path).stdout
    check_accounts(recording.stats)
    # A file's history is bounded by its size: all stacks are there.
    check("[folded]" not in report, report)
    stacks, samples = recording.stacks, recording.stats["samples"]
    check(sum(stacks.values()) == samples, f"{sum(stacks.values())} of {samples}")
    check(share_complete(recording.stats) > 0.99, f"{recording.stats['stacks']}")
    rooted = sum(count for stack, count in stacks.items() if "main" in stack)
    check(rooted > 0.99 * samples, f"{rooted} of {samples} have main in them; {used} s")
    check(with_function(stacks, "bottom") > 0.9 * samples, "bottom is missing")
    full = [stack for stack in stacks if "bottom" in stack]
    wrong = [stack for stack in full if stack[-1] == "bottom" and
             sum(name in ("even", "odd") for name in stack) != 25]
    check(not wrong, f"{len(wrong)} stacks, as {wrong[:1]}")
    check(recording.stats["peak_rss_bytes"] < 256 << 20, f"{recording.stats['peak_rss_bytes']}")
    # 512 Ki nodes fill a table: less than that proves nothing.
    if len(stacks) * 20 < 600000:
        raise Skip(f"only {len(stacks)} stacks in {used} s of CPU time: no table was full")


def check_paths_are_forgotten(times):
    need_root()
    with directory() as where, target("paths", where) as program:
        recorder = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock", "-p",
                                     str(program.pid), "-o", os.path.join(where, "x.ctop"),
                                     "--stats", os.path.join(where, "s.json")],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        most, last, falls, until = 0, 0, 0, time.monotonic() + 2 * PATIENCE
        # As long as it takes to forget so many times: the first bound is 64 MiB.
        while falls < times and time.monotonic() < until:
            check(recorder.poll() is None, "the recorder ended")
            pid = children_of(recorder.pid).get("collector")
            now = anonymous_bytes(pid) >> 20 if pid else 0
            falls += now < last - 20
            most, last = max(most, now), now
            time.sleep(0.05)
        recorder.send_signal(signal.SIGINT)
        _, recorder.errors = recorder.communicate(timeout=PATIENCE)
        stacks, stats = ended_well(where, recorder)
    check(most < 160, f"{most} MiB: {stats}")
    check(stats["restarts"] == 0, f"{stats}")
    check(share_complete(stats) > 0.98, f"{stats}")
    check(with_function(stacks, "map_next") > 0.9 * stats["samples"], f"{stats}")
    if falls < times:
        raise Skip(f"too slow: filled {falls} times of {times}, {most} MiB at most")


@case
def paths_without_an_end_are_forgotten():
    check_paths_are_forgotten(1)


@long_case
def they_are_forgotten_again_and_again():
    check_paths_are_forgotten(3)


if __name__ == "__main__":
    main()
