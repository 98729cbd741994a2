#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What functions are called, and those that nothing names: where they begin and end, by other tools' word."""

import os
import re

from harness import (case, check, CTOP, ctop_ok, folded, folder, main, need_program, need_root, run)

# Functions that work, or a loop of assembly 8 KiB behind a label.
WORK = r"""
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static void spin(volatile unsigned long *sum, unsigned long nr)
{
	while (nr--)
		*sum += nr;
}
#ifdef FAR
void label(unsigned long nr);
__asm__(".text\n.globl label\nlabel: jmp 1f\n.skip 8192\n1: dec %rdi\njnz 1b\nret\n");
#else
__attribute__((noinline)) void label(unsigned long nr)
{
	volatile unsigned long sum = 0;
	spin(&sum, nr);
	__asm__ volatile("");
}
#endif
__attribute__((noinline)) static void other(unsigned long nr)
{
	for (volatile unsigned long i = 0; i < nr; i++)
		;
}
static double now(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	while (now() < seconds) {
		label(2000000);
		other(1000000);
	}
	return 0;
}
"""


def built(where, name, *options):
    """The workload, as the compiler leaves it."""
    path, source = os.path.join(where, name), os.path.join(where, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(WORK)
    result = run(need_program("gcc"), "-O1", "-g", *options, "-o", path, source)
    check(result.returncode == 0, result.stderr)
    return path


def functions_of(path):
    """{name: (address, size)} by nm."""
    found = {}
    for line in run(need_program("nm"), "-S", "--defined-only", path).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            found[words[3]] = int(words[0], 16), int(words[1], 16)
    return found


def frames_of(path):
    """[(from, to)] of the unwind table, by readelf."""
    text = run(need_program("readelf"), "--debug-dump=frames", path).stdout
    return [(int(low, 16), int(high, 16)) for low, high in re.findall(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)]


def recorded(where, *command):
    path = os.path.join(where, "names.ctop")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", *command)
    return path


@case
def functions_without_a_name_are_functions():
    need_root()
    with folder() as where:
        program = built(where, "nameless", "-fno-omit-frame-pointer")
        known = functions_of(program)
        check(run(need_program("strip"), "-o", program + "-stripped", program).returncode == 0, "strip failed")
        begins = {low for low, _ in frames_of(program + "-stripped")}
        path = recorded(where, program + "-stripped", 1)
        stacks = folded(path)
        names = {frame for stack in stacks for frame in stack if frame.startswith("nameless")}
        for name in ("spin", "label", "other", "main"):
            check(known[name][0] in begins, f"{name} has no entry")
            check(f"nameless-stripped+{known[name][0]:#x}" in names, f"{name} at {known[name][0]:#x} is not in {names}")
        spin, label = (f"nameless-stripped+{known[name][0]:#x}" for name in ("spin", "label"))
        leaves = sum(count for stack, count in stacks.items() if stack[-1] == spin)
        check(leaves > 0, f"{stacks}")
        check(any(stack[-2:] == (label, spin) for stack in stacks), f"{stacks}")
        # One row a function, and none for the module, in every other view as well.
        report = ctop_ok("report", "--stdio", path).stdout
        check(sum(spin in line for line in report.splitlines()) == 1, report)
        check("[nameless-stripped]" not in report, report)
        check(spin in ctop_ok("report", "--stdio", "--tree", path).stdout, "not in the tree")
        for form in "script", "frames":
            text = ctop_ok("export", form, path).stdout
            check(re.search(rf"{re.escape(spin)}\+0x[0-9a-f]+ \(", text), f"not in {form}")
        check(folded(path, "--module", "nameless-stripped")[next(s for s in stacks if s[-1] == spin)] > 0,
              "not by its module")


@case
def code_far_behind_a_label_is_not_its_function():
    need_root()
    with folder() as where:
        program = built(where, "far", "-DFAR")
        address, _ = functions_of(program).get("label", (None, None))
        if address is None:  # nm leaves out sizes that nobody gave
            line = next(line for line in run("nm", program).stdout.splitlines() if line.endswith(" label"))
            address = int(line.split()[0], 16)
        stacks = folded(recorded(where, program, 1))
        leaves = {stack[-1] for stack in stacks}
        check("label" not in leaves, f"{stacks}")
        check(f"far+{address + 4096:#x}" in leaves, f"{address:#x}: {stacks}")


if __name__ == "__main__":
    main()
