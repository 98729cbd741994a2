#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the CPUs did while samples were taken, and why there were fewer than asked for."""

import os

from harness import case, check, ctop_ok, directory, main, need_root, record, target


def header_line(path, label):
    lines = [line for line in ctop_ok("report", "--stdio", path).stdout.splitlines() if line.startswith(label + " ")]
    check(len(lines) == 1, f"{len(lines)} lines of {label}")
    return lines[0]


@case
def busy_stolen_and_idle_are_all_the_time_there_is():
    need_root()
    with directory() as where, target("spin"):
        recording = record(where, "-e", "cpu-clock", "-a", seconds=1)
        cpus, line = recording.stats["cpus_seconds"], header_line(recording.path, "CPUs")
    check(set(cpus) == {"busy", "idle", "stolen"} and cpus["busy"] > 0, f"{cpus}")
    # Ticks of 10 ms, which an idle CPU catches up with when it wakes.
    whole = recording.stats["duration_seconds"] * os.cpu_count()
    check(0.5 * whole < sum(cpus.values()) < 1.5 * whole, f"{cpus} of {whole} s")
    check("busy " in line and "idle " in line and f"of {os.cpu_count()} CPU" in line, line)
    check(("stolen by the host" in line) == (cpus["stolen"] > 0), f"{line}: {cpus}")


@case
def a_target_that_does_nothing_is_the_reason():
    need_root()
    with directory() as where, target("crowd", "idle", "lazy") as program:
        recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=0.5)
        line = header_line(recording.path, "rate")
    check("the target used 0.0% of a CPU" in line, line)


if __name__ == "__main__":
    main()
