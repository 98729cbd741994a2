#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that executes itself again: the same file, but nothing of what was before is its own."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import BUILD, CTOP, case, check, child, directory, main, need_root

LOOP = "while :; do :; done"


@case
def a_process_that_runs_itself_again():
    need_root()
    shell = subprocess.Popen(["sh", "-c", f"read line; exec sh -c '{LOOP}'"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL)
    try:
        with terminal(100, 30) as window:
            window.type(f"{CTOP} -p {shell.pid}")
            screen = window.wait_for("LIVE", f"sh[{shell.pid}]")
            check("EXEC" not in screen, screen)
            shell.stdin.write(b"\n")
            shell.stdin.flush()
            window.wait_for("EXEC", f"the target now runs sh[{shell.pid}]", "[1 Top]")
            # Once only: the banner grows old.
            window.wait_for("EXEC 3s ago")
            window.press("q")
            window.wait_for_prompt()
    finally:
        shell.kill()
        shell.wait()
        shell.stdin.close()


@case
def a_process_that_executes_again_and_again():
    """Faster than the screen is drawn: its samples are there all the same, each program's under its name."""
    need_root()
    with directory() as where:
        program = os.path.join(where, "again")
        # Each life works a little, by its own CPU time, and begins the next.
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/bash\ni=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec $0\n")
        os.chmod(program, 0o755)
        with child(program, stdout=subprocess.DEVNULL) as process, terminal(100, 30) as window:
            window.type(f"{CTOP} -e cpu-clock -p {process.pid}")
            window.wait_for("EXEC", "SELF%", "bash")

            def shown(screen):
                """Samples shown: many lives of them."""
                found = re.search(r"([\d.,]+)(k?) samples", screen)
                return found and (found.group(2) or float(found.group(1).replace(",", "")) > 300)

            window.wait_until(shown, "the samples of many lives")
            window.press("q")
            window.wait_for_prompt()


@case
def a_command_that_runs_itself_again():
    need_root()
    with terminal(100, 30) as window:
        window.type(f"{CTOP} -- sh -c 'read line </dev/null; i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; "
                    f"exec sh -c \"{LOOP}\"'")
        # Its own beginning is none.
        screen = window.wait_for("LIVE", "sh[", "SELF%")
        check("EXEC" not in screen, screen)
        window.wait_for("EXEC", "the target now runs sh[")
        pid = window.screen().split("the target now runs sh[")[1].split("]")[0]
        window.press("q")
        window.wait_for_prompt()
        os.kill(int(pid), 9)


@case
def a_child_that_runs_something_is_no_exec_of_its_parent():
    need_root()
    with terminal(100, 30) as window:
        window.type(f"{CTOP} -- sh -c 'i=0; while [ $i -lt 500 ]; do sh -c true; i=$((i+1)); done'")
        screen = window.wait_for("EXITED status 0")
        check("EXEC " not in screen, screen)
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
