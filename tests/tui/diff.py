#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctop diff on a terminal: B in the interface, each function with its change from A."""

import re

from tmux import terminal  # first: it finds the others

from harness import CTOP, case, check, main
from made_recording import NANOSECONDS, MadeRecording


def made(where, name, shares):
    """{"caller;function": samples}"""
    recording = MadeRecording()
    recording.event("cpu-clock", NANOSECONDS, period=1000000)
    program = recording.module(b"/bin/prog")
    functions = sorted({function for stack in shares for function in stack.split(";")})
    frames = {function: recording.frame(program, 0x1000 + 16 * i, function) for i, function in enumerate(functions)}
    task, now = recording.task(100, 100, "prog"), 0
    for stack, nr in shares.items():
        for _ in range(nr):
            now += 1000000
            recording.sample(now, task, [frames[function] for function in stack.split(";")], weight=1000000)
    return recording.write(f"{where}/{name}")


@case
def what_changed_comes_first():
    with terminal(100, 30) as window:
        made(window.where, "a.ctop", {"warm": 500, "hot": 300, "cool": 200})
        made(window.where, "b.ctop", {"warm": 500, "hot": 150, "cool": 150, "new": 200})
        window.type(f"{CTOP} diff a.ctop b.ctop")
        window.wait_for("against a.ctop")
        window.wait_for("warm")
        rows = [line for line in window.screen().splitlines() if re.search(r" (warm|hot|cool|new) +prog", line)]
        check([re.search(r"[-+]\d+\.\d~?", row).group() for row in rows] == ["+20.0", "-15.0", "-5.0", "+0.0~"], f"{rows}")
        check("new" in rows[0] and "hot" in rows[1], f"{rows}")
        window.press("o")
        window.wait_for("choose it with ctop diff --time")
        window.press("q")
        window.wait_for_prompt()
        window.type(f"{CTOP} diff a.ctop b.ctop --stdio")
        window.wait_for("differ by more than noise")
        window.wait_for_prompt()


# What 256 colours make of boxes on dark ground: theme.c.
GREY, RED, PALE_RED, PALE_BLUE = (238, 240), (124, 160), (95, 131), (61, 67)


def backgrounds(window):
    """{name of a box: the colour behind it}"""
    found = {}
    for line in window.tmux("capture-pane", "-p", "-e", "-t", "test").splitlines():
        colour = None
        for code, text in re.findall("\x1b\\[([\\d;]*)m([^\x1b]*)", line):
            colour = next((int(number) for number in re.findall(r"48;5;(\d+)", code)), colour)
            found.update({name: colour for name in re.findall(r"\w+", text)})
    return found


@case
def only_what_is_beyond_noise_has_colours():
    with terminal(120, 30) as window:
        made(window.where, "a.ctop", {"main;work;hot": 1000, "main;work;cool": 1000, "main;work;same": 1000, "main;warm": 2000})
        made(window.where, "b.ctop", {"main;work;hot": 1300, "main;work;cool": 700, "main;work;same": 1010, "main;warm": 1500,
                                      "main;fresh": 490})
        window.type(f"TERM=screen-256color {CTOP} diff a.ctop b.ctop --theme dark")
        window.wait_for("against a.ctop")
        window.press("5")
        window.wait_for("+ more than in A", "no more than noise")
        boxes = backgrounds(window)
        expected = {"main": GREY, "work": GREY, "same": GREY, "hot": PALE_RED, "cool": PALE_BLUE, "warm": PALE_BLUE, "fresh": RED}
        check(all(boxes.get(name) in colours for name, colours in expected.items()), f"{boxes}")
        row = next(line for line in window.screen().splitlines() if "hot" in line)
        check(re.search(r"hot +\+6\.0 ", row) and re.search(r"cool +-6\.0 ", row) and re.search(r"same +20%", row), row)
        window.press("2")
        window.wait_for("CALL TREE")
        changes = {name: change for change, name in re.findall(r"([-+]\d+\.\d~?) +\W* *(\w+) ", window.screen())}
        check(changes == {"main": "+0.0~", "work": "+0.2~", "hot": "+6.0", "same": "+0.2~", "cool": "-6.0", "warm": "-10.0",
                            "fresh": "+9.8"}, f"{changes}")
        window.press("?")
        window.wait_for("Compared with another profile", "Red: more than there")


main()
