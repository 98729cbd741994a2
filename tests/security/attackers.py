#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Somebody of the same user attacks the children of a ctop with capabilities as they start: he gets nothing of them.

`make check-all` attacks 10,000 starts.
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import (BUILD, CTOP, PATIENCE, STRANGER, Skip, case, check, child, folder, main, need_program, need_root,
                     plain_user, run)

STARTS = 3400 if "CHECK_ALL" in os.environ else 300
ATTACKER = os.path.join(BUILD, "workloads", "attacker")
STARTER = os.path.join(BUILD, "unit", "base", "jail")
CAPABILITIES = "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock"
ATTACKERS = 2
ALL = 10**9


def stranger():
    return [need_program("setpriv"), f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]


def installed(where, program, mode, granted):
    """A copy of a program, of root and the stranger's group."""
    os.chmod(where, 0o755)
    path = os.path.join(where, os.path.basename(program))
    shutil.copy(program, path)
    os.chown(path, 0, STRANGER)
    os.chmod(path, mode)
    if granted:
        result = run(need_program("setcap"), f"{CAPABILITIES}=p", path)
        if result.returncode or os.statvfs(where).f_flag & os.ST_NOSUID:
            raise Skip(f"no file capabilities here: {result.stderr}")
    return path


def attacked(program, starts):
    """So many of its children; what the attackers got, and how many they saw."""
    attackers = []
    try:
        for _ in range(ATTACKERS):
            attacker = subprocess.Popen([*stranger(), ATTACKER, str(program.pid), str(starts)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True)
            attackers.append(attacker)
            first = attacker.stdout.readline()
            if "cannot read" in first:
                raise Skip(f"this kernel does not tell a process's children: {first}")
            check(first == "ready\n", first)
        if starts == ALL:
            program.stdin.close()
            program.wait(timeout=PATIENCE)
        lines = [line for attacker in attackers for line in attacker.communicate()[0].splitlines()]
        program.stdin.close()
        program.wait(timeout=PATIENCE)
    finally:
        for attacker in attackers:
            attacker.kill()
            attacker.wait()
    seen = [int(number) for line in lines for number in re.findall(r"^saw (\d+) children", line)]
    return [line for line in lines if line.startswith("got ")], seen


def check_nothing_is_got(words):
    need_root()
    if run(*plain_user("perfmon", "sys_ptrace"), "true").returncode:
        raise Skip("this setpriv knows no CAP_PERFMON")
    with child(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as program:
        got, seen = attacked(program, STARTS)
        check(program.returncode == 0, f"the program's end: {program.returncode}")
    check(not got, f"{len(got)} times, at first: {got[:5]}")
    check(seen == [STARTS] * ATTACKERS, f"attackers saw {seen} children")


@case
def as_installed_for_a_group():
    with folder() as where:
        check_nothing_is_got([*stranger(), installed(where, STARTER, 0o710, True), "--starts"])


@case
def with_capabilities_of_a_file_that_can_be_read():
    with folder() as where:
        check_nothing_is_got([*stranger(), installed(where, STARTER, 0o755, True), "--starts"])


@case
def with_capabilities_of_its_caller():
    with folder() as where:
        check_nothing_is_got([*plain_user("perfmon", "sys_ptrace"), installed(where, STARTER, 0o755, False),
                              "--starts"])


@case
def the_program_itself():
    """Not quick enough to be started thousands of times."""
    need_root()
    with folder() as where:
        path = installed(where, CTOP, 0o710, True)
        for _ in range(max(STARTS // 60, 5)):
            # The same process: others' children are not ctop's.
            words = [*stranger(), "sh", "-c", f"read word; exec {path} doctor --json"]
            with child(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       text=True) as program:
                got, seen = attacked(program, ALL)
            check(not got and max(seen) > 0, f"{seen}: {got[:5]}")


if __name__ == "__main__":
    main()
