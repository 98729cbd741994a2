#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of events and the doctor, who must agree with what recording does."""

import os
import re
import shutil
import subprocess

from events_common import listed
from harness import (BUILD, CTOP, PARANOID_IS_2, agree, alone, case, check, check_refused, ctop, directory,
                     doctor, main, need_program, need_root, paranoid, plain_user, readable_ctop, run, shown_in_terminal,
                     target)


# ---- list ----


@case
def the_list_has_every_group():
    groups = listed()
    for group, name in (("hardware", "cycles"), ("cache", "L1-dcache-load-misses"),
                        ("software", "page-faults"), ("clocks", "cpu-clock")):
        check(name in groups[group], f"{name} is not in {groups[group]}")
    # What a pattern leaves over.
    check(list(listed("L1-DCACHE").keys())[:1] == ["cache"], "a part of a name, in any case")
    check(set(listed("clocks")["clocks"]) >= {"cpu-clock", "task-clock"}, "a group")
    check(set(listed("?age-faults")["software"]) == {"page-faults"}, "a pattern")
    check_refused(ctop("list", "cyclse"), 1, "cyclse", "'cycles'")
    check_refused(ctop("list", "qqqqqqqqqqq"), 1, "qqqqqqqqqqq")
    check_refused(ctop("list", "a", "b"), 2, "unexpected argument")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def the_list_says_what_recording_finds():
    need_root()
    groups = listed()
    states = {**groups["hardware"], **groups["software"], **groups["clocks"], **groups.get("pmus", {})}
    for name in ("cycles", "instructions", "page-faults", "cpu-clock", "context-switches", "msr/tsc/"):
        if name not in states or name == "cycles":
            continue  # cycles have a stand-in
        result = ctop("record", "-e", name, "-o", "/dev/null", "-q", "--", "true")
        check((result.returncode == 0) == states[name].startswith("yes"),
              f"{name}: {states[name]}; {result.stderr}")
    as_user = plain_user()
    with paranoid(2), readable_ctop() as (_, program):
        text = run(*as_user, program, "list", "software").stdout
        check(re.search(r"^  page-faults +yes, user code ", text, re.M), text)
        check(re.search(r"^  context-switches +no permission ", text, re.M), text)


@case
def the_list_fits_the_terminal():
    status, text = shown_in_terminal(60, 24, CTOP, "list", "L1")
    check(status == 0, f"exit code {status}")
    lines = text.decode().splitlines()
    check(len(lines) > 5 and all(len(line) <= 60 for line in lines), f"{lines}")
    # And a reader that has seen enough is no failure to speak of.
    result = run("sh", "-c", f"{CTOP} list | head -1")
    check(result.stdout == "hardware\n", f"{result.stdout!r} {result.stderr!r}")


# ---- the doctor ----


@case
def the_doctor_agrees_as_root():
    need_root()
    with target("spin") as program:
        answer = agree([], CTOP, ["-p", program.pid])
        check(answer["works"] and not answer["user_only"], f"{answer}")
        agree([], CTOP, ["-a"])
        agree([], CTOP, ["-e", "instructions", "-p", program.pid])
        agree([], CTOP, ["-m", "16", "-F", "2000", "-p", program.pid])
    answer = agree([], CTOP, ["-p", program.pid])
    check(not answer["works"], f"{answer}")
    check(doctor(CTOP, "doctor")["works"], "without a target")


@case
@alone("changes the kernel's settings")
def the_doctor_agrees_as_a_user():
    need_root()
    as_user = plain_user()
    with readable_ctop() as (_, program), target("spin") as roots:
        shutil.copy(os.path.join(BUILD, "workloads", "spin"), os.path.dirname(program))
        with subprocess.Popen([*as_user, os.path.join(os.path.dirname(program), "spin")],
                              stdout=subprocess.PIPE, text=True) as own:
            own.stdout.readline()
            try:
                for level, works, user_only in ((2, True, True), (1, True, False), (3, None, None)):
                    with paranoid(level):
                        answer = agree(as_user, program, ["-p", own.pid])
                        check(works is None or answer["works"] == works, f"{level}: {answer}")
                        check(not works or answer["user_only"] == user_only, f"{level}: {answer}")
                        check(not agree(as_user, program, ["-p", roots.pid])["works"], "another's")
                        check(not agree(as_user, program, ["-a"])["works"], "whole CPUs")
                        agree(as_user, program, ["-e", "context-switches", "-p", own.pid])
            finally:
                own.kill()


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def the_doctor_agrees_under_small_limits():
    need_root()
    as_user = plain_user()
    prlimit = need_program("prlimit")
    works = set()
    with paranoid(2), readable_ctop() as (_, program):
        for limit in ("--memlock=0:0", "--memlock=65536:65536", *(f"--nofile={n}:{n}" for n in range(12, 72, 6))):
            prefix = [prlimit, limit, *as_user]
            answer = doctor(*prefix, program, "doctor")
            result = run(*prefix, program, "record", "-o", "/dev/null", "--", "true")
            check(answer["works"] == (result.returncode == 0), f"{limit}: {answer}\n{result.stderr}")
            if not answer["works"]:
                check(answer["cause"] in result.stderr and answer["remedy"], f"{limit}: {answer}")
            works.add(answer["works"])
    check(works == {True, False}, f"no limit made a difference: {works}")


@case
def the_doctor_lets_no_command_go():
    need_root()
    with directory() as where:
        made = os.path.join(where, "made")
        result = ctop("doctor", "--", "touch", made)
        check(result.returncode == 0 and not os.path.exists(made), f"{result.stdout}")
        check("profiling works: " in result.stdout, result.stdout)


main()
