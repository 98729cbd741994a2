#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What runs the tests: a case that hangs is ended and named, failures come last, nothing stays behind."""

import os
import re
import signal
import subprocess
import sys

from harness import PATIENCE, ROOT, case, check, child, directory, main, run, wait_until

RUN = os.path.join(ROOT, "tests", "run")
PREAMBLE = f"""#!{sys.executable}
import os, signal, subprocess, sys, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import harness
from harness import case, check, child, main

def leave():
    # In a session of its own, and deaf to SIGTERM: it does not end by itself.
    left = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 10000 & echo $$ $! > pids; wait"],
                            start_new_session=True)
    while not (os.path.exists("pids") and open("pids").read().endswith("\\n")):
        time.sleep(0.01)

@case
def is_fine():
    pass
"""


class Program:
    """A test program in a directory, where it leaves the pids of what it leaves running."""

    def __init__(self, where, body):
        self.where = where
        self.path = os.path.join(where, "program.py")
        self.pids_path = os.path.join(where, "pids")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(PREAMBLE + body + "\nmain()\n")
        os.chmod(self.path, 0o755)

    def run(self):
        return run(RUN, self.path, cwd=self.where, env={**os.environ, "TEST_TIMEOUT": "900"})

    def pids(self):
        with open(self.pids_path, encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]

    def has_started(self):
        return os.path.exists(self.pids_path) and len(self.pids()) == 2

    def left(self):
        return [pid for pid in self.pids() if os.path.exists(f"/proc/{pid}")]


@case
def a_case_that_hangs_fails_and_the_next_one_runs():
    with directory() as where:
        program = Program(where, """
harness.CASE_SECONDS = 1

@case
def hangs():
    with child("sleep", "10000", stdout=subprocess.PIPE) as silent:
        silent.stdout.readline()

@case
def is_last():
    pass
""")
        result = program.run()
        check(result.returncode == 1, f"{result}")
        check("2 passed, 1 failed, 0 skipped" in result.stdout, result.stdout)
        check("silent.stdout.readline()" in result.stdout, f"not where it hung: {result.stdout}")


@case
def a_program_that_takes_too_long_is_ended_and_what_it_started_too():
    with directory() as where:
        program = Program(where, """
@case
def hangs():
    leave()
    os.kill(os.getppid(), signal.SIGALRM)  # it need not wait for it
    time.sleep(10000)
""")
        result = program.run()
        last = result.stdout.splitlines()[-3:]
        check(result.returncode == 1 and "1 passed, 1 failed, 0 skipped" in last[-1], f"{result}")
        check("was ended after 900 s, in hangs" in result.stdout, f"not which case it was: {result}")
        check(re.search(r"line \d+, in hangs", result.stdout), f"not where it hung: {result}")
        check(not program.left(), f"left: {program.left()}")


@case
def a_program_that_dies_leaves_nothing():
    with directory() as where:
        program = Program(where, """
@case
def dies():
    leave()
    os.kill(os.getpid(), signal.SIGKILL)
""")
        result = program.run()
        check(result.returncode == 1, f"{result}")
        check("exited with 137, in dies" in result.stdout, f"not which case it was: {result}")
        check(not program.left(), f"left: {program.left()}")


@case
def what_is_left_behind_is_told_and_ended():
    with directory() as where:
        program = Program(where, """
@case
def leaves():
    leave()
""")
        result = program.run()
        check(result.returncode == 0 and "2 passed, 0 failed, 0 skipped" in result.stdout, f"{result}")
        sleep = program.pids()[1]  # the shell was the case's own: the harness has ended it
        check(f"left behind: {program.path}: {sleep} (sleep)" in result.stdout, result.stdout)
        check(not program.left(), f"left: {program.left()}")


@case
def nothing_outlives_who_runs_the_tests():
    for number in signal.SIGKILL, signal.SIGTERM, signal.SIGINT:
        with directory() as where:
            program = Program(where, """
@case
def waits():
    leave()
    time.sleep(10000)
""")
            with child(RUN, program.path, cwd=where, stdout=subprocess.DEVNULL, start_new_session=True) as runner:
                wait_until(program.has_started, "process that would be left behind")
                if number == signal.SIGINT:  # as a terminal sends it: to all of them
                    os.killpg(runner.pid, number)
                else:
                    runner.send_signal(number)
                wait_until(lambda: not program.left(), f"end after signal {number}")
                runner.wait(timeout=PATIENCE)


@case
def failures_are_told_at_the_end_with_their_causes():
    with directory() as where:
        program = Program(where, """
@case
def fails():
    print("# a word before")
    check(False, "\\\\n".join(f"line {i}" for i in range(100)))

@case
def is_last():
    print("# a word after")
""".replace("\\\\", "\\"))
        lines = program.run().stdout.splitlines()
        at = lines.index(f"failed: {program.path}: fails")
        check(len(lines) - at < 20 and "line 99" in lines[-2], f"{lines[at:]}")
        check(not [line for line in lines[at:] if "a word" in line], f"{lines[at:]}")


@case
def what_fails_once_has_failed():
    with directory() as where:
        program = Program(where, """
@case
def fails_once():
    is_first = not os.path.exists("tried")
    open("tried", "w").close()
    check(not is_first, "the machine was busy")
""")
        result = program.run()
        check(result.returncode == 1 and "1 passed, 1 failed, 0 skipped" in result.stdout, f"{result}")


def shell_programs(where, *bodies):
    """Paths of test programs, which find one another's files in their directory."""
    paths = [os.path.join(where, f"{number}.sh") for number in range(len(bodies))]
    for path, body in zip(paths, bodies):
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
    return paths


@case
def programs_run_side_by_side_and_are_told_of_in_order():
    meet = "touch {me}; until [ -e {other} ]; do sleep 0.01; done; echo 'ok - {me}'"
    with directory() as where:
        paths = shell_programs(where, meet.format(me="a", other="c"), "echo 'ok - b'; exit 1",
                               meet.format(me="c", other="a"))
        result = run(RUN, *paths, cwd=where, env={**os.environ, "TEST_JOBS": "2"})
        told = [line.partition(":")[0] for line in result.stdout.splitlines() if " passed" in line]
        check(told[:3] == paths and "3 passed, 1 failed, 0 skipped" in result.stdout.splitlines()[-1], result.stdout)


@case
def who_runs_alone_does():
    alone = "# Runs alone: others would be in its way\ntest -e b -a -e c && mkdir alone && sleep 0.1 && rmdir alone && echo 'ok - a'"
    with directory() as where:
        paths = shell_programs(where, alone, "touch b; echo 'ok - b'", "touch c; echo 'ok - c'", alone)
        result = run(RUN, *paths, cwd=where, env={**os.environ, "TEST_JOBS": "4"})
        check("4 passed, 0 failed, 0 skipped" in result.stdout, result.stdout)


if __name__ == "__main__":
    main()
