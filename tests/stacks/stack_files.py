# SPDX-License-Identifier: MIT
"""Stacks as ctop export frames prints them, by thread and time."""

import collections
import contextlib
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import CTOP, check  # noqa: E402

# start: where the function begins in the file; -1: not known.
Frame = collections.namedtuple("Frame", "offset module function method start", defaults=("", -1))
Stack = collections.namedtuple("Stack", "end frames")



class Segments:
    """Where an ELF file's addresses lie in it, and its code."""

    _known = {}

    def __init__(self, path):
        self.loads, self.bytes = [], b""
        with contextlib.suppress(OSError, struct.error):
            with open(path, "rb") as file:
                self.bytes = file.read()
            if self.bytes[:5] != b"\x7fELF\x02":
                return
            at, = struct.unpack_from("<Q", self.bytes, 32)
            size, count = struct.unpack_from("<HH", self.bytes, 54)
            for i in range(count):
                kind, _, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", self.bytes,
                                                                          at + i * size)
                if kind == 1:
                    self.loads.append((address, offset, in_file))

    @classmethod
    def of(cls, path):
        if path not in cls._known:
            cls._known[path] = cls(path)
        return cls._known[path]

    def offset(self, address):
        for start, offset, size in self.loads:
            if start <= address < start + size:
                return address - start + offset
        return address

    def follows_call(self, offset):
        """Whether a call's last byte lies at the offset; None when there is no code to look at."""
        if not 8 <= offset < len(self.bytes):
            return None
        code = self.bytes[offset - 6:offset + 1]
        if code[-5] == 0xE8:
            return True
        # ff /2 with its operand: a register, or memory with a displacement of 0, 1 or 4 bytes.
        for size in range(2, 8):
            if code[-size] == 0xFF and code[1 - size] >> 3 & 7 == 2:
                kind, base = code[1 - size] >> 6, code[1 - size] & 7
                wanted = 2 + (base == 4 and kind != 3) + {0: 4 * (base == 5), 1: 1, 2: 4, 3: 0}[kind]
                if wanted == size:
                    return True
        return False


    def call_target(self, offset):
        """Where the direct call leads whose last byte is there; None when there is none."""
        if not 8 <= offset < len(self.bytes) or self.bytes[offset - 4] != 0xE8:
            return None
        return offset + 1 + struct.unpack_from("<i", self.bytes, offset - 3)[0]


def is_kernel(address):
    return address >= 1 << 63  # perf's end of a stack it gave up, too


def ctop_stacks(data):
    stacks, key, frames, end = {}, None, [], ""

    def keep():
        if key:
            stacks.setdefault(key, []).append(Stack(end, frames))

    process = subprocess.Popen([CTOP, "export", "frames", "--no-inline", data], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                               errors="replace")
    for line in process.stdout:
        if line[0] == "\t":
            shown, method, rest = line.split(None, 2)
            if method == "kernel":
                continue
            function, _, module = rest.rstrip("\n").rpartition(" (")
            module, _, address = module[:-1].rpartition("+0x")
            address = int(address, 16)
            if not is_kernel(address):
                offset = Segments.of(module).offset(address)
                function, _, into = function.rpartition("+0x")
                start = offset + int(shown, 16) - address - int(into, 16) if function else -1
                frames.append(Frame(offset, module, function, method, start))
        elif line.strip():
            keep()
            found = re.search(r"(\d+)/(\d+) +\[\d+\] +(\d+\.\d+): .*: (\w+)(?: \(\w+\))?$", line)
            key, frames, end = (int(found.group(2)), found.group(3)), [], found.group(4)
    keep()
    check(process.wait() == 0, "ctop export frames failed")
    return stacks
