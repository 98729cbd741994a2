#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Families of processes in a real terminal: that come and go for ever, that are very many, that are another user's."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import (BUILD, CTOP, OTHER_USER, anonymous_bytes, case, check, child, cpu_seconds, long_case, main,
                     need_program, need_root, target, wait_until)

MIB = 1 << 20


def nr_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def keys_are_answered(window):
    """Every view comes, and the list of processes can be moved in."""
    for key, words in ("1", "SELF%"), ("2", "CALL TREE"), ("S", "SYSTEM CALL"), ("6", "THREAD"):
        window.press(key)
        window.wait_for(words, "LIVE")
    window.press("p", "End", "Home", "Down")
    window.wait_for("PROCESS", "LIVE")


@case
def children_that_come_and_go_for_ever():
    need_root()
    forking = "while :; do /bin/true; /bin/true & done"
    with child("sh", "-c", forking) as shell, terminal() as window:
        window.type(f"{CTOP} -p {shell.pid}")
        window.wait_for("LIVE", "SELF%")
        ctop = window.child()
        keys_are_answered(window)
        # Into one that has ended, or will soon; and back.
        window.press("Enter")
        window.wait_for("filter: process=")
        before, used = nr_descriptors(ctop), cpu_seconds(shell.pid, children=True)
        # Some hundred of them later.
        wait_until(lambda: cpu_seconds(shell.pid, children=True) > used + 0.5, "more children")
        window.press("Escape")
        window.wait_until(lambda screen: "filter:" not in screen and "LIVE" in screen, "no filter")
        keys_are_answered(window)
        check(nr_descriptors(ctop) <= before + 10, f"{nr_descriptors(ctop)} descriptors, {before} before")
        check(anonymous_bytes(ctop) < 64 * MIB, f"{anonymous_bytes(ctop)} bytes")
        window.press("q")
        window.wait_for_prompt()


@long_case
def ten_thousand_children():
    need_root()
    with target("family", "waiting", "10000") as program, terminal() as window:
        window.type(f"{CTOP} -p {program.pid} -e cpu-clock")
        window.wait_for("LIVE")
        window.press("6", "p")
        window.wait_for("PROCESS", "THR", "family waiting 10000")
        with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as children:
            last = max(map(int, children.read().split()))
        # The list grows until all are on it; keys are answered all the while.
        window.wait_until(lambda screen: window.press("End") or f" {last} " in screen, "the last child")
        window.press("q")
        window.wait_for_prompt()


@case
def a_child_of_another_users():
    need_root()
    # It ends with its parent; a change of users would forget that, so it is asked for afterwards.
    other = [need_program("setpriv"), f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups",
             "--pdeathsig=KILL", "sleep", "600"]
    with child("sh", "-c", '"$@" & while :; do :; done', "sh", *other) as shell, terminal() as window:
        window.type(f"{CTOP} -p {shell.pid}")
        window.wait_for("LIVE", "SELF%")
        window.press("6", "p")
        window.wait_until(lambda screen: re.search(r"^[> ]\s+0\.0\s+100\.0\s+\d+ sleep 600\s+1 ", screen, re.M), "the child that sleeps")
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
