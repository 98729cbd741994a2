#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What functions are called, and those that nothing names: where they begin and end, by other tools' word."""

import json
import lzma
import os
import re

from harness import (case, check, ctop_ok, folded, folder, main, need_program, need_root, NOBODY, run)

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


def objcopy(*arguments):
    result = run(need_program("objcopy"), *arguments)
    check(result.returncode == 0, result.stderr)


def leaves_of(where, *command, **options):
    """The innermost functions of a recording, and what it says of files that were not used."""
    path, stats = os.path.join(where, "leaves.ctop"), os.path.join(where, "leaves.json")
    ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--stats", stats, "--", *command, **options)
    with open(stats, encoding="utf-8") as file:
        return {stack[-1] for stack in folded(path)}, json.load(file)["unreadable"]


def linked(where, *options):
    """A stripped program that names its debug file, and that file."""
    program = built(where, "linked", *options)
    objcopy("--only-keep-debug", program, program + ".debug")
    objcopy("--strip-all", program)
    objcopy(f"--add-gnu-debuglink={program}.debug", program)
    return program, program + ".debug"


@case
def a_debug_file_is_used_if_its_sum_is_right():
    need_root()
    with folder() as where:
        program, debug = linked(where, "-Wl,--build-id=none")
        leaves, unused = leaves_of(where, program, 0.3)
        check({"spin", "other"} <= leaves and not unused, f"{leaves} {unused}")
        other = built(where, "other", "-Wl,--build-id=none", "-DFAR")
        objcopy("--only-keep-debug", other, debug)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other", "label"} & leaves, f"names of another build: {leaves}")
        check(unused == [f"{program} (names: the debug file linked.debug does not match: CRC mismatch)"], f"{unused}")
        # Without an end, and one that waits for a writer.
        with open(debug, "wb") as file:
            file.truncate((4 << 30) + 4096)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other"} & leaves and "does not match" in unused[0], f"{leaves} {unused}")
        os.unlink(debug)
        os.mkfifo(debug)
        leaves, unused = leaves_of(where, program, 0.3)
        check(not {"spin", "other"} & leaves and not unused, f"{leaves} {unused}")


@case
def names_from_dwarf_alone():
    need_root()
    with folder() as where:
        program = built(where, "described")
        objcopy("-S", "--keep-section=.debug_*", program)
        check(".symtab" not in run(need_program("readelf"), "-SW", program).stdout, "has symbols")
        leaves, _ = leaves_of(where, program, 0.3)
        check({"spin", "other"} <= leaves, f"{leaves}")


@case
def names_from_compressed_symbols():
    need_root()
    with folder() as where:
        program = built(where, "mini")
        small = os.path.join(where, "symbols")
        objcopy("--only-keep-debug", "-g", program, small)
        objcopy("--strip-all", program)
        with open(small, "rb") as file:
            packed = lzma.compress(file.read())
        for bytes_, named in (packed, True), (packed[:len(packed) // 2], False), \
                (lzma.compress(bytes(128 << 20)), False):
            with open(small + ".xz", "wb") as file:
                file.write(bytes_)
            objcopy(f"--add-section=.gnu_debugdata={small}.xz", program, program + "-with")
            leaves, unused = leaves_of(where, program + "-with", 0.3)
            check(({"spin", "other"} <= leaves) == named and not unused, f"{leaves} {unused}")
            check(named or any(leaf.startswith("mini-with+") for leaf in leaves), f"{leaves}")


@case
def what_debuginfod_fetched_is_found_by_build_id():
    need_root()
    with folder() as where:
        program, debug = linked(where, "-Wl,--build-id")
        build_id = re.search("Build ID: ([0-9a-f]+)", run(need_program("readelf"), "-n", program).stdout).group(1)
        fetched = os.path.join(where, ".cache", "debuginfod_client", build_id)
        os.makedirs(fetched)
        environment = {**os.environ, "HOME": where}
        os.rename(debug, os.path.join(fetched, "debuginfo"))
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check({"spin", "other"} <= leaves, f"{leaves}")
        # One of another build, and the cache of somebody else, which root leaves alone.
        os.chown(where, NOBODY, NOBODY)
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check(not {"spin", "other"} & leaves, f"{leaves}")
        os.chown(where, 0, 0)
        objcopy("--only-keep-debug", built(where, "else", "-Wl,--build-id", "-DFAR"), os.path.join(fetched, "debuginfo"))
        leaves, _ = leaves_of(where, program, 0.3, env=environment)
        check(not {"spin", "other"} & leaves, f"{leaves}")


if __name__ == "__main__":
    main()
