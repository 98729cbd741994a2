#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is left when something ends in mid-recording: the recorder, the disk, a child of it; half a file."""

import json
import os
import random
import re
import signal
import subprocess
import tempfile

from harness import (CTOP, Skip, case, check, cpu_seconds, ctop, folded, folder, main, need_program,
                     need_root, record, run, share_complete, target, wait_for_samples)


def children_of(pid):
    """{role: pid} of the recorder's children."""
    found = {}
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            for child in file.read().split():
                with open(f"/proc/{child}/cmdline", "rb") as line:
                    for word in line.read().split(b"\0"):
                        if word.startswith(b"--child="):
                            found[word[8:].decode()] = int(child)
    except OSError:
        pass  # one that ended meanwhile
    return found


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
    until = cpu_seconds(program.pid) + seconds
    while cpu_seconds(program.pid) < until:
        pass
    return cpu_seconds(program.pid)


@case
def a_recorder_that_is_killed_leaves_all_but_the_last_second():
    need_root()
    with folder() as where, target("spin") as program:
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
        check(samples > 999 * (after - before - 3), f"{samples} samples of {after - before} s")
        named = sum(count for stack, count in stacks.items() if "spin_loop" in stack)
        check(named > 0.95 * samples, f"{named} of {samples} have their names")
        report = ctop("report", "--stdio", path)
        check(report.returncode == 0 and "spin_loop" in report.stdout, f"{report}")
        check(len(children) == 3, f"{children}")
        for pid in children.values():
            while runs(pid):  # its end is on its way; the test's time is what it has
                pass


@case
def a_full_disk_keeps_what_was_written():
    need_root()
    with folder() as where, target("newstacks") as program:
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
    with folder() as where, target("threads") as program:
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
            if result.returncode:
                check(result.stderr.count("\n") == 2, f"{result}")
            shown += result.returncode == 0 and "root_40" in result.stdout
        check(shown > 10, f"only {shown} of 40 showed anything")


def end_child(role, how):
    """Ends a child in mid-recording; what was sampled before and after is there."""
    with folder() as where, target("spin") as program:
        before = cpu_seconds(program.pid)
        recorder, path = start(where, program)
        wait_for_samples(recorder, path)
        victim = children_of(recorder.pid)[role]
        how(victim)
        while children_of(recorder.pid).get(role) in (victim, None):
            check(recorder.poll() is None, "the recorder ended")
        after = run_for_cpu(program, 2)
        recorder.send_signal(signal.SIGINT)
        _, stderr = recorder.communicate(timeout=60)
        check(recorder.returncode == 0, f"{recorder.returncode}: {stderr}")
        with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
            stats = json.load(file)
        check(stats["restarts"] == 1, f"{stats}")
        check(sum(stats["stacks"].values()) == stats["samples"], f"{stats}")
        check(stats["dropped"]["crash"] <= 1, f"{stats['dropped']}")
        # The rings hold what comes meanwhile: seconds of it, unless the child hung for longer.
        accounted = stats["samples"] + stats["lost"] + sum(stats["dropped"].values())
        check(accounted > 0.9 * 999 * (after - before) - 1500, f"{stats} in {after - before} s")
        check(share_complete(stats) > 0.95, f"{stats['stacks']}")
        check(sum(folded(path).values()) == stats["samples"], "not all of it is in the file")


def abort(victim):
    os.kill(victim, signal.SIGABRT)


def loop_in(function):
    """Two bytes of x86-64 that jump to themselves, where it works next."""
    def loop(victim):
        result = run("gdb", "-q", "-batch", "-p", victim, "-ex", f"break {function}", "-ex",
                     "continue", "-ex", "set {unsigned short}$pc = 0xfeeb", "-ex", "delete",
                     "-ex", "detach")
        check(result.returncode == 0, f"{result}")
    return loop


@case
def a_collector_that_aborts_is_replaced():
    need_root()
    end_child("collector", abort)


@case
def a_symbolizer_that_aborts_is_replaced():
    need_root()
    end_child("symbolizer", abort)


@case
def a_collector_that_loops_for_ever_is_replaced():
    need_root()
    need_program("gdb")
    end_child("collector", loop_in("record_parse"))


@case
def a_symbolizer_that_loops_for_ever_is_replaced():
    need_root()
    need_program("gdb")
    end_child("symbolizer", loop_in("symbolizer_work"))


GROW = """
break %s
continue
set $bytes = 16 << 20
set $got = 1
set $nr = 0
while $got != 0 && $nr < 200
  set $got = (unsigned long)((void *(*)(unsigned long))malloc)($bytes)
  if $got != 0
    set $filled = (unsigned long)((void *(*)(unsigned long, int, unsigned long))memset)($got, 1, $bytes)
    set $nr = $nr + 1
  end
end
printf "took %%d\\n", $nr
kill
"""


def grow_in(function):
    """As much memory as it gets, each page touched; then the end."""
    def grow(victim):
        with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
            script.write(GROW % function)
            script.flush()
            result = run("gdb", "-q", "-batch", "-p", victim, "-x", script.name)
        took = re.search(r"^took (\d+)$", result.stdout, re.M)
        check(took and 0 < int(took.group(1)) < 80, f"{result}")
    return grow


@case
def a_symbolizer_that_takes_memory_is_bounded_and_replaced():
    need_root()
    need_program("gdb")
    end_child("symbolizer", grow_in("symbolizer_work"))


@case
def a_collector_that_takes_memory_is_bounded_and_replaced():
    need_root()
    need_program("gdb")
    end_child("collector", grow_in("record_parse"))


if __name__ == "__main__":
    main()
