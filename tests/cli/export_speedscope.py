#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export speedscope`, by speedscope's own schema and in its own page."""

import base64
import collections
import glob
import html
import json
import os
import re

import exporting
from exporting import Costs, check_costs, check_schema, export, module_of, npm_package, page, profiles
from harness import case, check, directory, main
from inlined_program import built, hottest_lines, plain, recorded

NS = {"ns": 1, "\u00b5s": 1000, "ms": 1e6, "s": 1e9, "": 1}


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def costs_of(document, event):
    costs = Costs()
    frames = [(frame["name"], module_of(frame.get("module", frame["file"]))) for frame in document["shared"]["frames"]]
    for profile in document["profiles"]:
        if profile["name"].endswith(", " + event):
            check(len(profile["samples"]) == len(profile["weights"]) and profile["endValue"] == sum(profile["weights"]),
                  f"{profile['name']} does not add up")
            for stack, weight in zip(profile["samples"], profile["weights"]):
                costs.add([frames[frame] for frame in reversed(stack)], weight)
    return costs


@case
def each_event_as_the_report_has_it():
    schemas = npm_package("speedscope") + "/dist/release/file-format-schema.json"
    for profile in profiles():
        path = export("speedscope", profile)
        check_schema(schemas, path)
        for event in profile.events:
            check_costs("speedscope", costs_of(read(path), event), profile, event)


@case
def each_thread_in_the_order_of_time():
    document = read(export("speedscope", exporting.made()))
    names = [profile["name"] for profile in document["profiles"]]
    check(names == ["worker [101] of program [100], cpu-clock", "program [100], cpu-clock", "node [200], cpu-clock",
                    "node [200], page-faults", "program [100], page-faults", "swapper/0 [0], sched:sched_switch"], f"{names}")
    weights = document["profiles"][0]["weights"]
    check(weights[:5] == [1000000, 1000000, 1000001, 1000002, 1000003], f"{weights[:5]}")
    check([profile["unit"] for profile in document["profiles"]] == ["nanoseconds"] * 3 + ["none"] * 3, "units")


@case
def computing_and_waiting_together_are_wall():
    document = read(export("speedscope", exporting.waiting()))
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    walls = {one["name"]: one for one in document["profiles"] if one["name"].endswith(", wall")}
    check({name: (one["endValue"], one["unit"]) for name, one in walls.items()} ==
          {"server [100], wall": (350000000, "nanoseconds"), "second [101] of server [100], wall": (390000000, "nanoseconds"),
           "idle [102] of server [100], wall": (400000000, "nanoseconds")}, f"{list(walls)}")
    second = walls["second [101] of server [100], wall"]
    check([frames[stack[-1]] for stack in second["samples"]] == ["[io]"] + ["work"] * 100, "not in the order of time")
    check(not any(one["name"].endswith(", wall") for one in read(export("speedscope", exporting.made()))["profiles"]),
          "where nobody looked for waits")


def shown(path):
    """The lines of text that speedscope's page shows of a file, its functions among them."""
    where = exporting.where()
    with open(path, "rb") as file:
        content = base64.b64encode(file.read()).decode()
    with open(os.path.join(where, "load.js"), "w", encoding="utf-8") as file:
        file.write(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, {json.dumps(content)})")
    index = os.path.join(npm_package("speedscope"), "dist", "release", "index.html")
    document = page(f"file://{index}#localProfilePath={where}/load.js&view=sandwich")
    title = re.search("<title>(.*?)</title>", document)
    return title.group(1), [html.unescape(line) for line in re.sub("<[^>]*>", "\n", document).split("\n") if line.strip()]


def value_of(text):
    """As the page prints values: 267.02ms, 469, 1,234."""
    number, unit = re.match(r"([\d.,]+)(\D*)$", text).groups()
    return float(number.replace(",", "")) * NS[unit]


@case
def its_page_shows_the_same():
    check(glob.glob(os.path.join(npm_package("speedscope"), "dist", "release", "speedscope-*.js")), "no speedscope")
    for profile in exporting.made(), exporting.threads():
        path = export("speedscope", profile)
        document = read(path)
        title, lines = shown(path)
        check("speedscope" in title, title)
        for one in document["profiles"]:
            places = [i for i, line in enumerate(lines) if line == one["name"]]
            weights = [value_of(lines[i + 1]) for i in places if re.match(r"[\d.,]+(ns|\u00b5s|ms|s|)$", lines[i + 1])]
            check(any(abs(weight - one["endValue"]) <= max(1, one["endValue"] * 0.006) for weight in weights),
                  f"{one['name']}: {weights}, not {one['endValue']}")
        # The functions of the first profile, with their totals.
        frames = document["shared"]["frames"]
        totals, first = collections.Counter(), document["profiles"][0]
        for stack, weight in zip(first["samples"], first["weights"]):
            for frame in set(stack):
                totals[frames[frame]["name"]] += weight
        table = lines[lines.index("Symbol Name") + 1:]
        rows = [table[i:i + 3] for i in range(0, min(len(table), 30), 3)]
        found = 0
        for row in rows:
            if len(row) < 3 or not re.match(r"[\d.]+\S* \(", row[0]):
                break
            value = value_of(row[0].split(" ")[0])
            check(abs(value - totals[row[2]]) <= totals[row[2]] * 0.006 + 1 or row[2] == "work(int)", f"{row}: {totals[row[2]]}")
            found += 1
        check(found > 3, f"{lines}")


@case
def functions_have_their_hottest_lines():
    with directory() as where:
        program = built(where, "program")
        path = recorded(where, program)
        document = read(export("speedscope", exporting.Profile("lines", path, ["cpu-clock:u"])))
        found = {plain(frame["name"].removesuffix(" (inlined)")): (frame["file"], frame["line"]) for frame in document["shared"]["frames"]
                 if frame.get("module") == program}
        wanted = {function: (os.path.join(where, "work.cpp"), line) for function, line in hottest_lines(path, program).items()}
        check(len(wanted) >= 4, f"{wanted}")
        check(wanted.items() <= found.items(), f"{found}, not {wanted}")


@case
def hostile_names_are_spelled_out():
    path = export("speedscope", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    names = {frame["name"] for frame in json.loads(content)["shared"]["frames"]}
    check("\\x1b]52;c;ZXZpbA==\\x07\\x1b[2J" in names and "x" * 4096 in names and "\\xff\\xfe invalid \\xc3(" in names, f"{names}")
    title, lines = shown(path)
    check("taken" not in title.split(" - ")[0].replace("document.title='taken'", ""), title)
    check(any("alert(1)" in line for line in lines), f"{lines}")


main()
