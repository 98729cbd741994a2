# SPDX-License-Identifier: MIT
"""Annotate on a function of 50,000 instructions: from the key to the code on the screen, and the report of all of it."""

import os
import resource
import statistics
import subprocess
import tempfile
import time

import live

CALLS = 2800  # each is three functions, one inlined into the other
INLINES = "static inline __attribute__((always_inline)) unsigned long"
FUNCTIONS = f"""#include <time.h>
{INLINES} turn(unsigned long a, unsigned long b) {{ return a << (b & 31) | a >> (7 + (b & 15)); }}
{INLINES} mix(unsigned long a, unsigned long b) {{ return turn(a * 31, b) ^ (b + (a >> 7)); }}
{INLINES} step(unsigned long a, unsigned long b) {{ return mix(a + b, a ^ b); }}
"""


def build_program(where):
    source, program = os.path.join(where, "long.c"), os.path.join(where, "long")
    body = "".join(f"\tx = step(x, {7919 * i + 1}ul);\n" for i in range(CALLS))
    with open(source, "w", encoding="utf-8") as file:
        file.write(f"{FUNCTIONS}__attribute__((noinline)) unsigned long work(unsigned long x)\n{{\n{body}\treturn x;\n}}\n"
                   "int main(void)\n{\n\tvolatile unsigned long x = 1;\n\twhile (clock() < 2 * CLOCKS_PER_SEC)\n\t\tx = work(x);\n}\n")
    subprocess.run(["gcc", "-g", "-O2", "-o", program, source], check=True)
    return program


def recorded(ctop, where, program):
    path = os.path.join(where, "x.ctop")
    subprocess.run([ctop, "record", "-q", "-e", "cpu-clock:u", "-o", path, "--", program], check=True)
    return path


def opened(ctop, path):
    """Seconds from the key to the first instruction."""
    with live.screen(ctop, path) as shown:
        shown.wait_for(b"turn")
        shown.drain(1)
        return shown.wait_for_after(b"a", b"rdi")


def reported(ctop, path, *options):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    lines = subprocess.run([ctop, "report", *options, path], stdout=subprocess.PIPE, check=True).stdout.count(b"\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return lines, time.monotonic() - start, (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def run(ctop, rounds):
    with tempfile.TemporaryDirectory(prefix="ctop-bench-") as where:
        path = recorded(ctop, where, build_program(where))
        lines, _, _ = reported(ctop, path, "--annotate", "work")
        opens = [opened(ctop, path) for _ in range(rounds)]
        reports = [reported(ctop, path, "--annotate", "work") for _ in range(rounds)]
        lists = [reported(ctop, path, "--stdio") for _ in range(rounds)]
    middle = lambda results, i: 1e3 * statistics.median(result[i] for result in results)
    opens.sort()
    print(f"annotate: a function of {3 * CALLS} inlined calls, {lines} lines of report: from 'a' to its code on the screen "
          f"{1e3 * statistics.median(opens):.0f} ms ({1e3 * opens[0]:.0f} to {1e3 * opens[-1]:.0f}); ctop report --annotate "
          f"{middle(reports, 1):.0f} ms, {middle(reports, 2):.0f} of CPU, without it {middle(lists, 1):.0f} and "
          f"{middle(lists, 2):.0f} (medians of {rounds})")
