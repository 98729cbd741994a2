#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export json`, by its schema (docs/export.schema.json)."""

import json
import os

import exporting
from exporting import Costs, check_costs, check_schema, export, module_of, nr_samples, profiles
from harness import ROOT, case, check, main


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def stack_of(document, node):
    """Leaf first, as (function, module)."""
    stack = []
    while node:
        row = document["nodes"][node]
        frame = document["frames"][row["frame"]]
        function = document["functions"][frame["function"]]
        name = function["name"] + " (inlined)" * function["inlined"]
        stack.append((name, module_of(document["modules"][function["module"]]["path"])))
        check(row["caller"] < node, "a caller behind its callee")
        node = row["caller"]
    return stack or [("[unknown]", "")]


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        document = read(export("json", profile))
        numbers = {event["name"]: number for number, event in enumerate(document["events"])}
        for event in profile.events:
            costs, samples = Costs(), 0
            for thread in document["threads"]:
                for stack in thread["stacks"]:
                    if thread["event"] == numbers[event]:
                        costs.add(stack_of(document, stack["node"]), stack["weight"])
                        samples += stack["samples"]
            check_costs("json", costs, profile, event)
            row = document["events"][numbers[event]]
            check((row["weight"], row["samples"]) == (costs.weight, samples), f"{row}")
            check(samples == nr_samples(profile.path, event), f"{profile.name}: {samples} samples of {event}")


@case
def as_the_schema_has_it():
    for profile in profiles():
        check_schema(os.path.join(ROOT, "docs", "export.schema.json"), export("json", profile))


@case
def what_is_known_is_there():
    document = read(export("json", exporting.made()))
    check(document["facts"]["hostname"] == "elsewhere", f"{document['facts']}")
    modules = {module["path"]: (module["kind"], module["build_id"]) for module in document["modules"]}
    check(modules == {"/usr/bin/program": ("file", bytes(range(20)).hex()), "/usr/lib/libthing.so.1": ("file", "ab" * 20),
                      "[anon]": ("generated", ""), "[kernel]": ("kernel", "")}, f"{modules}")
    addresses = {frame["address"] for frame in document["frames"]}
    check({"0x1010", "0x7f0000001234", "0xffffffff81234560"} <= addresses, f"{addresses}")
    check({function["name"] for function in document["functions"] if not function["named"]} == {"[libthing.so.1]"}, "named")
    ends = {(thread["thread"], stack["end"]) for thread in document["threads"] for stack in thread["stacks"]}
    check(("worker", "truncated") in ends and ("swapper/0", "kernel_only") in ends, f"{ends}")


@case
def hostile_names_are_spelled_out():
    path = export("json", exporting.hostile())
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    document = json.loads(content)
    names = {function["name"] for function in document["functions"]}
    check({"quote\"back\\slash'", "{}[],:null", "\\xe2\\x80\\xa8line\\xe2\\x80\\xa9paragraph",
           "x" * 4096} <= names, f"{names}")


main()
