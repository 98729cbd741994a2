#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that are chosen from a list in a real terminal: several of one name, marked ones, all."""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import BUILD, CTOP, called, case, check, main, need_root


def marked(screen):
    """Rows with a mark, by pid."""
    return {int(pid) for pid in re.findall(r"^[> ]\s*(\d+)\*", screen, re.M)}


@case
def of_one_name_all_are_profiled():
    need_root()
    with called(*["gathered-here"] * 3) as programs, terminal() as window:
        window.type(f"{CTOP} gathered-here")
        window.wait_for("which process?", "filter: gathered-here", *(f" {program.pid} " for program in programs))
        window.press("*")
        window.wait_until(lambda screen: marked(screen) == {program.pid for program in programs}, "three marks")
        window.press("Enter")
        window.wait_for("LIVE", "spin_loop")
        window.press("6", "p")
        window.wait_for("THR", *(f" {program.pid} " for program in programs))
        window.press("q")
        window.wait_for_prompt()


@case
def of_one_name_two_are_marked():
    need_root()
    with called(*["gathered-here"] * 3) as programs, terminal() as window:
        window.type(f"{CTOP} gathered-here")
        window.wait_for("filter: gathered-here", *(f" {program.pid} " for program in programs))
        window.press("Space", "Space")
        screen = window.wait_until(lambda screen: len(marked(screen)) == 2, "two marks")
        chosen = marked(screen)
        left_out = next(program.pid for program in programs if program.pid not in chosen)
        window.press("Enter")
        window.wait_for("LIVE", "spin_loop")
        window.press("6", "p")
        screen = window.wait_for("THR", *(f" {pid} " for pid in chosen))
        check(f" {left_out} " not in screen, screen)
        window.press("q")
        window.wait_for_prompt()


@case
def the_only_one_of_its_name_needs_no_choice():
    need_root()
    with called("gathered-here") as programs, terminal() as window:
        window.type(f"{CTOP} gathered-here")
        window.wait_for("LIVE", "spin_loop", f"[{programs[0].pid}]")
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
