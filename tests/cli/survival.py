#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is left when something ends in mid-recording: the recorder, or the disk; half a file."""

import os
import random
import signal
import subprocess

from harness import (BUILD, CTOP, Skip, case, check, children_of, cpu_seconds, ctop, directory, ended_well, folded, main,
                     need_root, record, recording_of, run, target, wait_for_cpu_time, wait_for_samples, wait_until, weighed)


def runs(pid):
    """Whether it is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def start(where, program, *options):
    path = os.path.join(where, "x.ctop")
    recorder = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock", "-p", str(program.pid),
                                 "-o", path, "--stats", os.path.join(where, "stats.json"),
                                 *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
    return recorder, path


def run_for_cpu(program, seconds):
    wait_for_cpu_time(program.pid, seconds)
    return cpu_seconds(program.pid)


@case
def a_recorder_that_is_killed_leaves_all_but_the_last_second():
    need_root()
    with directory() as where, target("spin") as program:
        before = cpu_seconds(program.pid)
        recorder, path = start(where, program)
        wait_for_samples(recorder, path)
        after = run_for_cpu(program, 4)
        children = children_of(recorder.pid)
        recorder.kill()
        recorder.communicate()
        stacks = folded(path)
        samples = sum(stacks.values())
        # One second on each of two threads, and what it took to start and to see it.
        sampled = sum(weighed(path).values()) / 1e9
        check(sampled > after - before - 3, f"{sampled} s of {after - before}")
        named = sum(count for stack, count in stacks.items() if "spin_loop" in stack)
        check(named > 0.95 * samples, f"{named} of {samples} have their names")
        report = ctop("report", "--stdio", path)
        check(report.returncode == 0 and "spin_loop" in report.stdout, f"{report}")
        check(len(children) == 3, f"{children}")
        for pid in children.values():
            wait_until(lambda pid=pid: not runs(pid), "end of a child")


@case
def a_full_disk_keeps_what_was_written():
    need_root()
    with directory() as where, target("newstacks") as program:
        if run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", where).returncode:
            raise Skip("cannot mount a tmpfs here")
        try:
            path = os.path.join(where, "x.ctop")
            result = ctop("record", "-q", "-e", "cpu-clock", "-F", "5000", "--max-overhead", "0",
                          "-p", program.pid, "-o", path)
            check(result.returncode == 1 and "No space left" in result.stderr and
                  result.stderr.count("\n") == 2, f"{result}")
            check(program.poll() is None, "the target died")
            report = ctop("report", "--stdio", path)
            check(report.returncode == 0 and "bottom" in report.stdout, f"{report}")
        finally:
            run("umount", where)


@case
def a_file_that_was_cut_or_damaged_shows_the_rest():
    need_root()
    with directory() as where, target("threads") as program:
        recording = record(where, "-e", "cpu-clock", "-p", program.pid, seconds=3)
        with open(recording.path, "rb") as file:
            whole = file.read()
        damaged = os.path.join(where, "damaged.ctop")
        numbers = random.Random(1)
        shown = 0
        for i in range(40):
            at = numbers.randrange(16, len(whole))
            with open(damaged, "wb") as file:
                if i % 2:
                    file.write(whole[:at])
                else:
                    file.write(whole[:at] + bytes([whole[at] ^ 1 << numbers.randrange(8)]) +
                               whole[at + 1:])
            result = ctop("report", "--stdio", damaged)
            check(result.returncode in (0, 1), f"{result}")
            # One line on what is missing; where nothing is left, a cause and a remedy.
            said = result.stderr.splitlines()
            check(len(said) == 2 or (result.returncode == 0 and len(said) == 1), f"{result}")
            check("is damaged" in result.stderr or "is incomplete" in result.stderr or
                  "ends before anything" in result.stderr, f"{result}")
            shown += result.returncode == 0 and "root_40" in result.stdout
        check(shown > 10, f"only {shown} of 40 showed anything")


@case
def main_that_gets_no_cpu():
    """Stacks that do not wait for it are broken, counted, and told of with the reason."""
    need_root()
    with directory() as where:
        go = os.path.join(where, "go")
        command = f"while ! [ -e {go} ]; do :; done; exec {BUILD}/workloads/spin 600"
        with subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as target:
            try:
                with recording_of(where, "-p", target.pid) as recorder:
                    recorder.send_signal(signal.SIGSTOP)
                    try:
                        with open(go, "w", encoding="utf-8"):
                            pass
                        # The new program's file is asked for, its ring fills, and nobody answers.
                        wait_until(lambda: os.readlink(f"/proc/{target.pid}/exe").endswith("/spin"), "the new program")
                        wait_for_cpu_time(target.pid, 0.5)
                    finally:
                        recorder.send_signal(signal.SIGCONT)
                    wait_for_cpu_time(target.pid, 0.2)
            finally:
                target.kill()
        stacks, stats = ended_well(where, recorder)
        header = ctop("report", "--stdio", os.path.join(where, "x.ctop")).stdout
    check(0 < stats["hurried"] <= stats["stacks"]["broken"], f"{stats}")
    check(f"{stats['hurried']:,} broken stacks not waited for" in header, header[:3000])
    check(any("spin_loop" in stack for stack in stacks), "none was complete behind it")


if __name__ == "__main__":
    main()
