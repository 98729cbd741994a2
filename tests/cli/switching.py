#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sampling that is not always on: --delay, and SIGUSR1, which switches it."""

import json
import os
import signal
import subprocess
import time

from harness import (BUILD, CTOP, PATIENCE, Skip, case, check, check_accounts, cpu_seconds, ctop, ctop_ok, directory,
                     folded, main, need_root, record, sampled_seconds, target, wait_for_cpu_time, wait_until,
                     with_function)


def check_stands_for(stats, least_cpu, most_cpu, inexact):
    """Samples stand for the target's CPU time, give or take what a shared machine does."""
    least, most = sampled_seconds(stats)
    check(least - inexact < most_cpu and least_cpu < most + inexact,
          f"samples stand for {least} to {most} s of {least_cpu} to {most_cpu}: {stats}")


@case
def a_delay_comes_before_the_first_sample():
    need_root()
    with directory() as where, target("spin") as program:
        before = time.monotonic()
        recording = record(where, "-e", "cpu-clock", "--delay", "1", "-p", program.pid, seconds=1)
        left = time.monotonic() - before - 1  # for sampling, however slow the machine is
        late = ctop("export", "folded", recording.path, "--from", f"{left:.3f}")
    check_accounts(recording.stats)
    check(recording.stats["samples"] > 0, f"{recording.stats}")
    check(recording.stats["duration_seconds"] < left, f"{recording.stats['duration_seconds']} s, {left} s were left")
    check("none of" in late.stderr and not late.stdout, f"more than {left} s of samples: there was no delay")


@case
def what_a_command_did_during_the_delay_is_known():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop("record", "-q", "-e", "cpu-clock:u", "--delay", "0.5", "--duration", "1", "-o", path,
             "--", os.path.join(BUILD, "workloads", "forkexec"), "5")
        stacks = folded(path)
    total = sum(stacks.values())
    if total < 100:
        raise Skip(f"only {total} samples: the machine is too busy")
    for name in ("parent_work", "forked_work", "executed_work"):
        check(with_function(stacks, name) > 0.05 * total, f"{name}: {stacks}")
    # Right after its exec the child is called by the file it was started from.
    check(all(stack[0] in ("forkexec", "exe", "executed") for stack in stacks), f"{stacks}")


@case
def a_delay_that_nothing_ends():
    need_root()
    with directory() as where, target("spin") as program:
        path = os.path.join(where, "x.ctop")
        result = ctop_ok("record", "-e", "cpu-clock", "--delay", "-1", "--duration", "0.5", "-o",
                         path, "-p", program.pid)
        check("0 samples" in result.stderr, result.stderr)
        report = ctop("report", "--stdio", path)
        check(report.returncode == 0 and "0 samples" in report.stdout, f"{report}")


def time_with_children(pid):
    """CPU time of a process and of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@case
def children_are_switched_off_and_on_too():
    need_root()
    with directory() as where, target("forkexec") as program:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        recorder = subprocess.Popen([CTOP, "record", "-e", "cpu-clock", "--delay", "-1", "-p",
                                     str(program.pid), "-o", path, "--stats", stats_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def switch(expected):
            """What the target had used before and after."""
            before = time_with_children(program.pid)
            recorder.send_signal(signal.SIGUSR1)
            for line in recorder.stderr:
                if line == f"ctop: sampling is {expected}\n":
                    return before, time_with_children(program.pid)
            raise AssertionError("it ended")

        def spend(until):
            wait_for_cpu_time(program.pid, until - time_with_children(program.pid),
                              lambda: recorder.poll() is not None, children=True)
            check(recorder.poll() is None, "it ended")

        wait_until(lambda: os.path.exists(path) or recorder.poll() is not None, "file")
        least = most = 0
        for _ in range(2):
            start = switch("on")
            spend(start[1] + 1.5)
            stop = switch("off")
            least += stop[0] - start[1]
            most += stop[1] - start[0]
            spend(stop[1] + 1.5)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=PATIENCE)
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        stacks = folded(path)
    # A child's time shows when it has been waited for: a round, 0.1 s, at each switch.
    check_accounts(stats)
    check_stands_for(stats, least, most, 0.1 * most + 0.5)
    children = with_function(stacks, "executed_work")
    check(children > 0.25 * stats["samples"], f"only {children} samples of children: {stats}")


@case
def a_signal_switches_it_off_and_on():
    need_root()
    with directory() as where, target("dlopen") as program:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        recorder = subprocess.Popen([CTOP, "record", "-e", "cpu-clock", "--delay", "-1", "-p",
                                     str(program.pid), "-o", path, "--stats", stats_path],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        least = most = 0

        def switch(expected):
            """What the target had used before and after."""
            before = cpu_seconds(program.pid)
            recorder.send_signal(signal.SIGUSR1)
            line = recorder.stderr.readline()
            while "sampling" not in line:
                check(line, "it ended")
                line = recorder.stderr.readline()
            check(line == f"ctop: sampling is {expected}\n", line)
            return before, cpu_seconds(program.pid)

        # Its handlers stand before it opens the file.
        wait_until(lambda: os.path.exists(path) or recorder.poll() is not None, "file")
        for _ in range(3):
            start = switch("on")
            wait_for_cpu_time(program.pid, 0.5)
            stop = switch("off")
            least += stop[0] - start[1]
            most += stop[1] - start[0]
            wait_for_cpu_time(program.pid, 0.3)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=PATIENCE)
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        check_accounts(stats)
        check_stands_for(stats, least, most, 0.1 * most + 0.05)
        stacks = folded(path)
        hot = with_function(stacks, "hot_one") + with_function(stacks, "hot_two")
        check(hot > 0.95 * stats["samples"], f"{hot} of {stats}")


if __name__ == "__main__":
    main()
