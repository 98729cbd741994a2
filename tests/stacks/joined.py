#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Joined stacks beside the true ones: dumps of 64 KiB are cut to fewer bytes, joined, and compared with what they were.

Without arguments compilers are recorded on the spot; with arguments, perf.data files are compared. Of joined
stacks at most 1 in 200 may differ from the true one.
"""

import collections
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from cut_dumps import cut_dumps  # noqa: E402
from everyday import BIG_CXX, written  # noqa: E402
from harness import Skip, case, check, main, need_program, run  # noqa: E402
from stack_files import ctop_stacks  # noqa: E402

HZ = 999
WHOLE = 65528
CUTS = (32768, 16384)
ALLOWED = 0.005
SHOWN = 3
AROUND = 3


def compare(whole, cut):
    """How the stacks of the cut file ended, and which of them are wrong."""
    counts, wrong = collections.Counter(), []
    for key, stacks in cut.items():
        for ours, true in zip(stacks, whole[key]):
            counts["samples"] += 1
            counts[ours.end] += 1
            if ours.end != "joined":
                continue
            if true.end != "complete":
                counts["truth not known"] += 1
            elif [frame[:2] for frame in ours.frames] != [frame[:2] for frame in true.frames]:
                counts["wrong"] += 1
                wrong.append((key, ours, true))
    return counts, wrong


def show(key, ours, true):
    """Where the two differ, and a few frames around."""
    def cell(stack, at):
        return f"{stack.frames[at].method:10} {stack.frames[at].function}"[:70] if at < len(stack.frames) else ""

    depth = max(len(ours.frames), len(true.frames))
    differ = [at for at in range(depth)
              if [frame[:2] for frame in ours.frames[at:at + 1]] !=
              [frame[:2] for frame in true.frames[at:at + 1]]]
    print(f"# tid {key[0]}, time {key[1]}: joined | true")
    for at in range(max(differ[0] - AROUND, 0), min(differ[0] + 2 * AROUND, depth)):
        print(f"# {'!' if at in differ else ' '} {cell(ours, at):70} | {cell(true, at)}")


def row(name, counts):
    share = lambda key: 100 * counts[key] / max(counts["samples"], 1)
    joined = counts["joined"] - counts["truth not known"]
    print(f"# {name:24} {counts['samples']:7} samples  complete {share('complete'):6.2f} %  joined "
          f"{share('joined'):6.2f} %  truncated {share('truncated'):6.2f} %  wrong {counts['wrong']} of {joined}"
          f" ({100 * counts['wrong'] / max(joined, 1):.2f} %)")
    sys.stdout.flush()


def compare_cuts(name, data, verbose=False):
    """Rows of the table for a file with whole dumps; the counts by cut."""
    whole = ctop_stacks(data)
    ends = collections.Counter(stack.end for stacks in whole.values() for stack in stacks)
    row(f"{name} whole", collections.Counter(ends, samples=sum(ends.values()), **{
        "truth not known": ends["joined"]}))
    found = {}
    copy = f"{data}.cut"
    try:
        shutil.copyfile(data, copy)
        for limit in CUTS:
            cut_dumps(copy, limit)
            counts, wrong = compare(whole, ctop_stacks(copy))
            row(f"{name} {limit}", counts)
            for stacks in wrong[:SHOWN] if verbose else []:
                show(*stacks)
            found[limit] = counts
    finally:
        if os.path.exists(copy):
            os.unlink(copy)
    return found


def joined(name, compiler):
    need_program("perf")
    need_program(compiler)
    with tempfile.TemporaryDirectory(prefix="ctop-stacks-") as where:
        data = os.path.join(where, "perf.data")
        source = written(where, "big.cpp", BIG_CXX)
        result = run("perf", "record", "-q", "-e", "cpu-clock:u", "-F", HZ, "-m", "1024", "--call-graph",
                     f"dwarf,{WHOLE}", "-o", data, "--", compiler, "-O2", "-std=c++17", "-c", source,
                     "-o", "/dev/null", cwd=where)
        if not os.path.exists(data) or os.path.getsize(data) < 1 << 16:
            raise Skip(f"perf recorded nothing: {result.stderr.strip()[-200:]}")
        found = compare_cuts(name, data, verbose=True)
    for limit, counts in found.items():
        known = counts["joined"] - counts["truth not known"]
        check(counts["samples"] > 100, f"{counts['samples']} samples")
        check(counts["wrong"] <= max(ALLOWED * known, 1), f"{counts['wrong']} of {known} joins are wrong")
    check(any(counts["joined"] for counts in found.values()), "nothing was joined")


@case
def gxx_compiling():
    joined("g++", "g++")


@case
def clangxx_compiling():
    joined("clang++", "clang++")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            compare_cuts(os.path.basename(path)[:14], path, verbose=True)
    else:
        main()
