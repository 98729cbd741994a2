#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Children fall where a test asks them to (tests/faults) in the build that is made for that, and in no other."""

import json
import os

from harness import CTOP, FAULTY, case, check, directory, falling, main, run, target


def contains(path, word):
    with open(path, "rb") as file:
        return word in file.read()


def restarts(program, fault):
    """How many children fell in a short recording of one's own process, and what was said."""
    with directory() as where, target("recursion") as workload:
        stats_path = os.path.join(where, "stats.json")
        result = run(program, "record", "-e", "cpu-clock:u", "-o", "/dev/null", "--stats", stats_path, "--duration", "0.2",
                     "-p", workload.pid, env=falling(fault))
        check(result.returncode == 0, f"{result}")
        with open(stats_path, encoding="utf-8") as file:
            return json.load(file)["restarts"], result.stderr


@case
def what_is_shipped_has_no_faults():
    for word in b"CTOP_FAULT", b"ctop_faults", b"there is no fault":
        check(contains(FAULTY, word), f"{word} is not in {FAULTY}: the test looks for the wrong word")
        check(not contains(CTOP, word), f"{word} is in {CTOP}")


@case
def what_is_shipped_does_not_listen():
    check(restarts(FAULTY, "symbolizer:abort")[0] > 0, "the faulty one did not fall")
    check(restarts(CTOP, "symbolizer:abort")[0] == 0, "the shipped one fell")


@case
def a_fault_that_there_is_not_is_told():
    said = restarts(FAULTY, "symbolizer:aborting")[1]
    check("there is no fault 'aborting'" in said, said)


@case
def others_do_not_fall():
    check(restarts(FAULTY, "reader:abort")[0] == 0, "somebody fell")


@case
def who_waits_is_spared():
    check(restarts(FAULTY, "symbolizer:abort:told-turn")[0] == 0, "it fell and was not told")


if __name__ == "__main__":
    main()
