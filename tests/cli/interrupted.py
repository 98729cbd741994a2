#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Runs alone: what is told to end has half a second.
"""A command under ctop: ^C, its exit status, and its standard input."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import time

from harness import CTOP, PATIENCE, case, check, directory, main, need_root, wait_until

INTERRUPT = b"\x03"
BUSY = "while :; do :; done"


class InTerminal:
    """A program that has a terminal to itself."""

    def __init__(self, *words):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(words[0], [str(word) for word in words])
        self.bytes = b""

    def read(self):
        if not select.select([self.master], [], [], 1)[0]:
            return True
        try:
            piece = os.read(self.master, 1 << 16)
        except OSError:  # nobody has it open any more
            return False
        self.bytes += piece
        return bool(piece)

    def wait_for(self, word):
        deadline = time.monotonic() + PATIENCE
        while not re.search(word, self.bytes):
            check(time.monotonic() < deadline, f"no {word} in {self.bytes[-2000:]}")
            check(self.read() or re.search(word, self.bytes), f"it ended without {word}: {self.bytes}")

    def press(self, key):
        os.write(self.master, key)

    def end(self):
        """Its exit status, when it has ended by itself."""
        deadline = time.monotonic() + PATIENCE
        while self.read():
            check(time.monotonic() < deadline, f"it goes on: {self.bytes[-2000:]}")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextlib.contextmanager
def in_terminal(*words):
    need_root()
    one = InTerminal(*words)
    try:
        yield one
    finally:
        with contextlib.suppress(OSError):
            os.kill(one.pid, signal.SIGKILL)
        os.close(one.master)


def recording(where, script):
    return in_terminal(CTOP, "record", "-e", "cpu-clock", "-o", os.path.join(where, "x.ctop"), "--", "bash",
                       "-c", script)


# ---- the line that shows how far it is ----


@case
def what_is_said_stands_on_a_line_of_its_own():
    with directory() as where, recording(where, BUSY) as one:
        one.wait_for(rb"samples/s")
        os.kill(one.pid, signal.SIGUSR1)
        one.wait_for(rb"sampling is off\r\n.*samples/s[^\r\n]*\(off\)")
        os.kill(one.pid, signal.SIGUSR1)
        one.wait_for(rb"sampling is on\r\n")
        for said in re.findall(rb"([^\n]{0,4})ctop: ", one.bytes):
            check(said in (b"", b"\r\x1b[K"), f"{one.bytes}")


# ---- ^C ----


@case
def one_that_dies_of_it():
    with directory() as where, recording(where, f"echo begun; {BUSY}") as one:
        one.wait_for(rb"begun")
        one.press(INTERRUPT)
        check(one.end() == 128 + signal.SIGINT, f"{one.bytes}")
        check(b"goes on" not in one.bytes and b"samples of" in one.bytes, f"{one.bytes}")


@case
def one_that_ends_in_its_own_way():
    with directory() as where, recording(where, f"trap 'echo tidying; exit 7' INT; echo begun; {BUSY}") as one:
        one.wait_for(rb"begun")
        one.press(INTERRUPT)
        check(one.end() == 7, f"{one.bytes}")
        check(b"tidying" in one.bytes and b"goes on" not in one.bytes, f"{one.bytes}")


@case
def one_that_does_not_care():
    """It is waited for, which is said; the second ^C ends the profile."""
    with directory() as where, recording(where, f"trap '' INT; echo begun $$; {BUSY}") as one:
        one.wait_for(rb"begun (\d+)\r")
        one.press(INTERRUPT)
        one.wait_for(rb"second \^C")
        one.press(INTERRUPT)
        # The terminal is the command's as well: it does not end by itself.
        one.wait_for(rb"goes on\r")
        os.kill(int(re.search(rb"begun (\d+)\r", one.bytes).group(1)), signal.SIGKILL)
        check(one.end() == 0, f"{one.bytes}")


@case
def the_live_report():
    with in_terminal(CTOP, "--stdio", "-e", "cpu-clock", "--", "bash", "-c",
                     "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo begun; " + BUSY) as one:
        one.wait_for(rb"begun")
        one.press(INTERRUPT)
        check(one.end() == 128 + signal.SIGINT, f"{one.bytes}")
        check(b"TOTAL%" in one.bytes, f"{one.bytes}")


@case
def the_interface():
    with directory() as where, in_terminal(CTOP, "-e", "cpu-clock", "--", "bash", "-c",
                                        f"trap 'exit 7' INT; touch {where}/begun; {BUSY}") as one:
        one.wait_for(rb"LIVE")
        wait_until(lambda: os.path.exists(f"{where}/begun"), "command")
        one.press(INTERRUPT)
        check(one.end() == 7, f"{one.bytes[-500:]}")


@case
def a_whole_process_group_is_told():
    need_root()
    with directory() as where:
        program = subprocess.Popen([CTOP, "record", "-e", "cpu-clock", "-o", os.path.join(where, "x.ctop"), "--",
                                    "bash", "-c", f"echo begun; {BUSY}"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            check(program.stdout.readline() == b"begun\n", "begun")
            os.killpg(program.pid, signal.SIGINT)
            _, errors = program.communicate(timeout=PATIENCE)
        finally:
            with contextlib.suppress(OSError):
                os.killpg(program.pid, signal.SIGKILL)
        check(program.returncode == 128 + signal.SIGINT and b"goes on" not in errors, f"{program} {errors}")


# ---- standard input ----


@case
def it_is_kept():
    need_root()
    with directory() as where:
        for words in ["record", "-q", "-o", os.path.join(where, "x.ctop")], ["--stdio", "-q"]:
            result = subprocess.run([CTOP, *words, "--", "cat"], input=b"some words\n", capture_output=True,
                                    check=False, timeout=PATIENCE)
            check(result.returncode == 0 and b"some words\n" in result.stdout, f"{result}")


@case
def of_a_recording_it_is_the_terminal():
    with directory() as where, recording(where, "read word; echo got $word") as one:
        one.press(b"this\n")
        one.wait_for(rb"got this")
        check(one.end() == 0, f"{one.bytes}")


@case
def under_the_interface_it_is_nothing_and_that_is_said():
    with in_terminal(CTOP, "-e", "cpu-clock", "--", "bash", "-c", "read word; echo status $?") as one:
        one.wait_for(rb"EXITED")
        one.press(b"q")
        check(one.end() == 0, f"{one.bytes[-500:]}")
        check(b"status 1" in one.bytes, f"{one.bytes[-500:]}")
        check(b"bash reads nothing" in one.bytes, f"{one.bytes[-500:]}")


@case
def under_the_interface_it_is_a_pipe():
    """The keys come from the terminal all the same."""
    script = f"echo words | {CTOP} -e cpu-clock -- sh -c 'read word; echo got $word'"
    with in_terminal("/bin/sh", "-c", script) as one:
        one.wait_for(rb"EXITED")
        one.press(b"q")
        check(one.end() == 0, f"{one.bytes[-500:]}")
        check(b"got words" in one.bytes and b"reads nothing" not in one.bytes, f"{one.bytes[-500:]}")


if __name__ == "__main__":
    main()
