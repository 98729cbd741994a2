# SPDX-License-Identifier: MIT
"""A flight recorder under test, and what it says."""

import contextlib
import glob
import os
import re
import signal
import subprocess

from harness import CTOP, PATIENCE, check, child, ctop_ok, status_of, wait_until

# Between a moment and its slice time passes, on a busy machine enough of it to be told.
BEFORE = r"before (?:and [\d.]+ s after )?"


class Recorder:
    """A flight recorder, and what it has said so far, line by line."""

    def __init__(self, process, where):
        self.process, self.where, self.said = process, where, []

    def until_said(self, pattern):
        """The match of the next line that matches."""
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            if found := re.search(pattern, line):
                return found
        check(False, f"ended without saying {pattern}: {self.said}")

    def signal(self, number):
        """That it has seen."""
        self.process.send_signal(number)
        wait_until(lambda: not int(status_of(self.process.pid, "ShdPnd"), 16) >> (number - 1) & 1, "signal to be taken")

    def interrupt(self):
        self.signal(signal.SIGINT)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.said += self.process.stderr.read().splitlines()
        return self.process.wait(PATIENCE)

    def slices(self):
        return sorted(glob.glob(os.path.join(self.where, "x-*.ctop")))


@contextlib.contextmanager
def recorder_of(where, *arguments, prefix=(), program=CTOP, **options):
    command = [*prefix, program, "record", "-e", "cpu-clock", "-o", os.path.join(where, "x.ctop"), *map(str, arguments)]
    with child(*command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options) as process:
        recorder = Recorder(process, where)
        recorder.until_said("are kept; 'ctop dump")
        yield recorder


def excerpt_of(path):
    return re.search(r"^excerpt +(.*)$", ctop_ok("report", "--stdio", path).stdout, re.M).group(1)
