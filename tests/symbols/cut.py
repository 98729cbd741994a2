#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that end early: at each section's beginning, middle and end what is there still serves, and nothing falls or hangs."""

import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import BUILD, case, check, directory, main, need_program, run  # noqa: E402
from inlined_program import built  # noqa: E402

LOOK_UP = os.path.join(BUILD, "symbols", "look_up")


def cuts_of(path):
    """Where it may end, by its section table."""
    size, found = os.path.getsize(path), {0, 1, 63, 64}
    for start, length in sections_of(path).values():
        found |= {start, start + length // 2, start + length}
    return sorted(cut for cut in found if cut < size)


def sections_of(path):
    """{name: (offset, size)}"""
    listed = re.findall(r"^ +\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", run("readelf", "-SW", path).stdout, re.M)
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in listed}


def move_table(path):
    """It and the names of sections into the program's data, in front of what is cut: else each cut would take all sections with it."""
    sections = sections_of(path)
    room, names = sections[".data"][0] + 63 & ~63, sections[".shstrtab"]
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        at, = struct.unpack_from("<Q", content, 0x28)
        nr, index = struct.unpack_from("<HH", content, 0x3c)
        table = content[at:at + 64 * nr]
        struct.pack_into("<Q", table, 64 * index + 0x18, room + len(table))
        table += content[names[0]:names[0] + names[1]]
        content[room:room + len(table)] = table
        struct.pack_into("<Q", content, 0x28, room)
        file.seek(0)
        file.write(content)


def functions_of(path):
    return [line.split()[0] for line in run("nm", "--defined-only", path).stdout.splitlines() if line.split()[1] in "tTwW"][:20]


def look_up(addresses, *files):
    """What it says of them with -l; it may know nothing, and say so."""
    text = "\n".join(addresses)
    result = run("sh", "-c", 'printf "%s\\n" "$0" | exec "$@"', text, LOOK_UP, "-l", *files)
    check(result.returncode in (0, 1), f"{files}: {result.returncode}: {result.stderr}")
    return result.stdout


def check_cuts(path, *others, addresses):
    """others: the file that it is the debug file of."""
    whole, cut_path, nr_known = look_up(addresses, *others, path), path + ".cut", 0
    check("work" in whole and "main" in whole, whole)
    with open(path, "rb") as file:
        content = file.read()
    cuts = cuts_of(path)
    for cut in cuts:
        with open(cut_path, "wb") as file:
            file.write(content[:cut])
        nr_known += "\t" in look_up(addresses, *others, cut_path)
    print(f"# {os.path.basename(path)}: {len(cuts)} places to end at, functions known in {nr_known}", flush=True)
    check(len(cuts) > 50, f"{cuts}")
    return nr_known


@case
def programs():
    need_program("readelf")
    with directory() as where:
        room = os.path.join(where, "room.cpp")
        with open(room, "w", encoding="utf-8") as file:
            file.write("unsigned char room[1 << 16] __attribute__((used)) = {1};\n")
        for name, *options in ("plain",), ("dwarf4", "-gdwarf-4"), ("packed", "-gz"):
            path = built(where, name, *options, room)
            addresses = functions_of(path)
            move_table(path)
            check(check_cuts(path, addresses=addresses) > 0, "a part serves nobody")


@case
def debug_files():
    with directory() as where:
        path = built(where, "program")
        addresses = functions_of(path)
        for tool in (["objcopy", "--only-keep-debug", path, path + ".debug"], ["strip", path]):
            check(run(*tool).returncode == 0, f"{tool}")
        check_cuts(path + ".debug", path, addresses=addresses)


if __name__ == "__main__":
    main()
