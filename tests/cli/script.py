#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ctop export script against perf script: the same grammar, the same stacks; and folded again."""

import collections
import contextlib
import json
import os
import re
import subprocess

from harness import (BUILD, CTOP, PATIENCE, Skip, case, check, ctop, ctop_ok, directory, folded, main, need_program,
                     need_root, recording_of, run, target)

HEAD = re.compile(r"(\S.*?) +(\d+)/(\d+) +\[(\d+)\] +(\d+)\.(\d{6}): +(\d+) +(\S+): ")
FRAME = re.compile(r"\t *([0-9a-f]+) (\[unknown\]|(.+)\+0x([0-9a-f]+)) \((.+)\)")

Sample = collections.namedtuple("Sample", "comm pid tid cpu time_us period event frames")
Frame = collections.namedtuple("Frame", "address name offset module")


def parse_head(line, event_cols):
    match = HEAD.fullmatch(line)
    check(match, f"not the first line of a sample: {line!r}")
    comm, pid, tid, cpu, seconds, micros, period, event = match.groups()
    again = (f"{comm} {pid:>5}/{tid:<5} [{cpu:0>3}] {seconds:>5}.{micros}: {period:>10} "
             f"{event:>{event_cols}}: ")
    check(again == line, f"columns: {line!r}, not {again!r}")
    return Sample(comm, int(pid), int(tid), int(cpu), int(seconds) * 1000000 + int(micros),
                  int(period), event, [])


def parse_frame(line):
    match = FRAME.fullmatch(line)
    check(match, f"not a frame: {line!r}")
    address, symbol, name, offset, module = match.groups()
    check(line == f"\t{address:>16} {symbol} ({module})", f"columns: {line!r}")
    return Frame(int(address, 16), name, offset and int(offset, 16), module)


def parse(text):
    """Every line of the text must be one of perf script's: its samples."""
    samples = []
    inside = False
    events = re.findall(r"^\S.* (\S+): $", text, re.MULTILINE)
    event_cols = max(map(len, events), default=0)
    check(text.endswith("\n\n") or not text, "the last sample is cut")
    # Not splitlines(): only a newline ends a line.
    for line in text.split("\n")[:-1]:
        if not line:
            check(inside, "an empty line without a sample before it")
            inside = False
        elif inside:
            samples[-1].frames.append(parse_frame(line))
        else:
            samples.append(parse_head(line, event_cols))
            inside = True
    return samples


def script(path, *options):
    return parse(ctop_ok("export", "script", path, "--no-inline", *options).stdout)


def record_both(where, event, pid, seconds=2):
    """The samples that perf and ctop took of one process at the same time."""
    need_root()
    need_program("perf")
    data, path = os.path.join(where, "perf.data"), os.path.join(where, "x.ctop")
    with recording_of(where, "-q", "-e", event, "-F", "499", "-p", pid):
        perf = run("perf", "record", "-q", "-e", event, "-F", "499", "--call-graph", "dwarf,16384",
                   "--sample-cpu", "-k", "CLOCK_MONOTONIC", "-o", data, "-p", str(pid), "--", "sleep", str(seconds))
    if perf.returncode != 0:
        raise Skip(f"perf record failed: {perf.stderr.strip()}")
    result = run("perf", "script", "--no-inline", "-F", "+pid,+cpu", "-i", data)
    if result.returncode != 0:
        raise Skip(f"perf script failed: {result.stderr.strip()}")
    theirs, ours = parse(result.stdout), script(path)
    if len(theirs) < 100:
        raise Skip(f"the machine is too busy: perf has {len(theirs)} samples")
    check(len(ours) > 50, f"ctop has {len(ours)} samples, perf {len(theirs)}")
    check(all(a.time_us <= b.time_us for a, b in zip(ours, ours[1:])), "not in the order of time")
    check({s.event for s in ours} == {s.event for s in theirs} == {event}, "events")
    # Taken in the same seconds of the same clock.
    check(ours[0].time_us < theirs[-1].time_us and theirs[0].time_us < ours[-1].time_us, "time")
    return theirs, ours


def callers(sample, module):
    """The frames above the leaf; of other modules than this, whose symbols have several names, no more than the module."""
    return tuple((frame.name, frame.offset, module) if frame.module == module else frame.module
                 for frame in sample.frames[1:])


def most_frequent(samples, key):
    counts = collections.Counter(key(sample) for sample in samples)
    return counts.most_common(1)[0][0] if counts else None


@case
def sixty_frames_with_the_same_offsets():
    program_path = os.path.join(BUILD, "workloads", "recursion")
    with directory() as where, target("recursion") as program:
        theirs, ours = record_both(where, "cpu-clock:u", program.pid)
    for samples in (theirs, ours):
        check({(s.comm, s.pid, s.tid) for s in samples} ==
              {("recursion", program.pid, program.pid)}, "who")
        check(all(s.frames and s.cpu < os.cpu_count() for s in samples), "frames and CPUs")
    theirs_top = most_frequent(theirs, lambda s: callers(s, program_path))
    ours_top = most_frequent(ours, lambda s: callers(s, program_path))
    check(len(ours_top) > 60, f"{ours_top}")
    check(theirs_top == ours_top, f"perf {theirs_top}\nctop {ours_top}")
    check(most_frequent(ours, lambda s: s.frames[0].name) == "bottom", "the leaf")
    check(most_frequent(ours, lambda s: s.period) == most_frequent(theirs, lambda s: s.period),
          "periods")


@case
def addresses_are_those_of_the_elf_file():
    nm = need_program("nm")
    need_root()
    program_path = os.path.join(BUILD, "workloads", "recursion")
    symbols = {}
    for line in run(nm, program_path).stdout.splitlines():
        value, _, name = line.rpartition(" ")
        if value.strip()[:1].isalnum():
            symbols[name] = value.split()[0]
    with directory() as where, target("recursion") as program:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--duration", 1, "-p",
                program.pid)
        samples = script(path)
    seen = set()
    for frame in (frame for sample in samples for frame in sample.frames):
        if frame.module == program_path and frame.name:
            check(frame.address - frame.offset == int(symbols[frame.name], 16), f"{frame}")
            seen.add(frame.name)
    check({"main", "even", "odd", "bottom"} <= seen, f"{seen}")


@case
def four_threads():
    program_path = os.path.join(BUILD, "workloads", "threads")
    with directory() as where, target("threads") as program:
        theirs, ours = record_both(where, "cpu-clock:u", program.pid, seconds=3)
    for share in ("share-40", "share-30", "share-20"):
        of_perf = [s for s in theirs if s.comm == share]
        of_ctop = [s for s in ours if s.comm == share]
        if len(of_perf) < 20:
            raise Skip(f"the machine is too busy: {len(of_perf)} samples of {share}")
        check({s.tid for s in of_ctop} == {s.tid for s in of_perf}, f"{share}: threads")
        check({s.pid for s in of_ctop} == {s.pid for s in of_perf} == {program.pid}, share)
        names = [most_frequent(samples, lambda s: tuple(
            (f.name, f.module) if f.module == program_path else f.module for f in s.frames))
            for samples in (of_perf, of_ctop)]
        check(names[0] == names[1], f"{share}: perf {names[0]}, ctop {names[1]}")


@contextlib.contextmanager
def in_the_kernel():
    """A process that does nothing but have the kernel fill its memory with zeros."""
    program = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=256k"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


@case
def the_kernels_frames():
    kernel = "[kernel.kallsyms]"
    with directory() as where, in_the_kernel() as program:
        theirs, ours = record_both(where, "cpu-clock", program.pid)

    def chain(sample):
        return tuple(frame for frame in sample.frames[1:] if frame.module == kernel)

    with_kernel = [[s for s in samples if s.frames and s.frames[0].module == kernel and chain(s)]
                   for samples in (theirs, ours)]
    if len(with_kernel[0]) < 50:
        raise Skip("perf shows no kernel stacks")
    check(len(with_kernel[1]) > 50, f"ctop has {len(with_kernel[1])} of {len(ours)}")
    # Addresses and offsets included: both are those of the kernel's own chain.
    top = most_frequent(with_kernel[0], chain)
    check(top == most_frequent(with_kernel[1], chain),
          f"perf {top}\nctop {most_frequent(with_kernel[1], chain)}")
    check(most_frequent(with_kernel[0], lambda s: s.frames[0].name) ==
          most_frequent(with_kernel[1], lambda s: s.frames[0].name), "the leaf")


# ---- what reads perf script's text ----

def collapse(text):
    """A small reader of the text, as such tools are written: line by line, by loose patterns."""
    stacks, frames, comm = collections.Counter(), [], None
    for line in text.split("\n"):
        head = re.match(r"(\S.+?)\s+(\d+)/*(\d+)*\s+", line)
        frame = re.match(r"\s*(\w+)\s*(.+) \((.*)\)$", line)
        if not line:
            if comm is not None:
                stacks[(comm, *reversed(frames))] += 1
            frames, comm = [], None
        elif comm is None and head:
            comm = head.group(1).replace(" ", "_")
        elif frame:
            name, module = re.sub(r"\+0x[\da-f]+$", "", frame.group(2)), frame.group(3)
            if name == "[unknown]" and module != "[unknown]":
                name = "[" + module.rpartition("/")[2].strip("[]") + "]"
            frames.append(re.sub(r"(?<!^)\((?!anonymous namespace\)).*", "", name))
    return stacks


def check_collapses(path, *options):
    text = ctop_ok("export", "script", path, "--no-inline", *options).stdout
    expected = collections.Counter()
    for stack, count in folded(path, *options).items():
        expected[tuple(name.replace("[kernel]", "[kernel.kallsyms]") for name in stack)] += count
    stacks = collapse(text)
    check(stacks == expected, f"only in the script: {stacks - expected}\n"
                              f"only folded: {expected - stacks}")
    check(sum(stacks.values()) == len(parse(text)) > 0, "samples")


@case
def collapsed_it_is_folded_again():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        for name in ("recursion", "threads", "forkexec"):
            ctop_ok("record", "-q", "-e", "cpu-clock", "-o", path, "--",
                    os.path.join(BUILD, "workloads", name), "1")
            check_collapses(path)


@case
def all_events_in_the_order_of_time():
    need_root()
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u,page-faults", "-o", path, "--",
                os.path.join(BUILD, "workloads", "forkexec"), "1")
        everything = script(path)
        parts = [script(path, "--event", event) for event in ("cpu-clock:u", "page-faults")]
        check({s.event for s in everything} == {"cpu-clock:u", "page-faults"}, "events")
        check(all(a.time_us <= b.time_us for a, b in zip(everything, everything[1:])), "time")
        check(len(everything) == sum(map(len, parts)) and all(parts), f"{map(len, parts)}")
        for part in parts:
            check(part == [s for s in everything if s.event == part[0].event], "one event")
        check_collapses(path, "--event", "cpu-clock:u")


@case
def into_a_file():
    need_root()
    with directory() as where:
        path, out = os.path.join(where, "x.ctop"), os.path.join(where, "out")
        ctop_ok("record", "-q", "-e", "cpu-clock", "-o", path, "--",
                os.path.join(BUILD, "workloads", "recursion"), "1")
        text = ctop_ok("export", "script", path).stdout
        if len(text) < 100000:
            raise Skip(f"the machine is too busy: {len(text)} bytes are one piece")
        ctop_ok("export", "script", path, "-o", out)
        with open(out, encoding="utf-8") as file:
            check(file.read() == text, "not the same")
        # A disk that is full: an error, the old file as it was, and nothing beside it.
        before = sorted(os.listdir(where))
        result = ctop("export", "script", path, "-o", "/dev/full")
        check(result.returncode == 1 and "/dev/full" in result.stderr, f"{result}")
        result = ctop("export", "script", path, "--comm", "nobody", "-o", out)
        check(result.returncode == 1, f"{result}")
        with open(out, encoding="utf-8") as file:
            check(file.read() == text, "the old file is gone")
        check(sorted(os.listdir(where)) == before, f"{os.listdir(where)}")
        # A reader that leaves early ends it, quietly.
        head = subprocess.run(f"'{CTOP}' export script '{path}' | head -n 1", shell=True,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        check(HEAD.fullmatch(head.stdout.rstrip("\n")) and not head.stderr, f"{head}")


@case
def a_name_cannot_pass_for_a_line():
    need_root()
    name = "  \n\tf (x)\n\n\x1b["
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        # The name is the thread's own choice, whatever its bytes.
        code = ("import os\n"
                f"open('/proc/self/comm', 'w').write({name!r})\n"
                "while os.times().user < 0.5: pass\n")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", "python3", "-c", code)
        samples = script(path)
    named = [s for s in samples if s.comm.startswith("__\\x0a\\x09f (x)")]
    check(len(named) > 100, f"{collections.Counter(s.comm for s in samples)}")


@case
def frames_say_the_same_and_how_it_was_found():
    need_root()
    frame = re.compile(r"\t *([0-9a-f]+) (\w+) +(.*) \((.+)\+0x([0-9a-f]+)\)")
    with directory() as where:
        path, stats_path = os.path.join(where, "x.ctop"), os.path.join(where, "stats.json")
        ctop_ok("record", "-q", "-e", "cpu-clock", "-o", path, "--stats", stats_path, "--",
                os.path.join(BUILD, "workloads", "sigalt"), "1")
        with open(stats_path, encoding="utf-8") as file:
            stats = json.load(file)
        samples = parse(ctop_ok("export", "script", path, "--no-inline").stdout)
        text = ctop_ok("export", "frames", path, "--no-inline").stdout
    ends, methods, found = collections.Counter(), collections.Counter(), []
    for line in text.split("\n")[:-1]:
        match = frame.fullmatch(line)
        if match:
            address, method, _, module, looked_up = match.groups()
            methods[method] += 1
            back = int(address, 16) - int(looked_up, 16)
            check(back == (method not in ("leaf", "signal") and bool(found[-1])) or
                  method == "kernel", line)
            found[-1].append((module, int(looked_up, 16)))
        elif line:
            ends[line.rpartition(": ")[2].partition(" ")[0]] += 1
            found.append([])
    check(ends == collections.Counter({key: n for key, n in stats["stacks"].items() if n}), f"{ends}")
    check(methods["signal"] > 0 and methods["cfi"] > 0 and methods["leaf"] > 0, f"{methods}")
    check(len(found) == len(samples), f"{len(found)} and {len(samples)}")
    for ours, theirs in zip(found, samples):
        # Kernel frames: perf's text has the kernel's own addresses.
        check([module for module, _ in ours] == [one.module for one in theirs.frames] and
              all(address == one.address for (module, address), one in zip(ours, theirs.frames)
                  if "kernel" not in module), f"{ours}: {theirs}")


if __name__ == "__main__":
    main()
