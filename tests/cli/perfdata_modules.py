#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whose code a perf.data file's samples are in: only files proved to be those recorded are used."""

import os
import re
import shutil

from harness import (BUILD, CTOP, Skip, case, check, ctop_ok, directory, folded, main, need_program, run, started,
                     target, with_function)
from recorded_by_perf import (compare, complete, home_of_its_own, need_samples, perf_record_process,
                              perf_samples, recorded)


@case
def without_build_ids_device_and_inode_decide():
    with recorded("--no-buildid", "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                  "dwarf,16384") as path:
        ours, _, _ = compare(path)
        check(complete(ours) > 0.9, f"complete: {complete(ours)}")


@case
def build_ids_of_mappings():
    with recorded("--buildid-mmap", "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                  "dwarf,16384") as path:
        ours, _, errors = compare(path)
        check(complete(ours) > 0.95, f"complete: {complete(ours)}")
        # The vdso has none of its own: the kernel's tells, where perf may read it.
        check(errors == "" or os.geteuid() != 0, errors)


def record_a_copy(where, *options, original=os.path.join(BUILD, "workloads", "templates")):
    """Records a program that lies in the directory."""
    program = os.path.join(where, "program")
    shutil.copy(original, program)
    path = os.path.join(where, "perf.data")
    with started(program) as process:
        perf_record_process(path, process.pid, *options, "-e", "cpu-clock:u", "-F", "500",
                            "--call-graph", "dwarf")
    need_samples(perf_samples(path))
    return path, program


def check_not_used(path, program):
    result = ctop_ok("export", "folded", path)
    check("1 module" in result.stderr and program in result.stderr, f"said: {result.stderr}")
    check(len(result.stderr.splitlines()) == 1, f"more than a line: {result.stderr}")
    stacks = folded(path)
    mine = [frame for stack in stacks for frame in stack[1:] if "program" in frame]
    check(mine and set(mine) == {"[program]"}, f"shown as: {set(mine)}")
    check("main" not in {frame for stack in stacks for frame in stack},
          "functions of a file that is another")


@case
def a_file_that_was_replaced_is_not_used():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        os.unlink(program)
        shutil.copy(os.path.join(BUILD, "workloads", "threads"), program)
        check_not_used(path, program)


@case
def a_file_that_was_replaced_is_not_used_without_build_ids():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid")
        # Something in the way keeps the inode's number from being used again.
        os.rename(program, program + ".old")
        shutil.copy(program + ".old", program)
        check_not_used(path, program)


@case
def a_file_that_is_gone():
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        os.unlink(program)
        check_not_used(path, program)


@case
def a_file_that_is_gone_but_for_perfs_copy():
    with home_of_its_own() as where:
        path, program = record_a_copy(where)
        os.unlink(program)
        if not os.path.isdir(os.path.join(where, ".debug", ".build-id")):
            raise Skip("perf record keeps no copies here")
        result = ctop_ok("export", "folded", path)
        check(result.stderr == "", result.stderr)
        check(any("main" in stack for stack in folded(path)), "the copy was not used")


def leave_debug_file(where, program):
    """Leaves nothing of the program but a debug file in perf's cache."""
    objcopy, readelf = need_program("objcopy"), need_program("readelf")
    notes = run(readelf, "-n", program).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    cache = os.path.join(where, ".debug", ".build-id", build_id[:2], build_id[2:])
    os.makedirs(cache)
    check(run(objcopy, "--only-keep-debug", program, os.path.join(cache, "debug")).returncode == 0,
          "objcopy failed")
    os.unlink(program)


@case
def a_file_that_is_gone_but_for_its_debug_file():
    """Its names are there, its CFI is not: the innermost function is as far as one gets."""
    with home_of_its_own() as where:
        path, program = record_a_copy(where, "--no-buildid-cache")
        before = folded(path)
        leave_debug_file(where, program)
        result = ctop_ok("export", "folded", path)
        check("1 module with names, but without code" in result.stderr and program in result.stderr,
              result.stderr)
        after = folded(path)
        for stack in after:
            # Nothing but what was there: functions that had been found before, from the leaf on.
            check("[program]" not in stack and any(whole[-1] == stack[-1] for whole in before), f"{stack}")


FRAMES_IN_DEBUG_FILE = """#include <stdio.h>
static __attribute__((noinline)) unsigned leaf(unsigned n)
{
	for (volatile unsigned i = 0; i < 1000; i++)
		n = n * 31 + i;
	return n;
}
static __attribute__((noinline)) unsigned middle(unsigned n)
{
	return leaf(n) + leaf(n + 1) + 1;
}
int main(void)
{
	unsigned n = 0;
	puts("ready");
	fflush(stdout);
	for (;;)
		n = middle(n) + 1;
}
"""


@case
def a_debug_file_has_the_rules_too():
    with home_of_its_own() as where:
        built, source = os.path.join(where, "built"), os.path.join(where, "frames.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(FRAMES_IN_DEBUG_FILE)
        # Without .eh_frame the compiler writes .debug_frame.
        result = run(need_program("gcc"), "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id",
                     "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-o", built, source)
        check(result.returncode == 0, result.stderr)
        path, program = record_a_copy(where, "--no-buildid-cache", original=built)
        before = folded(path)
        leave_debug_file(where, program)
        check(folded(path) == before, "other stacks than with the file")
        check(with_function(before, "leaf") > 50 and
              all(stack[stack.index("main"):][:2] in (("main",), ("main", "middle"))
                  for stack in before if "main" in stack), f"{before}")


@case
def code_that_perf_inject_made_files_of():
    """perf inject --jit makes a file for each function that a JIT dumped, with a build-id in a section only."""
    node, perf = need_program("node"), need_program("perf")
    with home_of_its_own() as where:
        source, path = os.path.join(where, "busy.js"), os.path.join(where, "perf.data")
        with open(source, "w", encoding="utf-8") as file:
            file.write("const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);\n"
                       "while (process.cpuUsage().user < 1000000) fib(20);\n")
        recorded_by = run(perf, "record", "-q", "-k", "mono", "-o", path, "-e", "cpu-clock:u", "-F", "500",
                          "--call-graph", "dwarf,16384", "--", node, "--perf-prof", source, cwd=where)
        injected = os.path.join(where, "injected.data")
        result = run(perf, "inject", "--jit", "-i", path, "-o", injected, cwd=where)
        if result.returncode != 0 or not any(name.startswith("jitted-") for name in os.listdir(where)):
            raise Skip(f"no files by perf inject: {recorded_by.stderr} {result.stderr}")
        result = ctop_ok("export", "folded", injected)
        check("jitted" not in result.stderr, result.stderr)
        stacks = folded(injected)
        named = [stack for stack in stacks if any(re.match(r"JS:.?fib", frame) for frame in stack)]
        check(sum(stacks[stack] for stack in named) > 50, f"{list(stacks)[:3]}")
        check(all(stack[1] == "_start" for stack in named), "stacks that do not reach their root")


@case
def no_process_of_the_file_is_asked_about():
    """Even if there is one with that pid, and maps to be had."""
    with directory() as where, target("templates") as program:
        path = os.path.join(where, "perf.data")
        perf_record_process(path, program.pid, "-e", "cpu-clock:u", "-F", "500", "--call-graph",
                            "dwarf")
        strace = need_program("strace")
        trace = os.path.join(where, "trace")
        result = run(strace, "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace,
                     CTOP, "export", "folded", path)
        if not os.path.exists(trace) or not os.path.getsize(trace):
            raise Skip(f"strace: {result.stderr.strip()}")
        with open(trace, encoding="utf-8", errors="replace") as file:
            text = file.read()
        check(path in text, "nothing was traced")
        check(f"/proc/{program.pid}/" not in text, "the process was looked for")


with home_of_its_own():
    main()
