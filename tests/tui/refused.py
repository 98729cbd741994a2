#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the kernel lets nobody sample: one cause and numbered fixes, on a screen and as text."""

import base64
import os
import pty
import re
import select
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from tmux import terminal
from harness import (BUILD, OTHER_USER, PARANOID_IS_2, PATIENCE, alone, case, check, main, need_root, paranoid,
                     plain_user, readable_ctop, run, target, wait_until)

REFUSE = os.path.join(BUILD, "workloads", "refuse")
CAPABILITIES = "cap_perfmon,cap_sys_ptrace,cap_syslog,cap_ipc_lock=p"


def fixes(text):
    """{number: command}"""
    return {int(number): command for number, command in re.findall(r"(?m)^ (\d)  (.*?)\s*$", text)}


@case
@alone("changes the kernel's settings")
def without_a_terminal_the_text_is_printed():
    need_root()
    with readable_ctop() as (_, program), target("spin") as roots:
        with paranoid(2):
            result = run(*plain_user(), program, "-p", roots.pid)
            check(result.returncode == 1 and result.stdout == "", f"{result}")
            check(result.stderr.count("Cause: ") == 1 and "belongs to another user (uid 0" in result.stderr,
                  result.stderr)
            check("perf_event_open(" in result.stderr and "-> EACCES" in result.stderr, result.stderr)
            found = fixes(result.stderr)
            check(f"setcap {CAPABILITIES} {program}" in found[1], f"{found}")
            check(found[2] == f"sudo {program} -p {roots.pid}", f"{found}")
            # A level does not open somebody else's process.
            check("sysctl" not in result.stderr, result.stderr)
            result = run(*plain_user(), program, "-a")
            check(result.returncode == 1 and "kernel.perf_event_paranoid=0" in fixes(result.stderr)[3],
                  result.stderr)
        with paranoid(4):
            result = run(REFUSE, "EACCES", *plain_user(), program, "--", "true")
            check(result.returncode == 125 and "as Ubuntu has it" in result.stderr, f"{result}")
            # A filter comes with no_new_privs, which keeps setcap from helping.
            check("setcap" not in result.stderr, result.stderr)
            check("kernel.perf_event_paranoid=2" in result.stderr, result.stderr)
        result = run(REFUSE, "EPERM", program, "-p", roots.pid)
        check(result.returncode == 1 and "Cause: a seccomp filter" in result.stderr, f"{result}")
        check("setcap" not in result.stderr and "seccomp=FILE" in fixes(result.stderr)[1], result.stderr)


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def a_process_of_a_plain_user_is_offered_to_be_sampled_as_its_own():
    need_root()
    as_user = plain_user()
    other = [word.replace(str(OTHER_USER), str(OTHER_USER + 1)) for word in as_user]
    with readable_ctop() as (_, program), paranoid(2):
        with subprocess.Popen([*other, "sleep", "600"]) as sleeper:
            try:
                result = run(*as_user, program, "-p", sleeper.pid)
                found = fixes(result.stderr)
                check(found[1] == f"sudo -u '#{OTHER_USER + 1}' {program} -p {sleeper.pid}", f"{result}")
            finally:
                sleeper.kill()


def refused_in(window, *words):
    window.type(" ".join(str(word) for word in (*words, "; echo status $?")))
    return window.wait_for("Cause: ", " 1  ", "y:copy", "q:quit")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def on_a_terminal_it_is_a_screen():
    need_root()
    with readable_ctop() as (_, program), target("spin") as roots, paranoid(2):
        for key in "q", "Escape":
            with terminal(100, 30) as window:
                before = window.modes()
                refused_in(window, *plain_user(), program, "-p", roots.pid)
                window.press("j", "j")
                window.press("y")
                window.wait_for(f"copied: sudo {program} -p {roots.pid}")
                window.resize(40, 10)
                window.wait_for("Cause: ")
                window.resize(100, 30)
                window.press(key)
                # What it said stays to be read.
                window.wait_for("status 1", "Cause: ", " 2  sudo ")
                window.wait_for_prompt()
                # Behind its prompt the shell may still set them.
                wait_until(lambda: window.modes() == before, f"the terminal as it was: {before}")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def from_the_picker_and_back():
    need_root()
    with readable_ctop() as (_, program), target("spin") as roots, paranoid(2), terminal(100, 30) as window:
        window.type(" ".join([*plain_user(), program]))
        window.wait_for("which process?", "COMMAND")
        window.press(*str(roots.pid))
        window.wait_for(f"filter: {roots.pid}", "spin")
        window.press("Enter")
        # The command line had no process: the fix names it.
        window.wait_for("Cause: ", f" 2  sudo {program} -p {roots.pid}", "y:copy")
        window.press("Escape")
        window.wait_for("which process?", "belongs to another user")
        window.press("C-c")
        window.wait_for_prompt()


@case
def a_command_is_not_run():
    need_root()
    with readable_ctop() as (where, program), terminal(100, 30) as window:
        refused_in(window, REFUSE, "EPERM", program, "--", "touch", os.path.join(where, "touched"))
        window.press("q")
        window.wait_for("status 125")
        check(not os.path.exists(os.path.join(where, "touched")), "the command was run")


@case
@alone("changes the kernel's settings", unless=PARANOID_IS_2)
def what_is_copied_is_the_command():
    """The bytes that reach the terminal: OSC 52."""
    need_root()
    with readable_ctop() as (_, program), target("spin") as roots, paranoid(2):
        master, slave = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"} | {"TERM": "xterm"}
        command = subprocess.Popen([*plain_user(), program, "-p", str(roots.pid)], stdin=slave, stdout=slave,
                                   stderr=slave, start_new_session=True, env=environment)
        os.close(slave)
        try:
            written, found = b"", None
            while not found:
                check(select.select([master], [], [], PATIENCE)[0], f"no clipboard in {written}")
                written += os.read(master, 65536)
                if b"setcap" in written and b"52;" not in written:
                    os.write(master, b"y")
                found = re.search(rb"\x1b\]52;c?;([A-Za-z0-9+/=]+)(?:\x07|\x1b\\)", written)
            copied = base64.b64decode(found.group(1)).decode()
            check(copied == f"sudo setcap {CAPABILITIES} {program}", copied)
            os.write(master, b"q")
            while select.select([master], [], [], PATIENCE)[0]:
                try:
                    if not os.read(master, 65536):
                        break
                except OSError:
                    break
            check(command.wait(PATIENCE) == 1, f"{command.returncode}")
        finally:
            os.close(master)
            command.kill()
            command.wait()


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
