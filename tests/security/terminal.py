#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an untrusted name makes a terminal do, whichever charset that speaks: the bytes 0x80-0x9f are C1 controls to one
of eight bits (0x9b begins a sequence as ESC [ does), also where they are part of a well-formed character."""

import contextlib
import os
import pty
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from harness import CTOP, PATIENCE, case, check, child, ctop_ok, directory, main, need_root, wait_for_samples

# A C1 control as a byte of its own, one that UTF-8 spells, and characters with such bytes inside.
NAME = b"o\x9b1m\xc2\x9b2\xc4\x9b\xe2\x9b\x9b"
SPIN = """
import sys
with open("/proc/self/comm", "wb") as file:
    file.write(bytes.fromhex(sys.argv[1]))
print("ready", flush=True)
while True:
    pass
"""
EIGHT_BIT = {"LANG": "C", "LC_ALL": "C"}
UTF_8 = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


def on_terminal(locale, *command, until=None):
    """All that a command writes to a terminal of that locale; it is asked to end once it has shown `until`."""
    master, slave = pty.openpty()
    environment = {**os.environ, **locale, "TERM": "xterm"}
    environment.pop("LC_CTYPE", None)
    with subprocess.Popen([str(word) if not isinstance(word, bytes) else word for word in command], stdin=slave,
                          stdout=slave, stderr=slave, env=environment, start_new_session=True) as process:
        os.close(slave)
        written = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while chunk := os.read(master, 65536):
                written += chunk
                if until and until in written:
                    process.terminate()
        os.close(master)
        process.wait(PATIENCE)
    return written


def check_eight_bit(written, what):
    check(not re.search(rb"[\x80-\xff]", written), f"{what}: {written}")


def check_utf_8(written, what):
    text = written.decode("utf-8", "surrogateescape")
    check(not re.search("[\x80-\x9f\udc80-\udcff]", text), f"{what}: {written}")


@case
def names_of_processes_on_both_kinds_of_terminal():
    need_root()
    with directory() as where, child(sys.executable, "-c", SPIN, NAME.hex(), stdout=subprocess.PIPE) as spin:
        check(spin.stdout.readline() == b"ready\n", "no spinner")
        path = os.path.join(where, "x.ctop")
        with child(CTOP, "record", "-q", "-e", "cpu-clock:u", "-p", spin.pid, "-o", path) as recorder:
            wait_for_samples(recorder, path)
            recorder.terminate()
            recorder.wait(PATIENCE)
        for words in (("export", "folded", path), ("export", "script", path), ("report", "--stdio", path)):
            written = on_terminal(EIGHT_BIT, CTOP, *words)
            check_eight_bit(written, words)
            check(b"o\\x9b1m\\xc2\\x9b2??" in written or words[0] == "report", f"{words}: {written[:500]}")
            written = on_terminal(UTF_8, CTOP, *words)
            check_utf_8(written, words)
            check("ě⛛".encode() in written or words[0] == "report", f"{words}: {written[:500]}")
        # A file is no terminal: it has the characters in any locale.
        exported = ctop_ok("export", "folded", path, env={**os.environ, **EIGHT_BIT}, encoding="utf-8").stdout
        check("o\\x9b1m\\xc2\\x9b2ě⛛" in exported, exported[:500])
        for locale, check_one in ((EIGHT_BIT, check_eight_bit), (UTF_8, check_utf_8)):
            written = on_terminal(locale, CTOP, "--stdio", "-e", "cpu-clock:u", "-p", spin.pid, "--duration", "0.5")
            check(b"profiling" in written, f"{written}")
            check_one(written, "--stdio")
            # The interface.
            written = on_terminal(locale, CTOP, "-e", "cpu-clock:u", "-p", spin.pid, until=b"o\\x9b1m")
            check(b"o\\x9b1m" in written, f"{written}")
            check_one(written, "the interface")


@case
def names_of_files_in_what_is_said():
    with directory() as where:
        path = os.path.join(os.fsencode(where), NAME)
        for locale, check_one in ((EIGHT_BIT, check_eight_bit), (UTF_8, check_utf_8)):
            written = on_terminal(locale, CTOP, "report", path)
            check(b"o\\x9b1m\\xc2\\x9b2" in written, f"{written}")
            check_one(written, locale)


main()
