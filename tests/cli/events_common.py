# SPDX-License-Identifier: MIT
"""What tests of events share: programs of a few lines of C, what is sampled of them, and the list of events."""

import os

from harness import check, ctop_ok, folded, need_program, run


def sampled(where, event, *command):
    path = os.path.join(where, "x.ctop")
    # All of them fit into the ring, however late it is read.
    ctop_ok("record", "-c", "1", "-e", event, "--call-graph", "dwarf,8192", "-o", path, "-q", "--", *command)
    return folded(path)


def compiled(where, source, *options):
    compiler = need_program("gcc")
    path = os.path.join(where, "calls.c")
    with open(path, "w", encoding="ascii") as file:
        file.write(source)
    program = os.path.join(where, "calls")
    check(run(compiler, "-O1", *options, "-o", program, path).returncode == 0, "gcc failed")
    return program


def listed(*arguments, **options):
    """{group: {name: the rest of its line}}"""
    groups, group = {}, None
    for line in ctop_ok("list", *arguments, **options).stdout.splitlines():
        if line.startswith("  "):
            name, _, rest = line.strip().partition(" ")
            groups[group][name] = rest.strip()
        elif line:
            group = line.partition(":")[0]
            groups[group] = {}
    return groups
