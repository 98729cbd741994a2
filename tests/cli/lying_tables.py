#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose unwind tables lie about their bounds: they are recorded as any others, side by side."""

import contextlib
import os
import struct

from harness import (BUILD, CTOP, anonymous_bytes, case, check, check_accounts, children_of, directory, ended_well, folded,
                     main, need_root, recording_of, started, wait_until)

LOAD_EH_FRAME = 0x6474e550  # PT_GNU_EH_FRAME
ALL_BITS = 0xffffffff
MIB = 1 << 20


class Program:
    """An ELF file whose bytes may be changed."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        headers, = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        sections = [struct.unpack_from("<IIQQQQ", self.bytes, headers + i * size) for i in range(count)]
        self.sections = {self.name_at(sections[names][4] + name): (offset, length)
                         for name, _, _, _, offset, length in sections}
        self.headers = {self.name_at(sections[names][4] + section[0]): headers + i * size
                        for i, section in enumerate(sections)}

    def name_at(self, offset):
        return bytes(self.bytes[offset:self.bytes.index(0, offset)]).decode()

    def entries(self):
        """Where in .eh_frame CIEs and FDEs begin."""
        at, size = self.sections[".eh_frame"]
        end = at + size
        while at + 8 <= end:
            length, cie = struct.unpack_from("<II", self.bytes, at)
            if not length:
                return
            yield at, cie != 0
            at += 4 + length

    def put(self, offset, *words):
        struct.pack_into(f"<{len(words)}I", self.bytes, offset, *words)

    def segment(self):
        at, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        return next(at + i * size for i in range(count)
                    if struct.unpack_from("<I", self.bytes, at + i * size) == (LOAD_EH_FRAME,))


def lengths_beyond_the_section(program):
    for at, is_fde in list(program.entries()):
        if is_fde:
            program.put(at, 0xffffff00)


def lengths_of_64_bits(program):
    for at, is_fde in list(program.entries()):
        if is_fde:
            program.put(at, ALL_BITS, ALL_BITS - 16, ALL_BITS)


def every_function_is_everything(program):
    """The distance to its code, then how long it is: all of them from address 0 on, 4 GiB."""
    for at, is_fde in list(program.entries()):
        if is_fde:
            program.put(at + 8, -(at + 8) & ALL_BITS, ALL_BITS)


def common_parts_that_are_no_such(program):
    for at, is_fde in list(program.entries()):
        if is_fde:
            program.put(at + 4, ALL_BITS)


def a_lookup_table_that_points_away(program):
    at, size = program.sections[".eh_frame_hdr"]
    program.put(at + 4, 0x7fffffff, ALL_BITS)  # .eh_frame's distance, entries
    for entry in range(at + 12, at + size - 7, 8):
        program.put(entry, entry, 0x7ffffff0)


def a_lookup_table_as_large_as_memory(program):
    at = program.segment()
    program.put(at + 32, ALL_BITS, 0xffff, ALL_BITS, 0xffff)  # in the file, in memory


def a_section_as_large_as_memory(program):
    at = program.headers[".eh_frame"]
    program.put(at + 32, ALL_BITS - 0xff, ALL_BITS)


LIES = (lengths_beyond_the_section, lengths_of_64_bits, every_function_is_everything, common_parts_that_are_no_such,
        a_lookup_table_that_points_away, a_lookup_table_as_large_as_memory, a_section_as_large_as_memory)


def named(stacks, lie):
    """Whether the function in which that program works has its name."""
    return any(stack[0].startswith(lie.__name__[:15]) and stack[-1] == "bottom" for stack in stacks)


@case
def tables_that_lie_about_bounds():
    need_root()
    with directory() as where, contextlib.ExitStack() as stack:
        programs = []
        for lie in LIES:
            program = Program(os.path.join(BUILD, "workloads", "recursion"))
            lie(program)
            path = os.path.join(where, lie.__name__)
            with open(path, "wb") as file:
                file.write(program.bytes)
            os.chmod(path, 0o755)
            programs.append(stack.enter_context(started(path)))
        with recording_of(where, "-p", ",".join(str(program.pid) for program in programs)) as recorder:
            children = children_of(recorder.pid)
            # Samples and names are written once a second.
            path = os.path.join(where, "x.ctop")
            wait_until(lambda: recorder.poll() is not None or all(named(folded(path), lie) for lie in LIES),
                       "names of all")
            for role in "collector", "symbolizer":
                check(anonymous_bytes(children[role]) < 128 * MIB, f"{role}: {anonymous_bytes(children[role])}")
            check(children_of(recorder.pid) == children, "a child died")
        stacks, stats = ended_well(where, recorder)
        check_accounts(stats)
        check(stats["restarts"] == 0, f"{stats}")
        missing = [lie.__name__ for lie in LIES if not named(stacks, lie)]
        check(not missing, f"{missing}: {sorted(stacks)[:20]}")


if __name__ == "__main__":
    check(os.path.exists(CTOP), "nothing is built")
    main()
