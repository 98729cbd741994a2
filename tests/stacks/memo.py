#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of which the outer part is taken from the thread's last one beside the same unwound from the leaf on: equal, always.

Without arguments programs of every day are recorded on the spot, with whole dumps and with short ones, so that stacks are joined,
too; with arguments, perf.data files are compared.
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from cut_dumps import cut_dumps  # noqa: E402
from everyday import (BUSY_GO, BUSY_RUST, building_go, building_rust, compiling, running_demo,  # noqa: E402
                      running_node, running_python, speeding_openssl, without_the_map)
from harness import FAULTY, Skip, case, check, falling, main, need_program, run  # noqa: E402

SECONDS = float(os.environ.get("STACKS_SECONDS", "4"))
HZ = 2999
UNWINDS_ALL = falling("collector:unwinds-all:nowhere")  # no fault, a way


def exported(data, env):
    result = run(FAULTY, "export", "frames", data, env=env)
    check(result.returncode == 0, result.stderr)
    return result.stdout


def lookups(data, where, env):
    """How often the rule of a frame was looked up, for each frame."""
    stats = os.path.join(where, "stats.json")
    result = run(FAULTY, "report", "--stats", stats, "--stdio", data, env=env)
    check(result.returncode == 0, result.stderr)
    with open(stats, encoding="utf-8") as file:
        stats = json.load(file)
    return (stats["rule_cache"]["hits"] + stats["rule_cache"]["misses"]) / max(stats["frames"], 1), stats


def compare(name, data, where):
    taken, unwound = exported(data, os.environ), exported(data, UNWINDS_ALL)
    for number, (one, other) in enumerate(zip(taken.splitlines(), unwound.splitlines()), 1):
        check(one == other, f"{name}: line {number}: {one!r}, unwound {other!r}")
    check(len(taken) == len(unwound), f"{name}: {len(taken)} bytes and {len(unwound)}")
    (few, stats), (many, _) = lookups(data, where, os.environ), lookups(data, where, UNWINDS_ALL)
    print(f"# {name}: {stats['samples']} samples, {stats['stacks']['complete']} complete, "
          f"{stats['stacks']['joined']} joined: equal; {few:.2f} look-ups a frame, unwound {many:.2f}")
    sys.stdout.flush()
    return few, many


def beside_unwinding(name, make_command, dump=16384, cut=4096):
    need_program("perf")
    with tempfile.TemporaryDirectory(prefix="ctop-stacks-") as where, without_the_map(where):
        data = os.path.join(where, "perf.data")
        result = run("perf", "record", "-q", "-e", "cpu-clock", "-F", HZ, "--call-graph", f"dwarf,{dump}",
                     "-o", data, "--", *make_command(where), cwd=where)
        if not os.path.exists(data) or os.path.getsize(data) < 1 << 16:
            raise Skip(f"perf recorded nothing: {result.stderr.strip()[-200:]}")
        few, many = compare(name, data, where)
        check(few < many, "nothing was taken")
        cut_dumps(data, cut)
        compare(f"{name}, {cut} bytes", data, where)


@case
def small_cxx():
    beside_unwinding("demo", running_demo(SECONDS), dump=8192, cut=1024)


@case
def gxx_compiling():
    beside_unwinding("g++", compiling("g++"))


@case
def clangxx_compiling():
    beside_unwinding("clang++", compiling("clang++"), dump=65528, cut=16384)


@case
def openssl_speed():
    beside_unwinding("openssl", speeding_openssl(), cut=512)


@case
def python():
    beside_unwinding("python3", running_python(SECONDS), cut=1024)


@case
def node():
    beside_unwinding("node", running_node(SECONDS))


@case
def go():
    beside_unwinding("go", building_go(BUSY_GO % int(SECONDS * 1000)), cut=512)


@case
def rust():
    beside_unwinding("rust", building_rust(BUSY_RUST % ((int(SECONDS * 1000),) * 2)))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for path in sys.argv[1:]:
            with tempfile.TemporaryDirectory(prefix="ctop-stacks-") as where:
                compare(os.path.basename(path), path, where)
    else:
        main()
