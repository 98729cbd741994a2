#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of the same perf.data file with unwind tables and without: rules from code must lead where tables led.

A program and its libraries are copied and recorded; then .eh_frame is taken out of the copies, in place, so that they are
still the files that were recorded. Of the stacks that tables completed, at most 1 in 1,000 may differ, and 99 % must be the
same; what rules from code do not reach ends earlier, and is counted.
"""

import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import case, check, ctop_ok, directory, long_case, main, need_program, need_root, run  # noqa: E402

ALLOWED = 0.001
LIBC = r"""
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	const time_t end = time(NULL) + 4;
	volatile double sum = 0;
	FILE *null = fopen("/dev/null", "w");
	regex_t regex;
	regcomp(&regex, "^(a|b)*c[0-9]+(x|y)$", REG_EXTENDED);
	while (time(NULL) < end) {
		char text[256];
		int numbers[512], i, a;
		for (i = 0; i < 512; i++) numbers[i] = (i * 7919) % 1009;
		qsort(numbers, 512, sizeof(numbers[0]), compare);
		for (i = 0; i < 50; i++) {
			double d;
			snprintf(text, sizeof(text), "%d %s %g %a %llx", i, "hello", i * 1.2345, 3.25 * i, 1ULL << i);
			sum += strtod(text + 3, NULL);
			fprintf(null, "%s %5.3f %-10d\n", text, sum, i);
			free(realloc(malloc(i * 37 + 1), i * 90 + 5));
			regexec(&regex, "ababababc12345x", 0, NULL, 0);
			sum += sscanf("123 4.5 abc", "%d %lf", &a, &d);
		}
	}
	return sum < 0;
}
"""

# What compilers make frames of: variable and aligned ones, tables of jumps, calls through pointers, parts seldom taken.
FRAMES = r"""
#include <alloca.h>
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <time.h>
#include <vector>
#define NOINLINE __attribute__((noinline))
struct shape { virtual ~shape() {} virtual double area(int n) = 0; };
struct square : shape { NOINLINE double area(int n) override { return n * double(n); } };
struct grown : shape {
	NOINLINE double area(int n) override
	{
		volatile char *room = static_cast<char *>(alloca(16 + n % 200));
		for (int i = 0; i < 16 + n % 200; i++) room[i] = char(i);
		return room[n % 16];
	}
};
struct aligned : shape {
	NOINLINE double area(int n) override
	{
		alignas(64) volatile double room[8] = {};
		for (int i = 0; i < 8; i++) room[i] = std::stod(std::to_string(n * i));
		return room[n % 8];
	}
};
NOINLINE static long choose(long n)
{
	std::ostringstream out;
	switch (n % 9) {
	case 0: out << n; break;
	case 1: out << n * 0.5; break;
	case 2: out << "text"; break;
	case 3: return choose(n + 1) + 1;
	case 4: out << std::string(n % 70, 'x'); break;
	case 5: out << std::hex << n; break;
	case 6: if (__builtin_expect(n % 7 == 0, 0)) { out << n << n; __builtin_prefetch(&out); } break;
	case 7: out.width(30); out << n; break;
	default: out << 'c'; break;
	}
	return long(out.str().size());
}
NOINLINE static int fail(int n) { if (n % 50 == 0) throw n; return n; }
int main()
{
	const time_t end = time(nullptr) + 2;
	std::regex regex("^(a|b)*c[0-9]+(x|y)$");
	std::vector<shape *> shapes = {new square, new grown, new aligned};
	double sum = 0;
	for (int n = 0; time(nullptr) < end; n++) {
		std::map<std::string, int> names;
		std::vector<int> numbers;
		for (int i = 0; i < 200; i++) numbers.push_back((i * 7919 + n) % 1009);
		std::function<bool(int, int)> less = [n](int a, int b) { return (a ^ n) < (b ^ n); };
		std::sort(numbers.begin(), numbers.end(), less);
		for (int i = 0; i < 40; i++) names[std::to_string(numbers[i])] += i;
		for (shape *one : shapes) sum += one->area(n);
		for (int i = 0; i < 9; i++) sum += choose(n + i);
		sum += std::regex_match("ababababc12345x", regex);
		try { sum += fail(n); } catch (int value) { sum -= value; }
	}
	return sum < 0;
}
"""


def copied(where, program):
    """The command that runs a copy of the program, and its copied files: what it is linked to, and the loader."""
    said = run(need_program("ldd"), program).stdout
    files = [path for path in re.findall(r"(/\S+) \(0x", said)]
    for path in [program, *files]:
        shutil.copy(path, where)
    loader = next(os.path.basename(path) for path in files if "/ld-" in path)
    names = [os.path.basename(path) for path in [program, *files] if os.path.basename(path) != loader]
    return [os.path.join(where, loader), "--library-path", where, os.path.join(where, os.path.basename(program))], names


def take_tables(where, names):
    for name in names:
        path, bare = os.path.join(where, name), os.path.join(where, "bare")
        result = run("objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path, bare)
        check(result.returncode == 0, result.stderr)
        with open(bare, "rb") as file, open(path, "r+b") as same:
            same.truncate()
            same.write(file.read())


def stacks_of(data):
    """[(end, [(address, method)])] of a perf.data file, sample by sample."""
    stacks = []
    for block in ctop_ok("export", "frames", data).stdout.split("\n\n"):
        head, *frames = [line for line in block.splitlines() if line.strip()] or [""]
        if head:
            stacks.append((head.rpartition(": ")[2], [tuple(line.split()[:2]) for line in frames]))
    return stacks


def compared(program, arguments, least):
    """Records, takes the tables away, and compares. least: the share of complete stacks that have to be the same."""
    for name in "perf", "objcopy":
        need_program(name)
    need_root()
    with directory() as where:
        command, names = copied(where, program)
        data = os.path.join(where, "perf.data")
        result = run("perf", "record", "-q", "-N", "-F", "999", "-e", "cpu-clock:u", "--call-graph", "dwarf,32768", "-o", data,
                     "--", *command, *arguments)
        check(result.returncode == 0, result.stderr)
        with_tables = stacks_of(data)
        take_tables(where, names)
        without = stacks_of(data)
    complete = same = differ = by_code = likely = 0
    check(len(with_tables) == len(without), f"{len(with_tables)}, {len(without)}")
    for (end, wanted), (end_without, found) in zip(with_tables, without):
        if end != "complete":
            continue
        addresses = [address for address, _ in found]
        complete += 1
        same += addresses == [address for address, _ in wanted]
        differ += (addresses != [address for address, _ in wanted[:len(addresses)]] or
                   end_without == "complete" and len(found) < len(wanted) - 1)  # _start may be left out
        likely += sum(method == "likely" for _, method in found)
        by_code += sum(method in ("code", "likely") for _, method in found)
    print(f"# {os.path.basename(program)}: {complete} stacks, {same / max(complete, 1):.2%} the same, {differ} different, "
          f"{by_code} frames by code, {likely} of them likely")
    check(complete > 50, "too few stacks")
    check(differ <= ALLOWED * complete, f"{differ} of {complete} differ")
    check(same >= least * complete, f"{same} of {complete} are the same")


@case
def libc():
    with directory() as where:
        source, program = os.path.join(where, "busy.c"), os.path.join(where, "busy")
        with open(source, "w", encoding="utf-8") as file:
            file.write(LIBC)
        result = run(need_program("gcc"), "-O2", "-o", program, source)
        check(result.returncode == 0, result.stderr)
        compared(program, [], 0.99)


@case
def libcrypto_and_its_assembly():
    compared(need_program("openssl"), ["speed", "-seconds", "3", "rsa2048"], 0.99)


def frames(*flags, least=0.99):
    with directory() as where:
        source, program = os.path.join(where, "frames.cc"), os.path.join(where, "frames" + "".join(flags))
        with open(source, "w", encoding="utf-8") as file:
            file.write(FRAMES)
        result = run(need_program("g++"), "-std=c++17", *flags, "-o", program, source)
        check(result.returncode == 0, result.stderr)
        compared(program, [], least)


@case
def libstdcxx():
    frames("-O2")


@long_case
def without_optimization():
    frames("-O0")


@long_case
def optimized_for_size():
    frames("-Os")


@long_case
def with_branch_protection():
    frames("-O2", "-fcf-protection=full", "-fno-omit-frame-pointer")


@long_case
def with_realigned_stacks():
    frames("-O2", "-mstackrealign", "-mincoming-stack-boundary=3")


@long_case
def cc1plus():
    program = run(need_program("g++"), "-print-prog-name=cc1plus").stdout.strip()
    with directory() as where:
        source = os.path.join(where, "frames.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write(FRAMES)
        result = run("g++", "-std=c++17", "-E", "-o", source + ".ii", source)
        check(result.returncode == 0, result.stderr)
        compared(program, ["-quiet", "-std=c++17", "-O1", "-fpreprocessed", source + ".ii", "-o", "/dev/null"], 0.99)


@long_case
def cpython():
    program = os.path.realpath(need_program("python3"))
    compared(program, ["-c", """
import json, re
text = json.dumps([{"name": str(i), "values": list(range(i))} for i in range(200)])
for _ in range(150):
    json.loads(text)
    sorted(re.findall(r"[0-9]+", text), key=lambda word: word[::-1])
"""], 0.99)


if __name__ == "__main__":
    main()
