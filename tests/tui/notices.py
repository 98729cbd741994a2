#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What has gone wrong is shown inside the interface, and stays until it is read."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import (BUILD, CTOP, case, check, children_of, ctop_ok, directory, main, need_root, target,
                     wait_for_samples)


@case
def a_process_of_its_own_that_died():
    need_root()
    with target("spin", "600") as program, terminal(100, 30) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE", "spin_loop")
        pids = children_of(window.child())
        os.kill(next(pid for name, pid in pids.items() if "collector" in name), signal.SIGSEGV)
        window.wait_for("! the collector was killed by signal 11", "i: all")
        window.press("j", "2")
        window.wait_for("CALL TREE", "! the collector was killed by signal 11")
        window.press("i")
        window.wait_for("How this profile is made", "notice     the collector was killed by signal 11")
        window.press("Escape")
        window.wait_until(lambda screen: "CALL TREE" in screen and "the collector was killed" not in screen, "no notice")
        pids = children_of(window.child())
        os.kill(next(pid for name, pid in pids.items() if "symbolizer" in name), signal.SIGSEGV)
        window.wait_for("! the process that reads names was killed by signal 11")
        window.press("q")
        window.wait_for_prompt()


@case
def a_process_of_its_own_that_stood_still():
    need_root()
    with target("spin", "600") as program, terminal(100, 30) as window:
        window.type(f"{CTOP} -p {program.pid}")
        window.wait_for("LIVE", "spin_loop")
        os.kill(children_of(window.child())["collector"], signal.SIGSTOP)
        window.wait_for("! the collector was stopped by a signal and was killed; restarted")
        window.press("q")
        window.wait_for_prompt()


@case
def a_file_that_is_damaged():
    need_root()
    with directory() as where, target("spin") as program, terminal(100, 30) as window:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock", "-p", program.pid, "--duration", "3", "-o", path)
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            file.seek(size * 2 // 3)
            file.write(b"\xff" * 64)
        window.type(f"{CTOP} report {path}")
        window.wait_for("FILE", "! ", "is damaged", "i: all")
        window.press("i")
        window.wait_for("notice     ", "is damaged")
        window.press("q")
        window.wait_for_prompt()


@case
def what_a_killed_recorder_lost_is_not_known():
    need_root()
    with directory() as where, target("spin") as program, terminal(100, 30) as window:
        path = os.path.join(where, "x.ctop")
        recorder = subprocess.Popen([CTOP, "record", "-q", "-e", "cpu-clock", "-p", str(program.pid), "-o", path],
                                    stdin=subprocess.DEVNULL)
        try:
            wait_for_samples(recorder, path)
        finally:
            recorder.kill()
            recorder.wait()
        window.type(f"{CTOP} report {path}")
        screen = window.wait_for("FILE", "is incomplete", "lost ?")
        check("lost 0" not in screen, screen)
        window.press("q")
        window.wait_for_prompt()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
