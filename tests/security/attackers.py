#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Somebody of the same user attacks the children of a ctop with capabilities as they start: he gets nothing of them.

`make check-all` attacks 10,000 starts.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import (BUILD, CTOP, OTHER_USER, PATIENCE, Skip, alone, case, check, child, directory, main, need_program,
                     need_root, open_to_all, plain_user, run, setting, sysctl)

STARTS = 3400 if "CHECK_ALL" in os.environ else 200
ATTACKER = os.path.join(BUILD, "workloads", "attacker")
STARTER = os.path.join(BUILD, "unit", "jail", "jail_spawn")
CAPABILITIES = "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock"
ATTACKERS = 2
ALL = 10**9
# At least.
DOCTORS = max(STARTS // 60, 5)


# Where there is no Yama, or it stays out of the way.
ANYBODY_MAY_TRACE = setting("yama/ptrace_scope") in (None, "0")


def as_other_user():
    return [need_program("setpriv"), f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]


def installed(where, program, mode, granted):
    """A copy of a program, of root and the other user's group."""
    need_root()
    open_to_all(where)
    path = os.path.join(where, os.path.basename(program))
    shutil.copy(program, path)
    os.chown(path, 0, OTHER_USER)
    os.chmod(path, mode)
    if granted:
        result = run(need_program("setcap"), f"{CAPABILITIES}=p", path)
        if result.returncode or os.statvfs(where).f_flag & os.ST_NOSUID:
            raise Skip(f"no file capabilities here: {result.stderr}")
    return path


@contextlib.contextmanager
def anybody_may_trace():
    """Where Yama may refuse the attack, whatever ctop does."""
    setting = "yama/ptrace_scope"
    with contextlib.ExitStack() as stack:
        if os.path.exists(f"/proc/sys/kernel/{setting}"):
            try:
                stack.enter_context(sysctl(setting, 0))
            except OSError as error:
                raise Skip(f"Yama refuses it, and stays: {error}") from error
        yield


def attacked(program, attacker_program, starts):
    """So many of its children; what the attackers got, and how many they saw."""
    attackers = []
    try:
        for _ in range(ATTACKERS):
            attacker = subprocess.Popen([*as_other_user(), attacker_program, str(program.pid), str(starts)], stdin=subprocess.DEVNULL,
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


def check_nothing_is_got(where, words):
    if run(*plain_user("perfmon", "sys_ptrace"), "true").returncode:
        raise Skip("this setpriv knows no CAP_PERFMON")
    attacker = installed(where, ATTACKER, 0o755, False)
    with anybody_may_trace(), child(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as program:
        got, seen = attacked(program, attacker, STARTS)
        check(program.returncode == 0, f"the program's end: {program.returncode}")
    check(not got, f"{len(got)} times, at first: {got[:5]}")
    check(seen == [STARTS] * ATTACKERS, f"attackers saw {seen} children")


@case
@alone("changes the kernel's settings", unless=ANYBODY_MAY_TRACE)
def as_installed_for_a_group():
    with directory() as where:
        check_nothing_is_got(where, [*as_other_user(), installed(where, STARTER, 0o710, True), "--starts"])


@case
@alone("changes the kernel's settings", unless=ANYBODY_MAY_TRACE)
def with_capabilities_of_a_file_that_can_be_read():
    with directory() as where:
        check_nothing_is_got(where, [*as_other_user(), installed(where, STARTER, 0o755, True), "--starts"])


@case
@alone("changes the kernel's settings", unless=ANYBODY_MAY_TRACE)
def with_capabilities_of_its_caller():
    with directory() as where:
        check_nothing_is_got(where, [*plain_user("perfmon", "sys_ptrace"), installed(where, STARTER, 0o755, False),
                                     "--starts"])


@case
def the_program_itself():
    """Not quick enough to be started thousands of times, and its children may have ended before they were seen."""
    with directory() as where:
        path, attacker = installed(where, CTOP, 0o710, True), installed(where, ATTACKER, 0o755, False)
        # The same process: others' children are not ctop's.
        words = [*as_other_user(), "sh", "-c", f"read word; exec {path} doctor --json"]
        nr, nr_seen = 0, 0
        while nr < DOCTORS or (nr_seen == 0 and nr < 4 * DOCTORS):
            with anybody_may_trace(), child(*words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL, text=True) as program:
                got, seen = attacked(program, attacker, ALL)
            check(not got, f"{seen}: {got[:5]}")
            nr, nr_seen = nr + 1, nr_seen + sum(seen)
    if not nr_seen:
        raise Skip(f"the attackers saw no child of it in {nr} runs")


if __name__ == "__main__":
    main()
