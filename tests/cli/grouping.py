#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--group: what rows of a report and frames of an export are, beside sums over `ctop export frames`, sample by sample."""

import collections
import csv
import functools
import io
import json
import os
import re
import tempfile

from harness import BUILD, case, check, check_refused, ctop, ctop_ok, main, record_cpu_time

GROUPS = ("inline", "function", "line", "address", "module", "thread", "process")
Frame = collections.namedtuple("Frame", "function module address place inlined")
Sample = collections.namedtuple("Sample", "pid tid weight frames")  # the innermost first
Cost = collections.namedtuple("Cost", "self total samples")


def check_same(what, found, wanted):
    other = {row: (found.get(row), wanted.get(row)) for row in {*found, *wanted} if found.get(row) != wanted.get(row)}
    check(not other, f"{what}: {other}")


@functools.lru_cache(None)
def recorded():
    """Two programs with inlined functions, templates, threads, the kernel and libraries; and the directory that goes with it."""
    where = tempfile.TemporaryDirectory()
    path = os.path.join(where.name, "grouping.ctop")
    work = os.path.join(BUILD, "workloads")
    record_cpu_time(path, "cpu-clock", [f"{work}/templates 600", f"{work}/threads 600"], 0.3)
    return where, path


@functools.lru_cache(None)
def samples():
    found = []
    for text in ctop_ok("export", "frames", recorded()[1]).stdout.strip().split("\n\n"):
        head, *lines = text.split("\n")
        ids = re.match(r".*? (\d+)/(\d+) +\[\d+\] +[\d.]+: +(\d+) ", head)
        check(ids, f"{head!r}")
        frames, module, address = [], None, None
        # What was inlined stands above the frame of the same address.
        for line in reversed(lines):
            part = re.match(r"\s+[0-9a-f]+ (\w+) +(.*?)(?:\+0x[0-9a-f]+)? \(([^()]*?)(?:\+0x([0-9a-f]+))?\)(?: (\S+:\d+))?$", line)
            check(part, f"{line!r}")
            inlined = part.group(1) == "inlined"
            if not inlined:
                module, address = part.group(3).replace("[kernel.kallsyms]", "[kernel]"), int(part.group(4) or "0", 16)
            frames.insert(0, Frame(part.group(2), module, address, os.path.basename(part.group(5) or ""), inlined))
        found.append(Sample(int(ids.group(1)), int(ids.group(2)), int(ids.group(3)), frames))
    check(len(found) > 20, "too few samples")
    check(any(frame.inlined for sample in found for frame in sample.frames), "nothing was inlined")
    return found


def keys(group, sample):
    """What a sample's rows are, the one that it was taken in first."""
    frames = sample.frames
    if group in ("function", "address"):
        frames = [frame for frame in frames if not frame.inlined]
    name = {"inline": lambda frame: (frame.function + " (inlined)" * frame.inlined, frame.module),
            "function": lambda frame: (frame.function, frame.module),
            "line": lambda frame: (f"{frame.place} {frame.function}".strip() + " (inlined)" * frame.inlined, frame.module),
            "address": lambda frame: (f"{frame.address:#x} {frame.function}", frame.module),
            "module": lambda frame: ("", frame.module),
            "thread": lambda frame: (sample.pid, sample.tid),
            "process": lambda frame: (sample.pid,)}[group]
    return [name(frame) for frame in frames]


def costs(group):
    selfs, totals, counts = (collections.Counter() for _ in range(3))
    for sample in samples():
        rows = keys(group, sample)
        selfs[rows[0]] += sample.weight
        counts[rows[0]] += 1
        for row in set(rows):
            totals[row] += sample.weight
    return {row: Cost(selfs[row], totals[row], counts[row]) for row in totals}


def report(group):
    """The rows of a report: shares as they are printed, and the number of samples."""
    text = ctop_ok("report", "--stdio", "--group", group, "--names=full", "--limit=0", "--min-percent=0", recorded()[1]).stdout
    found = {}
    for line in text[text.index(" SELF%"):].splitlines()[1:]:
        own, total, number, rest = re.match(r" *([\d.]+) +([\d.]+) +([\d,]+)  (.*)$", line).groups()
        rest = rest.replace("[k] ", "")
        if group == "module":
            row = "", rest
        elif group in ("thread", "process"):
            # Behind what they did with their time; those without samples are listed, too.
            rest = re.match(r" *[\d.]+ +[\d.]+ +[\d.]+  .{10}  (.*)$", rest).group(1)
            row = tuple(map(int, re.match(r" *(\d+) +(\d+)? ", rest + " ").groups()[:2 if group == "thread" else 1]))
            if number == "0" and float(total) == 0:
                continue
        else:
            row = tuple(re.match(r"(.*?) +(\S+)$", rest).groups())
        check(row not in found, f"{row} twice")
        found[row] = own, total, int(number.replace(",", ""))
    return found


@case
def a_report_has_the_sums():
    whole = sum(sample.weight for sample in samples())
    for group in GROUPS:
        wanted = collections.defaultdict(lambda: Cost(0, 0, 0))
        for row, cost in costs(group).items():
            if group not in ("module", "thread", "process"):
                row = row[0], os.path.basename(row[1])
            wanted[row] = cost
        shown = report(group)
        check_same(f"--group {group}", shown, {row: (f"{100 * cost.self / whole:.2f}", f"{100 * cost.total / whole:.2f}", cost.samples)
                                               for row, cost in wanted.items()})
        check(sum(number for _, _, number in shown.values()) == len(samples()), f"--group {group} lost samples")
    check(len(report("thread")) > len(report("process")) > 1, "one thread or process")
    check(min(len(report("address")), len(report("line"))) > len(report("function")) > len(report("module")), "groups are alike")


@case
def csv_has_the_sums():
    for group in GROUPS[:5]:
        text = ctop_ok("export", "csv", "--group", group, recorded()[1]).stdout
        found = collections.defaultdict(lambda: Cost(0, 0, 0))
        for row in csv.DictReader(io.StringIO(text), strict=True):
            key = row["function"], row["module"]
            found[key] = Cost(*(a + int(b) for a, b in zip(found[key], (row["self"], row["total"], row["self_samples"]))))
        check_same(f"--group {group}", found, costs(group))


@case
def folded_has_the_sums():
    for group in GROUPS:
        ends, wanted = collections.Counter(), collections.Counter()
        for line in ctop_ok("export", "folded", "--group", group, recorded()[1]).stdout.splitlines():
            stack, _, number = line.rpartition(" ")
            frames = stack.split(";")
            check(group != "module" or all(a != b for a, b in zip(frames, frames[1:])), f"{line}: a module calls itself")
            if group in ("thread", "process"):
                ends[tuple(map(int, re.search(r"-(\d+)(?:/(\d+))?$", frames[0]).groups()[:2 if group == "thread" else 1]))] += int(number)
            else:
                ends[frames[-1]] += int(number)
        for row, cost in costs(group).items():
            if cost.self and group in ("thread", "process"):
                wanted[row] += cost.self
            elif cost.self: # folded has no modules, unless they are all that it has
                wanted[bare(row[0]) if group != "module" else row[1]] += cost.self
        if group not in ("thread", "process", "module"):
            ends = bare_sums(ends)
        check_same(f"--group {group}", ends, wanted)


def bare(name):
    """Without parameters and the mark, which folded spells in its own way."""
    return re.sub(r"[(<].*|_\[i\]$", "", name).strip()


def bare_sums(sums):
    bared = collections.Counter()
    for name, number in sums.items():
        bared[bare(name)] += number
    return bared


def ends_of_json(text):
    """{frame: the weight of samples that were taken in it}"""
    profile, ends = json.loads(text), collections.Counter()
    functions, frames, nodes = profile["functions"], profile["frames"], profile["nodes"]
    for thread in profile["threads"]:
        for stack in thread["stacks"]:
            function = functions[frames[nodes[stack["node"]]["frame"]]["function"]]
            ends[function["name"] + (" (inlined)" if function["inlined"] and "(inlined)" not in function["name"] else "")] += stack["weight"]
    return ends


def ends_of_speedscope(text):
    profile, ends = json.loads(text), collections.Counter()
    for thread in profile["profiles"]:
        for stack, weight in zip(thread["samples"], thread["weights"]):
            ends[profile["shared"]["frames"][stack[-1]]["name"]] += weight
    return ends


def ends_of_callgrind(text):
    names, ends, name, calls = {}, collections.Counter(), None, False
    for line in text.splitlines():
        found = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
        if found:
            name = names.setdefault(found.group(2), found.group(3)) if found.group(1) == "fn" else name
            if found.group(1) == "cfn":
                names.setdefault(found.group(2), found.group(3))
        elif line.startswith("calls="):
            calls = True
        elif re.match(r"(0x[0-9a-f]+|\+\d+|-\d+|\*|\d+) ", line):
            if not calls and name:
                ends[name] += int(line.split()[-1])
            calls = False
    return ends


@case
def every_format_has_the_sums():
    """What a sample was taken in, by the names that frames have in it."""
    for group in GROUPS[:5]:
        wanted = collections.Counter()
        for row, cost in costs(group).items():
            wanted[row[0] if group != "module" else row[1]] += cost.self
        wanted = +wanted
        for name, ends in ("json", ends_of_json), ("speedscope", ends_of_speedscope), ("callgrind", ends_of_callgrind):
            check_same(f"{name} --group {group}", +ends(ctop_ok("export", name, "--group", group, recorded()[1]).stdout), wanted)


@case
def modules_that_call_themselves_are_one_frame():
    profile = json.loads(ctop_ok("export", "speedscope", "--group", "module", recorded()[1]).stdout)
    stacks = [stack for thread in profile["profiles"] for stack in thread["samples"]]
    check(stacks and all(a != b for stack in stacks for a, b in zip(stack, stack[1:])), "speedscope")
    picture = ctop_ok("export", "svg", "--group", "module", recorded()[1]).stdout
    boxes = re.findall(r'<title>(.*?): .*?y="(\d+)"', picture)
    check(boxes and len(set(boxes)) > 3, f"{boxes}")
    check(len({y for _, y in boxes}) <= 1 + max(map(len, stacks)), f"more levels than modules: {boxes}")
    # They are at no place.
    frames = json.loads(ctop_ok("export", "json", "--group", "module", recorded()[1]).stdout)["frames"]
    check(len(frames) > 2 and all(set(frame) == {"function", "module", "address"} and frame["address"] == "0x0" for frame in frames), f"{frames}")
    check(not re.search(r"\+0x|\.c(pp)?:\d", ctop_ok("export", "script", "--group", "module", recorded()[1]).stdout), "script has places")


@case
def a_flame_graph_by_process():
    pids = {sample.pid for sample in samples()}
    boxes = re.findall(r"<title>(?:[^<]*) \[(\d+)\]: ", ctop_ok("export", "svg", "--group", "process", recorded()[1]).stdout)
    check(set(map(int, boxes)) == pids and len(boxes) == len(pids), f"{boxes} {pids}")
    check("[%d]" % next(iter(pids)) not in ctop_ok("export", "svg", recorded()[1]).stdout, "svg without --group")


@case
def what_makes_no_sense_is_refused():
    path = recorded()[1]
    check_refused(ctop("report", "--group", "functions", path), 2, "invalid group 'functions'", "use function, inline, line, address, module, thread or process")
    check_refused(ctop("report", "--tree", "--group", "line", path), 2, "--group and --tree are mutually exclusive", "leave out --tree")
    check_refused(ctop("report", "--modules", "--group", "line", path), 2, "--group and --modules are mutually exclusive", "leave out --modules")
    for name in "pprof", "csv":
        check_refused(ctop("export", name, "--group", "thread", path), 2, f"export {name} tells threads and processes apart as it is", "leave out --group")
    check_refused(ctop("export", "svg", "--group", "thread", path), 2, "export svg does not tell threads apart", "choose one: --tid TID, or --group process")
    check(report("inline") == report("inline"), "differs from one look to the next")


main()
