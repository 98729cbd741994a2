#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command writes under the interface: bounded, counted, and never the command's problem."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import tty

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import BUILD, CTOP, PATIENCE, case, check, directory, main, need_root, wait_until

MIB = 1 << 20


class Window:
    """A terminal that nobody draws: the bytes as they come."""

    def __init__(self, *command, where="/"):
        self.master, slave = pty.openpty()
        tty.setraw(slave)  # what is written comes as it was written
        environment = {name: value for name, value in os.environ.items() if name != "TMUX"}
        self.program = subprocess.Popen([CTOP, "-e", "cpu-clock", "--", *command], stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True, cwd=where,
                                        env=environment | {"TERM": "xterm"})
        os.close(slave)
        self.bytes = b""

    def read(self, seconds):
        """False: nothing came, or there is nobody left to write."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        with contextlib.suppress(OSError):
            piece = os.read(self.master, MIB)
            self.bytes += piece
            return bool(piece)
        return False

    def wait_for(self, *words):
        deadline = time.monotonic() + PATIENCE
        while not all(re.search(word, self.bytes) for word in words):
            check(time.monotonic() < deadline, f"no {words} in {self.bytes[-2000:]}")
            self.read(1)

    def press(self, key):
        os.write(self.master, key.encode())

    def read_to_end(self):
        while self.read(PATIENCE):
            pass
        return self.bytes

    def behind_the_interface(self):
        """What was written once the terminal was left."""
        return self.bytes.rpartition(b"\x1b[?1049l")[2]


@contextlib.contextmanager
def window(*command, where="/"):
    need_root()
    one = Window(*command, where=where)
    try:
        yield one
    finally:
        os.close(one.master)
        one.program.kill()
        one.program.wait()


def lines(nr, name):
    """Writes so many numbered lines of 16 bytes, then the file, and waits for nobody."""
    return ["sh", "-c", f"seq -f 'line %010g' 1 {nr}; touch {name}"]


def let_go(where):
    """Opening waits for the command to read."""
    with open(f"{where}/go", "w", encoding="ascii") as fifo:
        fifo.write("\n")


@case
def the_first_and_the_last_megabyte_are_kept():
    nr = 500000
    with directory() as where, window(*lines(nr, "done"), where=where) as one:
        one.wait_for(rb"EXITED")
        before = one.bytes
        check(b"line 00000" not in before, "it wrote over the interface")
        one.press("q")
        one.read_to_end()
        check(one.program.wait(PATIENCE) == 0, "exit code")
        text = one.behind_the_interface()
        start, end = text.index(b"line 0000000001\n"), text.index(b"line 0000500000\n") + 16
        written = text[start:end]
        left_out = re.search(rb"\n\[ctop: (\d+) bytes left out here\]\n", written)
        head, tail = written[:left_out.start()], written[left_out.end():]
        check(len(head) == MIB and len(tail) == MIB, f"{len(head)} and {len(tail)} bytes")
        check(int(left_out.group(1)) + 2 * MIB == 16 * nr, f"{left_out.group(0)}")
        whole = b"".join(b"line %010d\n" % i for i in range(1, nr + 1))
        check(whole.startswith(head) and whole.endswith(tail), "other bytes than were written")


@case
def little_is_kept_whole():
    with window("sh", "-c", "echo to stdout; echo to stderr >&2; exit 3") as one:
        one.wait_for(rb"EXITED")
        one.press("q")
        one.read_to_end()
        check(one.program.wait(PATIENCE) == 3, "exit code")
        text = one.behind_the_interface()
        check(b"to stdout\nto stderr\n" in text and b"left out" not in text, f"{text}")


@case
def a_stopped_ctop_holds_nobody_up():
    """Ten times what a pipe holds is written while main does not run."""
    with directory() as where:
        os.mkfifo(f"{where}/go")
        script = f"read line < {where}/go; seq 1 200000; touch {where}/done"
        with window("sh", "-c", script) as one:
            one.wait_for(rb"\[1 Top\]")
            os.kill(one.program.pid, signal.SIGSTOP)
            let_go(where)
            wait_until(lambda: os.path.exists(f"{where}/done"), "end of its output")
            os.kill(one.program.pid, signal.SIGCONT)
            one.press("q")
            one.wait_for(rb"\n199999\n200000\n")
            check(one.program.wait(PATIENCE) == 0, "exit code")


@case
def a_command_that_goes_on_writes_on_to_the_terminal():
    with directory() as where:
        os.mkfifo(f"{where}/go")
        script = (f"echo before; read line < {where}/go; echo after; echo again; "
                  f"touch {where}/done")
        with window("sh", "-c", script) as one:
            one.wait_for(rb"\[1 Top\]")
            one.press("q")
            one.wait_for(rb"before\n")
            check(one.program.wait(PATIENCE) == 0, "exit code")
            let_go(where)
            one.wait_for(rb"after\nagain\n")
            wait_until(lambda: os.path.exists(f"{where}/done"), "end of the command")
            # And then nobody has the terminal any more.
            one.read_to_end()


@case
def a_killed_ctop_takes_no_output_along():
    with directory() as where:
        os.mkfifo(f"{where}/go")
        script = (f"echo before; read line < {where}/go; echo after && "
                  f"touch {where}/done")
        with window("sh", "-c", script) as one:
            one.wait_for(rb"\[1 Top\]")
            one.program.kill()
            one.wait_for(rb"before\n")
            let_go(where)
            one.wait_for(rb"after\n")
            wait_until(lambda: os.path.exists(f"{where}/done"), "end of the command")


if __name__ == "__main__":
    check(os.path.isdir(BUILD), "nothing is built")
    main()
