#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The timeline, live and of a recording, in a real terminal."""

import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import BUILD, CTOP, case, check, ctop_ok, directory, main, need_root, target


def shows(pattern):
    return lambda screen: re.search(pattern, screen, re.M)


@contextlib.contextmanager
def recorded_waits(cols, rows):
    """A terminal with the timeline of a recording of the workload waits."""
    with directory() as where, terminal(cols, rows) as window:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-o", path, "--", os.path.join(BUILD, "workloads", "waits"), "600", "20")
        window.type(f"{CTOP} report {path}")
        window.wait_for("FILE")
        window.press("9")
        yield window


@case
def live_threads_have_rows():
    """States come as they happen, the stack stands below, and W leads to waits."""
    need_root()
    with target("deadlock") as program, terminal(120, 40) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE")
        window.press("9")
        window.wait_for("[9 Timeline]", "THREADS by number", "deadlock-ab", "deadlock-ba")
        window.wait_until(shows(r"^.\s+\d+ deadlock-ab\s+0\.0% l+"), "a thread that waits for a lock")
        window.press("W")
        window.wait_until(shows(r"^wait 1 of the \d+ longest: .* for: "), "the longest wait")
        window.wait_until(shows(r"waits at"), "where it waits")
        window.press("p")
        window.wait_until(shows(r"PROCESSES"), "processes")
        window.press("p")
        window.wait_until(shows(r"CGROUPS by path|a row for each cgroup|THREADS by number"), "cgroups, where there are any")
        window.press("q")
        window.wait_for_prompt()


@case
def a_recording_has_it():
    need_root()
    with recorded_waits(120, 40) as window:
        window.wait_for("[9 Timeline]", "holder", "blocked", "sleeper", "worker")
        window.type("/compute")
        window.wait_until(shows(r"^>\s+\d+ worker"), "the thread that computes")
        window.wait_until(shows(r"sampled"), "its stack")
        window.press("[", "]")
        window.wait_for("filter: range")
        window.press("Escape")
        window.wait_until(lambda screen: "filter: range" not in screen and "[9 Timeline]" in screen, "all of it, in the same view")
        window.press("[", *["Right"] * 12, "]")
        window.wait_for("filter: range")
        window.press("1")
        window.wait_until(shows(r"filter: range .*Esc"), "the range in another view")
        # What it did there is not what it did in all, unless it always did the same.
        row = r"^>? +[\d.]+ +([\d.]+) +[\d.]+ +\d+ .*worker"
        window.press("6")
        in_range = float(re.search(row, window.wait_until(shows(row), "the thread in the range"), re.M)[1])
        window.press("Escape")
        screen = window.wait_until(lambda screen: "filter: range" not in screen and re.search(row, screen, re.M), "all of it")
        whole = float(re.search(row, screen, re.M)[1])
        check(in_range != whole or whole > 95, f"{in_range}: {screen}")
        window.press("q")
        window.wait_for_prompt()


@case
def what_happened_to_a_thread_is_told():
    """Who created it, when it ended, and what the scheduler did to it: where the cursor is, and in all."""
    need_root()
    with recorded_waits(120, 40) as window:
        window.wait_for("[9 Timeline]", "holder", "worker")
        window.type("/compute")
        window.wait_until(shows(r"^>\s+\d+ worker"), "the thread that computes")
        window.wait_until(shows(r"^ created [\d.]+ s by \d+ waits, started [\d.]+ .s later, ended [\d.]+ s"), "its life")
        window.press("q")
        window.wait_for_prompt()


def mouse(window, button, row, col):
    """As a terminal tells of it (ESC [ M: its terminfo's kmous); rows and columns from 0, button 3: let go."""
    window.tmux("send-keys", "-t", "test", "-l", "\033[M" + chr(32 + button) + chr(33 + col) + chr(33 + row))


@case
def a_range_is_drawn_with_the_mouse():
    need_root()
    with recorded_waits(80, 24) as window:
        screen = window.wait_for("[9 Timeline]", "worker")
        row = next(at for at, line in enumerate(screen.splitlines()) if re.search(r"\d+ worker", line))
        window.press("m")
        window.wait_for("ranges in the timeline")
        mouse(window, 0, row, 50)
        window.wait_until(shows(r"^>\s+\d+ worker"), "the row under the mouse")
        mouse(window, 3, row, 60)
        window.wait_for("filter: range")
        window.press("1")
        window.wait_until(shows(r"filter: range .*Esc"), "the range in another view")
        window.press("Escape")
        window.wait_until(lambda screen: "filter: range" not in screen, "all of it")
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
