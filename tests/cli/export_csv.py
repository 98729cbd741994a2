#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export csv`, read by python's csv."""

import csv
import re

import exporting
from exporting import Costs, check_costs, export, module_of, nr_samples, profiles, total
from harness import case, check, main


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        rows = read(export("csv", profile))
        for event in profile.events:
            costs, samples = Costs(), 0
            for row in rows:
                if row["event"] == event:
                    # What a formula would begin with is spelled out here alone.
                    name = re.sub(r"^\\x(3d|2b|2d|40)", lambda found: chr(int(found.group(1), 16)), row["function"])
                    function = name, module_of(row["module"])
                    costs.weight += int(row["self"])
                    samples += int(row["self_samples"])
                    costs.selfs[function] += int(row["self"])
                    costs.totals[function] += int(row["total"])
            check_costs("csv", costs, profile, event)
            check(samples == nr_samples(profile.path, event), f"{profile.name}: {samples} samples of {event}")


@case
def shares_are_of_the_event_and_rows_of_threads():
    rows = read(export("csv", exporting.made()))
    whole = total(exporting.made().path, "cpu-clock")
    own = [row for row in rows if row["event"] == "cpu-clock" and row["tid"] == "101"]
    check({(row["pid"], row["process"], row["thread"], row["unit"]) for row in own} ==
          {("100", "program", "worker", "nanoseconds")}, f"{own}")
    for row in own:
        check(abs(float(row["self_percent"]) - 100 * int(row["self"]) / whole) < 0.0001, f"{row}")
        check(abs(float(row["total_percent"]) - 100 * int(row["total"]) / whole) < 0.0001, f"{row}")
    check({row["event"] for row in read(export("csv", exporting.made(), "--event", "page-faults"))} == {"page-faults"}, "--event")


@case
def hostile_names_are_spelled_out():
    path = export("csv", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    rows = read(path)
    fields = {field for row in rows for field in row.values()}
    check(not any(field[:1] in "=+-@" for field in fields if field), "a formula")
    check({"\\x3d1+cmd|' /C calc'!A0", 'a,b"c",', "line\\x0abreak\\x0d\\x0a\\x09and tab", "x" * 4096} <= fields, f"{fields}")
    check(len(rows) == content.count(b"\n") - 1, "a name ends a row")
    check(all(len(row) == 14 and None not in row for row in rows), "a name ends a field")


main()
