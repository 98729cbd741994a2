#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which share of the stacks of programs of every day is complete, recorded live, with dumps as large as ctop makes them.

What is complete is determined again, from the frames as they are printed: a stack is complete if its outermost function is one
of those in which stacks begin. This must be what ctop counted, sample by sample. The shares themselves pass or fail
nothing: they are printed beside what is aimed at. Names of libc's outermost functions need its debug symbols (libc6-dbg).

    shares.py [TARGET...]        all targets, or some
"""

import collections
import functools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from everyday import (BUSY_GO, BUSY_RUST, ROOTS, SWITCHES, SWITCHES_FOR_GOOD, building_go,  # noqa: E402
                      building_rust, building_with_musl, compiling, emulating, running_demo, running_java,
                      running_node, running_python, speeding_openssl, without_the_map)
from harness import CTOP, Skip, check, ctop, need_root  # noqa: E402

SECONDS = float(os.environ.get("STACKS_SECONDS", "4"))
HZ = 999
SHOWN = 3
ENDS = ("complete", "joined", "switched", "truncated", "broken", "kernel_only")
HEADER = re.compile(r"\[\d+\] +\d+\.\d+: .*: (\w+)(?: \((\w+)\))?$")
# A program's start is at most so long; stripped programs have no name for it.
START_BYTES = 48
# Threads begin there, in functions that have names with debug symbols only.
LIBC = {"[libc.so.6]"}
UNNAMED = "unnamed"
# Frames alone do not say why a stack ends early.
OPEN = {"truncated": "open", "broken": "open"}

# named: the functions in which its stacks begin have names.
Target = collections.namedtuple("Target", "command aim options counted named",
                                defaults=((), ("complete", "joined"), True))
MILLISECONDS = int(SECONDS * 1000)
TARGETS = {
    "demo": Target(lambda: running_demo(SECONDS), 99.9),
    "g++": Target(lambda: compiling("g++"), 99.5),
    "clang++": Target(lambda: compiling("clang++"), 99.0),
    "clang++ 16K": Target(lambda: compiling("clang++"), 80.0, ("--call-graph", "dwarf,16384")),
    "node": Target(lambda: running_node(SECONDS), 99.4),
    "java": Target(lambda: running_java(SECONDS), 97.0),
    "java fp": Target(lambda: running_java(SECONDS, "-XX:+PreserveFramePointer"), 97.0),
    "qemu": Target(lambda: emulating(SECONDS), 90.0),
    "cpython": Target(lambda: running_python(SECONDS), 99.9),
    "openssl": Target(speeding_openssl, 99.9),
    "rust": Target(lambda: building_rust(BUSY_RUST % (MILLISECONDS, MILLISECONDS)), 99.9),
    "musl static": Target(lambda: building_with_musl(SECONDS, "-static"), 99.0),
    "musl": Target(lambda: building_with_musl(SECONDS, "-s"), 99.0, named=False),
    "go": Target(lambda: building_go(BUSY_GO % MILLISECONDS), 98.0),
}


@functools.cache
def entry_of(path):
    """Where an ELF file says that it starts; 0 if it is none."""
    try:
        with open(path, "rb") as file:
            header = file.read(64)
    except OSError:
        return 0
    return struct.unpack_from("<Q", header, 24)[0] if header[:5] == b"\x7fELF\x02" else 0


def parse_frame(line):
    """(method, function) as printed; what has no name is its module, but for the start of a program."""
    _, method, rest = line.split(None, 2)
    function, _, module = rest.rstrip("\n").rpartition(" (")
    if function == "[unknown]":
        path, _, address = module[:-1].rpartition("+0x")
        if 0 <= int(address, 16) - (entry_of(path) or 1 << 64) < START_BYTES:
            function = "_start"
        else:
            function = f"[{os.path.basename(path)}]"
    function = re.sub(r"\+0x[0-9a-f]+$", "", function)
    # Functions without a name are called by where they start.
    path = module[:-1].rpartition("+0x")[0]
    unnamed = re.fullmatch(r".*\+0x([0-9a-f]+)", function)
    if unnamed and int(unnamed[1], 16) == entry_of(path):
        function = "_start"
    return method, function


def samples_of(path):
    """Each sample's end in ctop's word, the reason beside it, and its frames, leaf first."""
    header, frames = None, []
    process = subprocess.Popen([CTOP, "export", "frames", "--no-inline", path], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True, errors="replace")
    for line in process.stdout:
        if line[0] == "\t":
            frames.append(parse_frame(line))
        elif line.strip():
            if header:
                yield *header.groups(), frames
            header, frames = HEADER.search(line), []
    if header:
        yield *header.groups(), frames
    check(process.wait() == 0, "ctop export frames failed")


def end_by_frames(frames):
    user = [frame for frame in frames if frame[0] != "kernel"]
    if not user:
        return "kernel_only"
    outermost = user[-1][1]
    # In its own code such a function may be on either stack.
    if outermost in SWITCHES_FOR_GOOD and user[-1][0] == "leaf":
        return "switched"
    if outermost in ROOTS:
        return "joined" if any(method == "joined" for method, _ in user) else "complete"
    if outermost in LIBC:
        return UNNAMED
    # What a signal interrupted is on another stack than its handler when no caller of it was found.
    return "switched" if outermost in SWITCHES or user[-1][0] == "signal" else "open"


def show(end, found, frames):
    print(f"  ctop says {end}, its frames say {found}:")
    for method, function in frames:
        print(f"    {method:10} {function}")


def compare(name, path, stats, named):
    """Counts by ctop's words; disagreements are shown, and are a failure."""
    counts, reasons, disagreements = collections.Counter(), collections.Counter(), 0
    for end, reason, frames in samples_of(path):
        counts[end] += 1
        reasons[f"{end}: {reason}"] += reason is not None
        found = end_by_frames(frames)
        if found == UNNAMED:
            reasons["not checked, libc has no names (install libc6-dbg)"] += 1
        elif end == "truncated" and frames[-1][0] == "signal":
            pass  # what was interrupted may be on this stack, as far as anybody knows: its end is not in the copy
        elif named and found != OPEN.get(end, end):
            disagreements += 1
            if disagreements <= SHOWN:
                show(end, found, frames)
    if any(counts[end] != stats["stacks"][end] for end in ENDS):
        print(f"  printed: {dict(counts)}; counted: {stats['stacks']}")
        disagreements += 1
    if not counts:
        raise Skip("no samples")
    if disagreements:
        print(f"  {name}: {disagreements} disagreements")
    return counts, +reasons, disagreements


def measure(name, target):
    with tempfile.TemporaryDirectory(prefix="ctop-shares-") as where, without_the_map(where):
        path, stats = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        command = target.command()(where)
        result = ctop("record", "-e", "cpu-clock", "-F", HZ, *target.options, "-o", path, "--stats",
                      stats, "--", *command, cwd=where)
        # The status is the command's own, but for what ctop itself says.
        check(result.returncode not in (1, 2, 125, 126, 127), result.stderr)
        with open(stats, encoding="utf-8") as file:
            return compare(name, path, json.load(file), target.named)


def main(names):
    need_root()
    wrong = 0
    print(f"{'target':12} {'samples':>7}" + "".join(f" {end:>11}" for end in ENDS) +
          "       whole    aim")
    for name in names or TARGETS:
        target = TARGETS[name]
        try:
            counts, reasons, disagreements = measure(name, target)
        except Skip as reason:
            print(f"{name:12} skipped: {reason}")
            continue
        total = sum(counts.values())
        whole = sum(counts[end] for end in target.counted)
        print(f"{name:12} {total:7}" +
              "".join(f" {100 * counts[end] / total:9.2f} %" for end in ENDS) +
              f" {100 * whole / total:9.2f} % {target.aim:6}" +
              "".join(f"  {reason} {count}" for reason, count in sorted(reasons.items())))
        sys.stdout.flush()
        wrong += disagreements
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Skip as reason:
        print(f"skipped: {reason}")
