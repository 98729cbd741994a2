#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of the same perf.data file, by perf script and by ctop export frames, address by address.

Without arguments programs of every day are recorded on the spot; with arguments, perf.data files are compared.
What perf completes must be the same here; where it stops early, ours must begin with the same frames. Where they
part there is a class that says why, from the bytes of the code: the unexplained are at most 1 in 1,000.
"""

import collections
import contextlib
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from everyday import (BUSY_GO, ROOTS, building_go, compiling, running_demo,  # noqa: E402
                      running_node, running_python, speeding_openssl, without_the_map)
from harness import Skip, case, check, main, need_program, run  # noqa: E402
from stack_files import Frame, Segments, Stack, ctop_stacks, is_kernel  # noqa: E402

SECONDS = float(os.environ.get("STACKS_SECONDS", "4"))
HZ = 499
ALLOWED = 0.001
SHOWN = 3

IDENTICAL, LONGER, SHORTER = "identical", "longer", "shorter"
UNEXPLAINED = "unexplained"


def perf_stacks(data):
    """{(tid, time): Stack} of the user's frames, leaf first."""
    stacks, key, frames = {}, None, []

    def keep():
        if key:
            complete = bool(frames) and frames[-1].function in ROOTS
            stacks.setdefault(key, []).append(Stack("complete" if complete else "", frames))

    process = subprocess.Popen(["perf", "script", "-i", data, "--no-inline", "--max-stack", "1024",
                                "-F", "tid,time,ip,sym,dso"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
                               errors="replace")
    for line in process.stdout:
        if line[0] == "\t":
            address, _, rest = line.strip().partition(" ")
            address = int(address, 16)
            if not is_kernel(address):
                function, _, module = rest.rpartition(" (")
                frames.append(Frame(address, module[:-1], function))
        elif line.strip():
            keep()
            tid, time = line.split()[:2]
            key, frames = (int(tid), time.rstrip(":")), []
    keep()
    check(process.wait() == 0, "perf script failed")
    return stacks


def is_file(module):
    return module.startswith("/") and not module.startswith("/tmp/perf-")


def same_frame(theirs, ours):
    if theirs.offset != ours.offset:
        return False
    return not (is_file(theirs.module) and is_file(ours.module)) or \
        os.path.basename(theirs.module) == os.path.basename(ours.module)


def parting(theirs, ours):
    """How two stacks compare: IDENTICAL, LONGER (ours goes on), SHORTER, or the frame where they part."""
    for i, (one, other) in enumerate(zip(theirs, ours)):
        if not same_frame(one, other):
            return i
    if len(theirs) == len(ours):
        return IDENTICAL
    return LONGER if len(theirs) < len(ours) else SHORTER


def false_call(frames):
    """The first caller's index that no call precedes, by the code in its file; len(frames): there is none."""
    for i, frame in enumerate(frames[1:], 1):
        if frames[i - 1].function.startswith("__restore_rt") or \
                frame.method in ("signal", "leaf"):
            continue
        if not is_file(frame.module) and not frame.module.startswith("["):
            continue
        if frame.module == "[unknown]" or Segments.of(frame.module).follows_call(frame.offset) is False:
            return i
    return len(frames)


class Blind:
    """Modules that perf cannot step out of in a thread: after an exec it looks their CFI up at another base."""

    def __init__(self):
        self.steps, self.failed = collections.Counter(), collections.Counter()

    def learn(self, tid, theirs, ours, part):
        """A caller's frame (a leaf of one word is left by luck) and whether perf found its caller."""
        agreed = part if isinstance(part, int) else min(len(theirs.frames), len(ours.frames))
        for i in range(1, agreed):
            if i + 1 < len(ours.frames):
                self.steps[tid, theirs.frames[i].module] += 1
                self.failed[tid, theirs.frames[i].module] += i + 1 == agreed

    def to(self, tid, module):
        return self.failed[tid, module] > 20 and \
            self.failed[tid, module] >= 0.99 * self.steps[tid, module]


def why(tid, theirs, ours, part, blind):
    """The class of a disagreement, by evidence that neither of the two made up."""
    if part == SHORTER:
        part = len(ours.frames)
        if theirs.frames[part - 1].function in ROOTS:
            return "perf goes on behind the root"
    if called_root(theirs.frames, ours.frames):
        return "perf ends in the making of a thread"
    below = theirs.frames[part - 1] if part else Frame(0, "", "")
    if below.function.startswith("__restore_rt"):
        return "perf takes one from the pc that a signal interrupted"
    if false_call(theirs.frames) < len(theirs.frames) and \
            false_call(ours.frames) == len(ours.frames):
        return "perf has a caller that does not call"
    if skips_caller(theirs.frames, ours.frames, part):
        return "perf skips a caller"
    # What perf took for registers of the frame's caller leads astray later, too.
    if any(blind.to(tid, frame.module) for frame in theirs.frames[:part]):
        return "perf's CFI of a module below is not that module's"
    return UNEXPLAINED


def calls(caller, called):
    """Whether the code of the one has a call of the other's very function."""
    return caller.module == called.module and \
        Segments.of(caller.module).call_target(caller.offset) == called.start


def called_root(theirs, ours):
    """Theirs ends in a function in which stacks begin, clone3 say, where ours knows who called it."""
    return parting(theirs, ours) == LONGER and calls(ours[len(theirs)], ours[len(theirs) - 1])


def skips_caller(theirs, ours, part):
    """Theirs is ours without one frame, and the code has that frame's call: of this very function, or a leaf's."""
    for i in range(1, min(part + 1, len(ours))):  # equal frames may follow: it shows later
        code, proven = Segments.of(ours[i].module), calls(ours[i], ours[i - 1])
        if (proven or i == 1 and code.follows_call(ours[i].offset)) and \
                parting(theirs[i:], ours[i + 1:]) in (IDENTICAL, LONGER):
            return True
    return False


def pairs(theirs, ours):
    for key, stacks in theirs.items():
        for one, other in zip(stacks, ours.get(key, [])):
            yield key, one, other, parting(one.frames, other.frames)


def compare(data):
    theirs, ours = perf_stacks(data), ctop_stacks(data)
    counts, shown, blind = collections.Counter(), 0, Blind()
    for (tid, _), one, other, part in pairs(theirs, ours):
        blind.learn(tid, one, other, part)
    for key, one, other, part in pairs(theirs, ours):
        counts["samples"] += 1
        counts["perf complete"] += one.end == "complete"
        counts["ctop complete"] += other.end == "complete"
        if part == IDENTICAL or (part == LONGER and one.end != "complete"):
            counts[part] += 1
            continue
        verdict = why(key[0], one, other, 0 if part == LONGER else part, blind)
        counts[verdict] += 1
        if verdict == UNEXPLAINED and shown < SHOWN:
            shown += 1
            show(key, one, other)
    for what, some, others in (("only perf's", theirs, ours), ("only ctop's", ours, theirs)):
        counts[what] = sum(max(0, len(stacks) - len(others.get(key, [])))
                           for key, stacks in some.items())
    return counts


def show(key, theirs, ours):
    print(f"# unexplained: thread {key[0]} at {key[1]}, ours {ours.end}")
    for i in range(max(len(theirs.frames), len(ours.frames))):
        one = theirs.frames[i] if i < len(theirs.frames) else Frame(0, "", "")
        other = ours.frames[i] if i < len(ours.frames) else Frame(0, "", "")
        mark = " " if same_frame(one, other) else "*"
        print(f"# {mark} {one.offset:12x} {one.function[:40]:40} {other.offset:12x} {other.method:6} "
              f"{other.function[:40]:40} {other.module}")


COLUMNS = ("samples", "perf complete", "ctop complete", IDENTICAL, LONGER)


def print_table(rows):
    print("# " + f"{'workload':12}" + "".join(f"{column:>15}" for column in COLUMNS) + "  disagree")
    for name, counts in rows:
        classes = ", ".join(f"{what} {count}" for what, count in sorted(counts.items())
                            if what not in COLUMNS and count)
        print("# " + f"{name:12}" + "".join(f"{counts[column]:>15}" for column in COLUMNS) +
              "  " + (classes or "none"))
    sys.stdout.flush()


def beside_perf(name, make_command, dump=16384):
    """Records a command, compares, prints a row of the table. make_command(directory) gives the command."""
    need_program("perf")
    with tempfile.TemporaryDirectory(prefix="ctop-stacks-") as where, \
            without_the_map(where):
        data = os.path.join(where, "perf.data")
        result = run("perf", "record", "-q", "-e", "cpu-clock", "-F", HZ, "--call-graph",
                     f"dwarf,{dump}", "-o", data, "--", *make_command(where), cwd=where)
        if not os.path.exists(data) or os.path.getsize(data) < 1 << 16:
            raise Skip(f"perf recorded nothing: {result.stderr.strip()[-200:]}")
        counts = compare(data)
    print_table([(name, counts)])
    check(counts["samples"] > 100, f"{counts['samples']} samples")
    check(not counts["only perf's"] and not counts["only ctop's"], "samples that one of both has not")
    check(counts[UNEXPLAINED] <= max(ALLOWED * counts["samples"], 1), "unexplained disagreements")


@case
def small_cxx():
    beside_perf("demo", running_demo(SECONDS), dump=8192)


@case
def gxx_compiling():
    beside_perf("g++", compiling("g++"))


@case
def gxx_compiling_whole_stacks():
    beside_perf("g++ 64K", compiling("g++"), dump=65528)


@case
def clangxx_compiling():
    beside_perf("clang++", compiling("clang++"))


@case
def clangxx_compiling_whole_stacks():
    beside_perf("clang++ 64K", compiling("clang++"), dump=65528)


@case
def openssl_speed():
    beside_perf("openssl", speeding_openssl())


@case
def python():
    beside_perf("python3", running_python(SECONDS))


@case
def node():
    beside_perf("node", running_node(SECONDS))


@case
def go():
    beside_perf("go", building_go(BUSY_GO % int(SECONDS * 1000)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_table([(os.path.basename(path)[:12], compare(path)) for path in sys.argv[1:]])
    else:
        main()
