#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks through code that a process has made and for which nobody has tables: HotSpot's without frame pointers, qemu's, LuaJIT's."""

import contextlib
import os
import platform
import subprocess

from busy_programs import running
from harness import (Skip, case, check, ctop_ok, directory, java_class, main, need_program, need_root, record_work, run, share_complete, written)

SAMPLES_LEAST = 50
# Of made code no more is known than what it does at the time; a sample while it is being replaced is lost.
COMPLETE = 0.9

# What each calls is in its name: a calls b, b calls c or itself. Compiled as they are, one by one.
JAVA = """public class Chain {
	static volatile long sink;
	static long c(int n) { long s = 0; for (int i = 0; i < n; i++) s += i * s + sink; return s; }
	static long b(int n, int deep) { return deep == 0 ? c(n) + 1 : b(n, deep - 1) + 1; }
	static long a(int n) { return b(n, 3) + 1; }
	public static void main(String[] arguments) {
		System.out.println("ready");
		for (;;)
			sink += a(20000);
	}
}
"""
LUA = """local function leaf(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
print("ready") io.flush()
while true do leaf(1000000) table.concat({tostring(leaf(10)), "x"}) end
"""
QEMU = """#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int numbers[10000];
	puts("ready");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 10000; i++)
			numbers[i] = rand();
		qsort(numbers, 10000, sizeof(*numbers), compare);
	}
}
"""

# Writes its code through one mapping of a memfd and runs it through another, as .NET does; without frame pointers.
MEMFD = r"""#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 8192, INNER = 64 };
/* push %rbx; sub $24, %rsp; call INNER; add $24, %rsp; pop %rbx; ret */
static const unsigned char outer[] = {0x53, 0x48, 0x83, 0xec, 24, 0xe8, INNER - 10, 0, 0, 0, 0x48, 0x83, 0xc4, 24, 0x5b, 0xc3};
/* push %rbp; sub $48, %rsp; mov $1000000, %ecx; xor %ebp, %ebp; inc %ebp; dec %ecx; jnz; add $48, %rsp; pop %rbp; ret */
static const unsigned char inner[] = {0x55, 0x48, 0x83, 0xec, 48, 0xb9, 0x40, 0x42, 0x0f, 0, 0x31, 0xed,
				      0xff, 0xc5, 0xff, 0xc9, 0x75, 0xfa, 0x48, 0x83, 0xc4, 48, 0x5d, 0xc3};
__attribute__((noinline)) static void run_code(void (*code)(void)) { for (;;) code(); }
int main(void)
{
	char path[64];
	int fd = memfd_create("doublemapper", 0);
	if (ftruncate(fd, BYTES)) return 1;
	unsigned char *writable = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned char *code = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	memcpy(writable, outer, sizeof(outer));
	memcpy(writable + INNER, inner, sizeof(inner));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx %x made_outer\n%lx %x made_inner\n", (long)code, INNER, (long)code + INNER, INNER);
	fclose(map);
	puts("ready");
	fflush(stdout);
	run_code((void (*)(void))code);
}
"""


def need_this_machine():
    if platform.machine() != "x86_64":
        raise Skip("rules are read from x86-64 code only")
    need_root()


def share(where, program):
    recording = record_work(where, [program.pid], 1, "-e", "cpu-clock:u", "-p", program.pid)
    if recording.stats["samples"] < SAMPLES_LEAST:
        raise Skip(f"the machine is too busy: {recording.stats['samples']} samples")
    check(recording.stats["restarts"] == 0, f"{recording.stats} {recording.stderr}")
    print(f"# {share_complete(recording.stats):.3f} of {recording.stats['samples']} samples complete")
    check(share_complete(recording.stats) >= COMPLETE, f"{recording.stats['stacks']} {recording.stacks}")
    return recording


@contextlib.contextmanager
def java(where, *options):
    java_class(where, "Chain", JAVA)
    with running("java", "-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Chain::*", *options,
                 "-cp", where, "Chain") as program:
        yield program


def calls_of_java(*options):
    """Every stack with Java's own names must be one that the source can make."""
    with directory() as where, java(where, *options) as program:
        # What was compiled while it warmed up, and stands still from now on.
        named = run(need_program("jcmd"), program.pid, "Compiler.perfmap")
        check(named.returncode == 0, named.stderr)
        recording = share(where, program)
        whole = 0
        for stack in recording.stacks:
            # What is interpreted, or was compiled since, stands for any of them.
            calls = [name.split(".")[-1][0] if " Chain." in name else "?" if name in ("Interpreter", "[anon]") else ""
                     for name in stack]
            calls = "".join(calls)
            if "b" not in calls:
                continue
            check(len(calls) <= 7 and all(call in ("?", one) for call, one in zip(calls, "mabbbbc")), f"{stack}")
            whole += len(calls) == 7
        check(whole, f"{recording.stacks}")


@case
def java_without_frame_pointers():
    need_this_machine()
    calls_of_java()


@case
def java_with_frame_pointers():
    need_this_machine()
    calls_of_java("-XX:+PreserveFramePointer")


@case
def java_that_is_interpreted():
    need_this_machine()
    with directory() as where, java(where, "-Xint") as program:
        share(where, program)


@case
def pieces_of_qemu():
    """Blocks of translated code jump to each other, and only some of them to the end."""
    need_this_machine()
    need_program("qemu-x86_64")
    with directory() as where:
        program = os.path.join(where, "sorts")
        built = run("gcc", "-O2", "-static", "-o", program, written(where, "sorts.c", QEMU))
        if built.returncode:
            raise Skip("there is no static libc")
        with running("qemu-x86_64", program) as emulator:
            share(where, emulator)


@case
def traces_of_luajit():
    need_this_machine()
    need_program("luajit")
    with directory() as where, running("luajit", written(where, "busy.lua", LUA)) as program:
        recording = share(where, program)
        text = ctop_ok("export", "frames", recording.path).stdout
        check("likely" in text, "no stack leads through a trace")


@case
def code_in_a_memfd():
    need_this_machine()
    with directory() as where:
        program = os.path.join(where, "doubles")
        built = run("gcc", "-O2", "-fomit-frame-pointer", "-o", program, written(where, "doubles.c", MEMFD))
        check(built.returncode == 0, built.stderr)
        with running(program) as target:
            try:
                recording = share(where, target)
            finally:
                os.unlink(f"/tmp/perf-{target.pid}.map")
        whole = 0
        for stack, count in recording.stacks.items():
            if "made_inner" in stack:
                whole += count
                check(stack[-4:] == ("main", "run_code", "made_outer", "made_inner"), f"{stack}")
        check(whole > 0.9 * recording.stats["samples"], f"{recording.stacks}")
        check(recording.stats["stacks"]["complete"] >= 0.99 * recording.stats["samples"], f"{recording.stats['stacks']}")


main()
