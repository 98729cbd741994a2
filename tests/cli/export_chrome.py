#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export chrome`, put together again from its slices."""

import collections
import json

import exporting
from exporting import Costs, check_costs, export, module_of, nr_samples, profiles
from harness import case, check, main

KEYS = {"M": {"ph", "pid", "tid", "name", "args"}, "B": {"ph", "pid", "tid", "ts", "name", "cat"},
        "E": {"ph", "pid", "tid", "ts", "args"}, "X": {"ph", "pid", "tid", "ts", "dur", "name", "cat", "args"},
        "i": {"ph", "pid", "tid", "ts", "name", "cat", "s", "args"}, "s": {"ph", "pid", "tid", "ts", "name", "cat", "id"},
        "f": {"ph", "pid", "tid", "ts", "name", "cat", "id", "bp"}}
STATES_FROM = 10**10  # rows of threads' states, and who ended their longest waits: cli/timeline.py

Slice = collections.namedtuple("Slice", "name begin end samples weight depth")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_of(document):
    """{(pid, tid): (name, [Slice], costs)}; each event is checked on the way."""
    names, open_slices, slices, costs, last = {}, collections.defaultdict(list), collections.defaultdict(list), {}, {}
    for event in document["traceEvents"]:
        check(set(event) == KEYS[event["ph"]], f"{event}")
        row = event["pid"], event["tid"]
        if event["tid"] >= STATES_FROM:
            check(event["ph"] in "MXisf", f"{event}")
            continue
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                names[row] = event["args"]["name"]
            continue
        check(row in names, f"{event} comes before its row's name")
        check(event["ts"] >= last.get(row, 0), f"{event} is before {last.get(row)}")
        last[row] = event["ts"]
        found = costs.setdefault(row, Costs())
        stack = open_slices[row]
        if event["ph"] == "B":
            stack.append([event["name"], module_of(event["cat"]), event["ts"], 0])
            continue
        check(stack, f"{event} ends nothing")
        name, module, begin, inner = stack.pop()
        weight = event["args"]["weight"]
        found.selfs[name, module] += weight - inner
        found.weight += weight - inner
        if not any(outer[:2] == [name, module] for outer in stack):
            found.totals[name, module] += weight
        if stack:
            stack[-1][3] += weight
        slices[row].append(Slice(name, begin, event["ts"], event["args"]["samples"], weight, len(stack)))
    check(not any(open_slices.values()), "not all slices end")
    return {row: (name, slices[row], costs[row]) for row, name in names.items()}


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        rows = rows_of(read(export("chrome", profile)))
        for event in profile.events:
            whole, samples = Costs(), 0
            for name, slices, costs in rows.values():
                if len(profile.events) == 1 and profile.name != "hostile" or name.endswith(", " + event):
                    whole.weight += costs.weight
                    whole.selfs.update(costs.selfs)
                    whole.totals.update(costs.totals)
                    samples += sum(one.samples for one in slices if not one.depth)
            check_costs("chrome", whole, profile, event)
            check(samples == nr_samples(profile.path, event), f"{profile.name}: {samples} of {event}")


@case
def neighbours_are_one_slice_and_gaps_part_them():
    made = exporting.MadeRecording()
    clock = made.event("cpu-clock", exporting.NANOSECONDS)
    program = made.module("/bin/program")
    main_, a, b = (made.frame(program, 0x1000 * i, name) for i, name in enumerate(("main", "a", "b"), 1))
    task = made.task(1, 1, "program")
    for ms, stack in ((10, [main_, a]), (11, [main_, a]), (12, [main_, b]), (20, [main_, b])):
        made.sample(ms * 1000000, task, stack, clock, weight=1000000)
    profile = exporting.Profile("slices", made.write(exporting.where() + "/s.ctop"), ["cpu-clock"])
    document = read(export("chrome", profile))
    check("not calls" in document["otherData"]["note"], f"{document['otherData']}")
    (_, slices, _), = rows_of(document).values()
    found = [(one.name, one.begin, one.end, one.samples) for one in slices]
    check(found == [("a", 9000.0, 11000.0, 2), ("b", 11000.0, 12000.0, 1), ("main", 9000.0, 12000.0, 3),
                    ("b", 19000.0, 20000.0, 1), ("main", 19000.0, 20000.0, 1)], f"{found}")


@case
def hostile_names_are_spelled_out():
    path = export("chrome", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    names = {event.get("name") for event in json.loads(content)["traceEvents"]}
    check({"x" * 4096, "</script><script>document.title='taken'</script>", "quote\"back\\slash'"} <= names, f"{names}")


@case
def more_names_than_are_kept():
    # 1,200 of 4,000 bytes, each twice: what is said of functions is made once as long as 4 MiB have room for all.
    made = exporting.MadeRecording()
    clock = made.event("cpu-clock", exporting.NANOSECONDS)
    program, task = made.module("/bin/program"), made.task(1, 1, "program")
    names = [f"f{i}_" + "x" * 4000 for i in range(1200)]
    frames = [made.frame(program, 0x1000 * i, name) for i, name in enumerate(names, 1)]
    for ms, frame in enumerate(frames * 2, 1):
        made.sample(ms * 1000000, task, [frame], clock, weight=1000000)
    profile = exporting.Profile("names", made.write(exporting.where() + "/n.ctop"), ["cpu-clock"])
    found = [event["name"] for event in read(export("chrome", profile))["traceEvents"] if event["ph"] == "B"]
    check(found == names * 2, f"{len(found)}: {[name[:9] for name in found[:3]]}")


main()
