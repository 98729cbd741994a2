#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several events in one report: each column beside the report of that event alone."""

import functools
import os
import re
import tempfile

from harness import BUILD, CTOP, case, check, ctop_ok, main, shown_in_terminal

EVENTS = ("cpu-clock", "page-faults", "context-switches")
GROUPS = ("inline", "function", "line", "address", "module", "thread", "process")


@functools.lru_cache(None)
def recorded():
    """Computing, page faults and waiting in several processes; and the directory that goes with it."""
    where = tempfile.TemporaryDirectory()
    path = os.path.join(where.name, "columns.ctop")
    work = os.path.join(BUILD, "workloads")
    ctop_ok("record", "-q", "-e", ",".join(EVENTS), "-o", path, "--", "sh", "-c",
            f"{work}/templates 0.3; {work}/faults 0.3; {work}/sleepwork 0.3")
    return where, path


def table(*options):
    """The columns' names, and {row: its cells}."""
    text = ctop_ok("report", "--stdio", "--limit=0", "--min-percent=0", "--names=full", *options, recorded()[1]).stdout
    heading, *lines = text[text.index(" SELF%"):].splitlines()
    names = re.match(r" SELF%  TOTAL%    SAMPLES((?:  +\S+%)*)", heading).group(1).split()
    rows = {}
    for line in lines:
        cells = re.match(r" *([\d.]+) +([\d.]+) +([\d,]+)" + r" +([\d.]+)" * len(names) + r"  (.*)$", line).groups()
        row = re.sub(r"  +", "  ", cells[-1].strip())
        check(row not in rows, f"{row} twice")
        rows[row] = cells[:-1]
    return names, rows


@case
def columns_are_the_events_reports():
    for group in GROUPS:
        names, rows = table("--group", group)
        check(names == ["page-faults%", "context-switches%"], f"{names}")
        alone = {event: table("--group", group, "--event", event) for event in EVENTS}
        check(all(not others for others, _ in alone.values()), f"a column beside --event: {alone}")
        check({row: cells[:3] for row, cells in rows.items()} == alone[EVENTS[0]][1], f"--group {group}: other rows than alone")
        for i, event in enumerate(EVENTS[1:]):
            single = {row: cells[0] for row, cells in alone[event][1].items()}
            wrong = {row: (cells[3 + i], single.get(row)) for row, cells in rows.items() if cells[3 + i] != single.get(row, "0.00")}
            check(not wrong, f"--group {group}: {event}: {wrong}")
            check(group not in ("module", "process") or any(float(cells[3 + i]) for cells in rows.values()), f"{event} is nowhere")


@case
def the_header_is_of_the_first_alone():
    report = ctop_ok("report", "--stdio", recorded()[1])
    alone = ctop_ok("report", "--stdio", "--event", EVENTS[0], recorded()[1]).stdout
    for line in "duration", "weight", "stacks", "unnamed":
        found = [re.findall(rf"^{line} .*$", text, re.M) for text in (report.stdout, alone)]
        check(found[0] == found[1], f"{found}")
    check("others     beside it: page-faults, context-switches (choose with --event)\n" in report.stdout, report.stdout)
    check(not report.stderr, report.stderr)


@case
def on_narrow_lines_what_has_no_room_is_left_out():
    for columns, wanted in (74, []), (80, ["page-faults%"]), (94, ["page-faults%", "context-switches%"]):
        text = shown_in_terminal(columns, 24, CTOP, "report", "--stdio", recorded()[1])[1].decode().replace("\r", "")
        heading = next(line for line in text.splitlines() if line.startswith(" SELF%"))
        check([name for name in heading.split() if name.endswith("%")][2:] == wanted, f"{columns}: {heading}")
        check(all(len(line.rstrip()) <= columns for line in text[text.index(" SELF%"):].splitlines() if not line.startswith("...")), text)


@case
def a_run_without_a_recording_has_them_too():
    text = ctop_ok("-q", "-e", "cpu-clock,page-faults", "--stdio", "--", os.path.join(BUILD, "workloads", "faults"), "0.3").stdout
    check(re.search(r"^ SELF%  TOTAL%    SAMPLES  page-faults%  FUNCTION", text, re.M), text)
    tree = ctop_ok("report", "--stdio", "--tree", recorded()[1])
    check("page-faults%" not in tree.stdout and "choose with --event" in tree.stderr, f"{tree}")


main()
