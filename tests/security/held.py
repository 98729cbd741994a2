#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No child keeps main: however much one asks, or does not listen, the user, the others and the profile have their turn."""

import contextlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import (FAULTY, PATIENCE, Skip, case, check, check_refused, children_of, directory, falling, main,
                     need_root, run, target, tell, wait_for_cpu_time, wait_until)

NR_THREADS = 500


@contextlib.contextmanager
def recorder(where, program, fault):
    process = subprocess.Popen([FAULTY, "record", "-q", "-e", "cpu-clock", "-p", str(program.pid), "-o",
                                os.path.join(where, "x.ctop"), "--stats", os.path.join(where, "stats.json")],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=falling(fault))
    try:
        wait_until(lambda: process.poll() is not None or {"collector", "symbolizer"} <= children_of(process.pid).keys(),
                   "children")
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(where, process):
    """One signal is enough. Its statistics."""
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=PATIENCE)[1]
    check(process.returncode == 0, f"{process.returncode}: {errors}")
    with open(os.path.join(where, "stats.json"), encoding="utf-8") as file:
        return json.load(file)


def is_held_by(fault, role="collector"):
    """A child does that in the middle of a recording: the recording ends when it is told to, with its samples."""
    need_root()
    with directory() as where, target("crowd", "waiting", str(NR_THREADS)) as program:
        with recorder(where, program, f"{role}:{fault.replace('PID', str(program.pid))}:told-turn") as process:
            wait_for_cpu_time(program.pid, 0.5)
            tell(children_of(process.pid)[role])
            wait_for_cpu_time(program.pid, 0.5)
            check(process.poll() is None, "the recorder ended")
            stats = ended(where, process)
    check(stats["samples"] > 0 and sum(stats["stacks"].values()) == stats["samples"], f"{stats}")
    check(stats["drained"] == stats["samples"] + sum(stats["dropped"].values()), f"{stats}")
    return stats


@case
def one_that_asks_for_thousands_of_threads_for_ever():
    is_held_by("flood=PID")


@case
def one_that_asks_and_does_not_take_the_answers():
    is_held_by("deaf=PID")


@case
def one_that_hangs_up_and_goes_on():
    check(is_held_by("hang_up")["restarts"] == 1, "it was not replaced")


@case
def one_that_asks_for_what_it_may_not():
    check(is_held_by("flood=PID", role="symbolizer")["restarts"] == 1, "it was not replaced")


def interrupt_at_once():
    """In a child that is to execute a program: it begins with the signal pending, as ctop blocks it in its first moments."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)


@case
def a_target_with_very_many_threads():
    """That is to be attached, one after the other, when the signal is there: nobody waits for the last one."""
    need_root()
    with directory() as where, target("crowd", "waiting", "3000") as program:
        path = os.path.join(where, "x.ctop")
        result = run(FAULTY, "record", "-e", "cpu-clock", "-o", path, "-p", program.pid, preexec_fn=interrupt_at_once)
        check_refused(result, 1, "interrupted while the target's threads were attached", "nothing was sampled")
        check(not os.path.exists(path), "there is a file")


@case
def one_that_looks_for_a_function_for_ever():
    """Before there is anything to sample."""
    need_root()
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        raise Skip("this kernel has no uprobes")
    with target("spin") as program:
        path = os.readlink(f"/proc/{program.pid}/exe")
        process = subprocess.Popen([FAULTY, "record", "-e", f"uprobe:{path}:main", "-o", "/dev/null",
                                    "-p", str(program.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=falling("uprobe:loop"))
        wait_until(lambda: "uprobe" in children_of(process.pid) or process.poll() is not None, "child")
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=PATIENCE)[1]
        check(process.returncode == 1 and "interrupted before 'main' was found" in errors and errors.count("\n") == 2,
              f"{process.returncode}: {errors}")


if __name__ == "__main__":
    main()
