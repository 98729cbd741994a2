#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Runs alone: an emulated machine is slow enough by itself.
"""The interface in the emulated machine, over its serial console: the terminal is tmux's, the line is slow."""

import os
import shlex
import sys

import machine
from machine import Skip, check

sys.path.insert(0, os.path.join(machine.HERE, "..", "tui"))

import tmux  # noqa: E402
from harness import case, directory, main  # noqa: E402

COLS, ROWS = 100, 30
LIVE = f"""#!/bin/sh
stty cols {COLS} rows {ROWS}
export TERM=vt220
recursion >/tmp/ready &
until grep -q ready /tmp/ready; do usleep 1000; done
ctop -e cycles -c 100000 -p $!
echo "left with $?"
"""


@case
def the_interface_over_a_serial_line():
    tmux.PATIENCE_SECONDS = machine.BOOT_SECONDS
    with directory() as where, tmux.terminal(COLS, ROWS) as window:
        arguments = machine.command(machine.make_disk(where, {}, LIVE))
        window.type(shlex.join(arguments))
        try:
            window.wait_until(lambda screen: "@ up" in screen or "LIVE" in screen, "the machine to be up")
            tmux.PATIENCE_SECONDS = machine.BOOT_SECONDS // 4
            window.wait_for("LIVE")
        except AssertionError as error:
            if window.screen().rstrip().endswith(window.PROMPT):
                raise  # it went away
            raise Skip(f"the emulated machine is too slow here: {machine.BOOT_SECONDS} s were not enough") from error
        screen = window.wait_for("LIVE", "cycles", "bottom", "[1 Top]")
        for line in screen.splitlines():
            print(f"# {line}")
        check("recursion" in screen, screen)
        window.press("2")
        window.wait_for("CALL TREE", "main")
        window.press("q")
        window.wait_for("left with 0")


if __name__ == "__main__":
    main()
