#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export svg`, read as XML and opened in a browser."""

import collections
import os
import re
import xml.etree.ElementTree as ElementTree

import exporting
from exporting import export, module_of, page, profiles, report, total
from harness import case, check, main

SVG = "{http://www.w3.org/2000/svg}"
Box = collections.namedtuple("Box", "name module weight left right y")


def boxes_of(path):
    """Those of functions, the outermost first."""
    found = []
    for group in ElementTree.parse(path).getroot().iter(SVG + "g"):
        title, rect = group.find(SVG + "title").text, group.find(SVG + "rect").attrib
        name, amount = re.match(r"(.*): ([\d.]+) \w+, [\d.]+%, \d+ samples?$", title, re.DOTALL).groups()
        whole, module = re.match(r"(.*?)(?: \((.*)\))?$", name, re.DOTALL).groups() if name.endswith(")") else (name, None)
        if name.endswith(")"):  # a name may have brackets as well: the module is behind the last " ("
            whole, _, module = name[:-1].rpartition(" (")
        weight = round(float(amount) * 1e6) if " ms, " in title else int(amount)
        left = float(rect["x"])
        found.append(Box(whole, module, weight, left, left + float(rect["width"]), float(rect["y"])))
    return found


def totals_of(boxes):
    """By function, recursion once: a box counts that has none of its function below."""
    totals, levels = collections.Counter(), collections.defaultdict(list)
    for box in boxes:
        levels[box.y].append(box)
    above = {}  # box: functions below it
    for y in sorted(levels, reverse=True):
        for box in levels[y]:
            middle = (box.left + box.right) / 2
            below = next((parent for parent in levels.get(y + 18, []) if parent.left <= middle <= parent.right), None)
            functions = above.get(below, frozenset())
            function = box.name, box.module
            if box.module is not None and function not in functions:
                totals[box.name, module_of(box.module)] += box.weight
            above[box] = functions | {function}
    return totals


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        if profile.name == "hostile":
            continue
        for event in profile.events:
            boxes = boxes_of(export("svg", profile, "--event", event))
            whole = total(profile.path, event)
            check(boxes[0].name == "[all]" and boxes[0].weight == whole, f"{profile.name}: {boxes[0]}, not {whole}")
            found = totals_of(boxes)
            for function, row in report(profile.path, event).items():
                # What is narrower than a tenth of a pixel is left out; stacks without a frame are no function.
                share = 100 * found[function] / whole
                check(share < row.total_percent + 0.0051, f"{profile.name}: {function} has {share}, not {row}")
                check(row.total_percent < 2 or function[0] == "[unknown]" or share > row.total_percent * 0.97 - 0.0051,
                      f"{profile.name}: {function} has {share}, not {row}")


@case
def boxes_are_as_wide_as_their_share():
    boxes = boxes_of(export("svg", exporting.made()))
    for box in boxes:
        share = box.weight / boxes[0].weight
        check(abs((box.right - box.left) / 1200 - share) < 0.0001, f"{box}")
        check(10 <= box.left and box.right <= 1210.01, f"{box}")


@case
def hostile_names_are_spelled_out():
    path = export("svg", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    check(b"<script" not in content and b"<img" not in content and b"href" not in content, "a tag")
    root = ElementTree.parse(path).getroot()
    check({element.tag.removeprefix(SVG) for element in root.iter()} == {"svg", "style", "g", "title", "rect", "text"}, "tags")
    names = {box.name for box in boxes_of(path)}
    check({"x" * 4096, "]]></svg>&amp;", "</script><script>document.title='taken'</script>"} <= names, f"{names}")
    check("taken</title>" not in page("file://" + os.path.abspath(path)), "a script ran")


main()
