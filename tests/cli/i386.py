#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""32-bit programs: their names, lines and instructions, and what is said of their stacks."""

import os
import re

from harness import Skip, case, check, ctop_ok, directory, main, need_program, run
from listings import annotated, by_addr2line, chains_of, check_chains, check_like_objdump, check_sum, recorded, rows_of

# Without a libc: a compiler that has none of 32 bits makes the program all the same.
SOURCE = """
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	return x ^ (x >> 17);
}
__attribute__((noipa)) unsigned crunch(unsigned *values, int nr)
{
	unsigned sum = 1;
	for (int i = 0; i < nr; i++) {
		sum = mix(sum + values[i]);
		if (sum % 7 == 3)
			sum /= 3;
		values[i] = sum;
	}
	return sum;
}
__attribute__((noipa)) unsigned walk(unsigned *values, int nr, double share)
{
	for (int i = 1; i < nr; i++)
		share = share * 0.5 + values[i] / (share + 1);
	return (unsigned)(long)share;
}
void _start(void)
{
	static unsigned values[5000];
	unsigned sum = 0;
	for (int i = 0; i < 10000; i++)
		sum += crunch(values, 5000) + walk(values, 5000, sum);
	__asm__ volatile("int $0x80" : : "a"(1), "b"(sum == 1));
}
"""


def built(where, *options):
    source, program = os.path.join(where, "work.c"), os.path.join(where, "work")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    if run(need_program("gcc"), "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-O2", "-g", *options, "-o", program, source).returncode:
        raise Skip("no compiler for 32-bit programs here")
    try:
        run(program)
    except OSError as error:
        raise Skip(f"this kernel starts no 32-bit program: {error}") from error
    return program


def check_listings(path, program):
    for function in "crunch", "walk":
        listing = annotated(path, function)
        check_sum(path, function, listing)
        check(check_like_objdump(listing, program) > 20, listing)


@case
def its_instructions_are_objdumps_and_its_lines_addr2lines():
    for options in (), ("-gdwarf-4", "-mavx2"):
        with directory() as where:
            program = built(where, *options)
            path = recorded(where, program)
            check_listings(path, program)
            listing = annotated(path, "crunch")
            chains = chains_of(listing)
            check(len(chains) == len(rows_of(listing)) and any(chains.values()), listing)
            check_chains(chains, program, by_addr2line)
            check("sum = mix(sum + values[i]);" in listing, listing)


@case
def code_that_was_kept_is_the_same():
    with directory() as where:
        program = built(where)
        path = recorded(where, program)
        os.rename(program, program + ".moved")
        check("code kept in the recording" in annotated(path, "crunch"), "not of the recording")
        check_listings(path, program + ".moved")


@case
def what_is_known_of_its_stacks_is_said():
    with directory() as where:
        program = built(where)
        path = recorded(where, program)
        report = ctop_ok("report", "--stdio", path).stdout
        check(re.search(r"crunch +work$", report, re.M) and re.search(r"walk +work$", report, re.M), report)
        check("of 32-bit programs: only where they were sampled; --call-graph fp has their callers" in " ".join(report.split()), report)
        # With frame pointers the kernel finds them.
        program = built(where, "-fno-omit-frame-pointer")
        tree = ctop_ok("report", "--stdio", "--tree", recorded(where, program, options=("--call-graph", "fp"))).stdout
        check(re.search(r"_start\n(?:.*\n)?.* crunch$", tree, re.M), tree)


main()
