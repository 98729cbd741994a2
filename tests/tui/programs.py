#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A whole machine in a real terminal: programs, their processes, these processes' threads; command lines."""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import BUILD, CTOP, called, case, check, directory, main, need_root, target


@case
def programs_and_their_processes():
    need_root()
    with directory() as where, terminal() as window:
        # A name that no other program has, nor a function, whatever else the machine does.
        program = shutil.copy(os.path.join(BUILD, "workloads", "spin"), os.path.join(where, "two-of-a-kind"))
        names = "postgres: bob db1 [local] SELECT", "postgres: eve db2 [local] idle"
        with called(*names, executable=program) as programs:
            window.type(f"{CTOP} -a -F 199")
            window.wait_for("PROGRAM", "COMMAND")
            window.select("two-of-a-kind")
            window.wait_for("two-of-a-kind ×2")
            window.press("Enter")
            window.wait_for("filter: program=two-of-a-kind", "postgres: bob db1", "postgres: eve db2", "THR")
            window.select(f"{programs[0].pid} ")
            window.press("Enter")
            window.wait_for(f"process={programs[0].pid} two-of-a-kind", "spin_loop", "NOW")
            window.press("1")
            window.wait_for("[1 Top]", "spin_loop")
            window.press("6", "Escape", "Escape")
            window.wait_until(lambda screen: "filter:" not in screen, "no filter")
            window.select("two-of-a-kind")
            window.wait_for("PROGRAM", "two-of-a-kind ×2")
            window.press("q")
            window.wait_for_prompt()


@case
def beside_the_list_is_the_hottest_stack():
    need_root()
    with target("spin", "600") as program, terminal(120, 36) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("spin_loop")
        window.press("6")
        screen = window.wait_for("HOTTEST STACK", f"│ {program.pid} spin", "│ spin 600", "runs")
        pane = [line.rpartition("│")[2] for line in screen.splitlines() if "│" in line]
        calls = [match.group(1) for match in (re.match(r"\s+[\d.]+  (\w+)", line) for line in pane) if match]
        check(calls[0] == "spin_loop" and "main" in calls and calls[-1] == "_start", screen)
        window.press("q")
        window.wait_for_prompt()


@case
def command_lines_of_any_kind():
    """Escapes, nothing at all, 128 KiB: on the screen, safe and cut."""
    need_root()
    names = b"\x1b[2J\x1b]0;odd\x07\n\x9b31m", b"", b"x" * (128 * 1024 - 1)
    with called(*names) as programs, terminal(100, 24) as window:
        window.type(f"{CTOP} -p {','.join(str(program.pid) for program in programs)}")
        window.wait_for("spin_loop")
        window.press("6")
        screen = window.wait_for(r"\x1b[2J\x1b]0;odd", "xxxxxxxxx…")
        rows = [line for line in screen.splitlines() if re.search(r"^[> ]\s+[\d.]+\s+[\d.]+(\s+\d+\.\d)?\s+\d+ ", line)]
        check(len(rows) == 2 * 3, screen)
        window.press("p")
        window.wait_for(r"\x1b[2J\x1b]0;odd", "xxxxxxxxx…", "THR")
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
