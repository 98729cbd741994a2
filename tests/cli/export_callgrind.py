#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ctop export callgrind`, read by callgrind_annotate."""

import collections
import os
import re

import exporting
from exporting import Costs, check_costs, export, module_of, profiles, total
from harness import case, check, directory, main, need_program, run
from inlined_program import built, by_llvm, leaves, recorded


def number(cost):
    return 0 if cost == "." else int(cost.replace(",", ""))


def annotate(path, event, *options):
    # It cuts the directory that it runs in off files, but not off those of functions that are called.
    result = run(need_program("callgrind_annotate"), f"--show={event}", f"--sort={event}", "--show-percs=no", "--threshold=100", *options,
                 path, cwd=os.path.dirname(path))
    check(result.returncode == 0 and "WARNING" not in result.stderr, f"{result.stderr[:2000]}")
    return result.stdout


def annotated(path, event, inclusive):
    """{(file and function, module): cost} of all functions, and the total. What a function has in other files has no module."""
    text = annotate(path, event, f"--inclusive={inclusive}", "--auto=no")
    found = collections.Counter()
    for cost, name, module in re.findall(r"^ *([\d,]+|\.) {2}(.*:.*?)(?: \[(\[.*?\]|[^\[\]]*)\])?$", text, re.MULTILINE):
        found[name, module] += number(cost)
    return found, number(re.search(r"^ *([\d,]+) +PROGRAM TOTALS$", text, re.MULTILINE).group(1))


def costs_of(path, event):
    costs = Costs()
    for inclusive, kept in ("no", costs.selfs), ("yes", costs.totals):
        found, costs.weight = annotated(path, event, inclusive)
        modules = {name.partition(":")[2]: module for name, module in found if module}
        for (name, module), cost in found.items():
            if inclusive == "yes" and not module:
                continue  # the total of a call has it
            function = name.partition(":")[2]
            module = module_of(module or modules[function])
            if module != "[threads]":
                kept[function, module] += cost
            elif inclusive == "no" and cost:  # stacks without a frame
                costs.selfs["[unknown]", ""] += cost
                costs.totals["[unknown]", ""] += cost
    return costs


@case
def each_event_as_the_report_has_it():
    for profile in profiles():
        if profile.name == "hostile":  # whose names no line can be split by
            continue
        path = export("callgrind", profile)
        for event in profile.events:
            costs = costs_of(path, event)
            # Functions without the event are listed, too.
            for function in [function for function, cost in costs.totals.items() if not cost and not costs.selfs[function]]:
                del costs.totals[function]
            check_costs("callgrind", costs, profile, event)


@case
def recursion_counts_once():
    made = exporting.MadeRecording()
    clock = made.event("cpu-clock", exporting.NANOSECONDS)
    program = made.module("/bin/program")
    main_, a, b, leaf = (made.frame(program, 0x1000 * i, name, 0) for i, name in enumerate(("main", "a", "b", "leaf"), 1))
    task = made.task(1, 1, "program")
    for i, stack in enumerate(([main_, a, b, a, b, a, leaf], [main_, a, a, a], [main_, b, a, leaf], [main_, leaf])):
        made.sample(1000 * i, task, stack, clock, weight=10 + i)
    profile = exporting.Profile("recursion", made.write(os.path.join(exporting.where(), "r.ctop")), ["cpu-clock"])
    path = export("callgrind", profile)
    check_costs("callgrind", costs_of(path, "cpu-clock"), profile, "cpu-clock")
    with open(path, encoding="utf-8") as file:
        check(re.search(r"cfn=\(\d+\)( a)?\ncalls=\d+ 0 0\n0x3000 0 12$", file.read(), re.MULTILINE), "no call of a by b")


@case
def hostile_names_are_spelled_out():
    profile = exporting.hostile()
    path = export("callgrind", profile)
    with open(path, "rb") as file:
        content = file.read()
    check(b"\x1b" not in content and b"\xff" not in content and "\u202e".encode() not in content, "as it was")
    known = rb"^(fn|ob|fl|fi|fe|cfn|cob|cfi)=|^calls=\d+ 0 0$|^0x[0-9a-f]+ 0( \d+)+$|^$|^(#|version|creator|cmd|desc|positions|events|summary)"
    strange = [line for line in content.split(b"\n") if not re.search(known, line)]
    check(not strange, f"{strange[:3]}")
    found, whole = annotated(path, "cpu-clock", "no")
    check(whole == total(profile.path, "cpu-clock") == sum(found.values()), f"{whole}: {found}")
    check(any(name.endswith("x" * 4096) for name, _ in found), "the long name")


def lines_of(text, source):
    """{line: cost} of a source file, as annotated: each line of it, with what it costs in front; the calls from there left out."""
    text = text.partition(f"-- Auto-annotated source: {source}\n")[2].split("\n\n", 1)[1].partition("\n\n---")[0]
    with open(source, encoding="utf-8") as file:
        wanted = file.read().splitlines()
    found, line = collections.Counter(), 1
    for row in text.splitlines():
        gap = re.match(r"-- line (\d+) -+$", row)
        if gap:
            line = int(gap.group(1))
            continue
        cost, rest = re.match(r" *([\d,]+|\.)  ?(.*)$", row).groups()
        if rest.startswith("=> "):
            continue
        check(rest.strip() == wanted[line - 1].strip(), f"{row!r} is not line {line}: {wanted[line - 1]!r}")
        found[line] += number(cost)
        line += 1
    return +found


@case
def source_lines_cost_what_was_sampled_there():
    with directory() as where:
        program = built(where, "program")
        profile = exporting.Profile("lines", recorded(where, program), ["cpu-clock:u"])
        path = export("callgrind", profile)
        text = annotate(path, "cpu-clock:u", "--auto=yes", "--context=100")
        sampled = leaves(profile.path, program)
        chains = by_llvm(program, sampled)
        wanted = collections.Counter()
        for address, weight in sampled.items():
            wanted[chains[address][0][1]] += weight
        wanted.pop(0, None)  # the PLT has no lines
        found = lines_of(text, os.path.join(where, "work.cpp"))
        check(len(found) > 1 and found == wanted, f"{found}, not {wanted}: {text}")
        # The call of an inlined function is at the line where that was put in.
        rows = text.splitlines()
        at = next(i for i, row in enumerate(rows) if row.endswith(" \tall(sum, nr);"))
        check(re.match(r" *[\d,]+  => .*work.cpp:all \(inlined\)", rows[at + 1]), f"{rows[at:at + 2]}")


main()
