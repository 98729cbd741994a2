#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions that a process generates and tells of in a dump (jit-PID.dump), which it has mapped: each by its own name, then and there."""

import contextlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import (BUILD, Skip, case, check, ctop_ok, directory, ended_well, folded, main, need_program, need_root,  # noqa: E402
                     recording_of, run, wait_for_cpu_time)

GENERATES = os.path.join(BUILD, "workloads", "jitdump")
SLOT = 64


def is_right(name, address, start, nr):
    """Whether that is what the workload had there; its start, and how many functions it has made."""
    slot = (address - start) // SLOT
    if slot < nr:
        return name == f"function_{start + slot * SLOT:x}"
    # The loop of what moves is 9 bytes behind its begin, that of what takes its place 25.
    at = (address - start) % SLOT
    return (name == "moving" and at < 16) or (name == "taking" and slot == nr and (at < 9 or at >= 16))


def leaves(text):
    """[(address, name)] of the innermost frames of `ctop export frames`."""
    return [(int(address, 16), name) for address, name in
            re.findall(r"^\s+([0-9a-f]+) leaf\s+(\S+?)(?:\+0x[0-9a-f]+)? \(", text, re.MULTILINE)]


def started(text):
    return int(re.search(r"^ready \d+ ([0-9a-f]+)", text, re.MULTILINE).group(1), 16)


def wrong_lines(text, start, nr):
    """[(address, line)] of `export frames` that the workload did not tell; how many there were."""
    found = [(int(address, 16), line) for address, line in
             re.findall(r"^\s+([0-9a-f]+) leaf\s+\S+ \(\S+\)(?: (\S+))?$", text, re.MULTILINE)]
    there = [(address, line) for address, line in found if start <= address < start + (nr + 2) * SLOT]

    def is_told(address, line):
        slot, at = divmod(address - start, SLOT)
        # Of the last two, what moved is in both, and what takes its place in the first of them.
        numbers = [10 * slot] if slot < nr else [10 * nr, 10 * nr + 10]
        return line in {f"made:{number + (at >= loop) + 1}" for number in numbers for loop in (9, 25)[:1 + (slot >= nr)]}

    return [(f"{address:x}", line) for address, line in there if not is_told(address, line)], len(there)


def generated(samples, start, nr):
    """Those in generated code, and which of them have another's name."""
    there = [(address, name) for address, name in samples if start <= address < start + (nr + 2) * SLOT]
    return there, [(f"{address:x}", name) for address, name in there if not is_right(name, address, start, nr)]


@case
def names_of_ten_thousand_functions():
    need_root()
    nr = 10000
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        said = ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", GENERATES, where, nr, 0.3).stdout
        text = ctop_ok("export", "frames", path).stdout
        there, wrong = generated(leaves(text), started(said), nr)
        untold, nr_lines = wrong_lines(text, started(said), nr)
        check(nr_lines == len(there) and not untold, f"{len(untold)} lines of {nr_lines}: {untold[:10]}")
        check(len(there) > 50 and not wrong, f"{len(wrong)} of {len(there)}: {wrong[:10]}")
        check({"moving", "taking"} <= {name for _, name in there}, f"{sorted({name for _, name in there})[-20:]}")


@case
def perf_says_the_same():
    """Of its own samples of that program, by perf inject --jit: what the dump says is what perf understands."""
    need_root()
    perf = need_program("perf")
    nr = 1000
    with directory() as where:
        data, injected = os.path.join(where, "perf.data"), os.path.join(where, "injected.data")
        result = run(perf, "record", "-q", "-k", "mono", "-e", "cpu-clock:u", "-o", data, "--", GENERATES, where, nr, 1, cwd=where)
        if result.returncode or run(perf, "inject", "--jit", "-i", data, "-o", injected, cwd=where).returncode:
            raise Skip("perf cannot inject here")
        text = run(perf, "script", "-i", injected, "-F", "ip,sym", cwd=where).stdout
        samples = [(int(address, 16), name) for address, name in re.findall(r"^\s*([0-9a-f]+) (\S+)", text, re.MULTILINE)]
        there, wrong = generated(samples, started(result.stdout), nr)
        check(len(there) > 50 and not wrong, f"{len(wrong)} of {len(there)}: {wrong[:10]}")


@case
def what_node_generates():
    need_root()
    node = need_program("node")
    with directory() as where:
        program = os.path.join(where, "busy.js")
        with open(program, "w", encoding="utf-8") as file:
            file.write("function shape(n) { let s = 0; for (let i = 0; i < n; i++)\n s = (s * 31 + i) % 65537; return s; }\n"
                       "let t = 0; for (let i = 0; i < 40000; i++) t += shape(10000); console.log(t);\n")
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock:u", "-o", path, "--", node, "--perf-prof", program, cwd=where)
        if not any(name.endswith(".dump") for name in os.listdir(where)):
            raise Skip("this node writes no dump")
        stacks = folded(path)
        inside = sum(count for stack, count in stacks.items() if any("shape " in frame for frame in stack))
        nameless = sum(count for stack, count in stacks.items() if "[anon]" in stack)
        check(inside > 20 and nameless * 20 < inside, f"{inside} in shape(), {nameless} without a name")
        # Node 20 writes what was in its memory for the names of most files: those lines are left out.
        lines = re.findall(r" leaf\s+JS:\*shape \S+ \(\S+\)(?: (\S+))?$", ctop_ok("export", "frames", path).stdout, re.MULTILINE)
        told = {line for line in lines if line}
        check(told <= {f"{program}:{line}" for line in (1, 2, 3)}, f"{told}")


# Maps what is at a path as a JIT does, then runs code of its own that nobody names.
@contextlib.contextmanager
def mapping(where, path):
    """A process that has that file mapped as its dump, in code of its own."""
    source = os.path.join(where, "maps.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(MAPS)
    check(run("gcc", "-O1", "-o", source + ".out", source).returncode == 0, "not built")
    with subprocess.Popen([source + ".out", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline().split()[1], 16)
        finally:
            process.kill()


MAPS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(argv[1], O_RDWR);
	if (argc != 2 || fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	printf("ready %lx\n", (unsigned long)memory);
	fflush(stdout);
	for (;;)
		((void (*)(void))memory)();
}
"""


def numbers(*values, size):
    return b"".join(value.to_bytes(size, "little") for value in values)


def header():
    return numbers(0x4a695444, 1, 40, 62, 0, 1, size=4) + numbers(0, 0, size=8)


def load(start, size, name):
    body = numbers(1, 1, size=4) + numbers(start, start, size, 1, size=8) + name + b"\0"
    return numbers(0, 16 + len(body), size=4) + numbers(0, size=8) + body


def lines(start, rows, nr=None):
    body = numbers(start, len(rows) if nr is None else nr, size=8)
    for offset, line, file in rows:
        body += numbers(start + offset, size=8) + numbers(line, 0, size=4) + file + b"\0"
    return numbers(2, 16 + len(body), size=4) + numbers(0, size=8) + body


@case
def dumps_that_lie():
    """Sampling goes on, names are made safe, and a file that is no dump names nothing."""
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("code of x86-64")
    kinds = {
        "good": (lambda start: header() + load(start, 4096, b"jit code"), "jit code"),
        "escapes": (lambda start: header() + load(start, 4096, b"\x1b[31m;a\r b"), "\\x1b[31m:a\\x0d b"),
        "no_size": (lambda start: header() + bytes(64) + load(start, 4096, b"behind"), None),
        "far": (lambda start: header() + numbers(0, 0xffffffff, size=4) + bytes(64) + load(start, 4096, b"behind"), None),
        "cut": (lambda start: header() + load(start, 4096, b"jit code")[:-9], None),
        "text": (lambda start: b"%x 1000 text\n" % start, "text"),
        "rubbish": (lambda start: header() + os.urandom(1 << 20), None),
        "lines": (lambda start: header() + lines(start, [(0, 1, b"a\x1b[31m"), (4, 2, b"b")]) + load(start, 4096, b"jit code"), "jit code"),
        "endless": (lambda start: header() + lines(start, [(0, 1, b"a")], 1 << 63) + load(start, 4096, b"jit code"), "jit code"),
        "many": (lambda start: header() + b"".join(load(start, 4096, b"name%d" % i) for i in range(300000)), "name299999"),
    }
    with directory() as where:
        for kind, (content, name) in kinds.items():
            path = os.path.join(where, "jit-1.dump")
            with open(path, "wb") as file:
                file.write(bytes(4096))
            with mapping(where, path) as (process, start):
                with open(path, "wb") as file:
                    file.write(content(start))
                with recording_of(where, "-e", "cpu-clock:u", "-p", process.pid) as recorder:
                    wait_for_cpu_time(process.pid, 0.3)
            stacks, stats = ended_well(where, recorder)
            found = {stack[-1] for stack in stacks if "main" in stack[:-1]}
            check(stats["restarts"] == 0, f"{kind}: {stats}")
            check(found <= ({name} if name else {"[anon]"}) and found, f"{kind}: {found}")
            check("\x1b" not in ctop_ok("report", "--stdio", os.path.join(where, "x.ctop")).stdout, kind)


@case
def another_processs_dump_names_nothing():
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("code of x86-64")
    with directory() as where:
        path, none = os.path.join(where, "jit-1.dump"), os.path.join(where, "none")
        for name in path, none:
            with open(name, "wb") as file:
                file.write(bytes(4096))
        with mapping(where, path) as (first, start), mapping(where, none) as (second, other):
            with open(path, "wb") as file:
                file.write(header() + load(start, 4096, b"of the first") + load(other, 4096, b"of the first"))
            with recording_of(where, "-e", "cpu-clock:u", "-p", f"{first.pid},{second.pid}") as recorder:
                for process in first, second:
                    wait_for_cpu_time(process.pid, 0.2)
        stacks, _ = ended_well(where, recorder)
        names = {stack[-1] for stack in stacks if "main" in stack[:-1]}
        check(names == {"of the first", "[anon]"}, f"{names}")


if __name__ == "__main__":
    main()
