# SPDX-License-Identifier: MIT
"""A process that makes code, and what it would write of it."""

import contextlib
import os
import subprocess

from harness import Skip, check, need_library, need_program, need_root, run


def need_x86():
    need_root()
    if os.uname().machine != "x86_64":
        raise Skip("code of x86-64")


# Runs code of its own; told to (SIGUSR1), it puts another function into its place, and says so in its map.
TAKES_PLACE = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile sig_atomic_t told;
static void tell(int signal) { (void)signal, told = 1; }
/* push %rbp; mov %rsp, %rbp; mov $1000000, %ecx; nops; loop: dec %ecx; jnz loop; pop %rbp; ret */
static void put(FILE *map, unsigned char *code, size_t nops, const char *size, const char *name)
{
	static const unsigned char begin[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f, 0x00}, end[] = {0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	memset(code, 0x90, 64);
	memcpy(code, begin, sizeof(begin));
	memcpy(code + sizeof(begin) + nops, end, sizeof(end));
	fprintf(map, "%lx %s %s\n", (unsigned long)code, size, name);
	fflush(map);
}
int main(int argc, char **argv)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int dump = argc == 3 ? open(argv[2], O_RDWR) : -1;
	if (argc < 2 || !map || code == MAP_FAILED ||
	    (argc == 3 && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED))
		return 1;
	put(map, code, 0, argv[1], "first()");
	signal(SIGUSR1, tell);
	printf("ready %lx\n", (unsigned long)code);
	fflush(stdout);
	for (int is_second = 0;; ) {
		((void (*)(void))code)();
		if (told && !is_second) {
			is_second = 1;
			put(map, code, 16, "28", "second()");
			printf("second\n");
			fflush(stdout);
		}
	}
}
"""


@contextlib.contextmanager
def generating(where, size, *dump):
    """The process, and where its code is, of so many bytes by its map; `dump`: a file that it has mapped as its dump."""
    need_x86()
    need_library("capstone")
    source = os.path.join(where, "takes.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(TAKES_PLACE)
    built = run(need_program("gcc"), "-O1", "-o", source + ".out", source)
    check(built.returncode == 0, built.stderr)
    with subprocess.Popen([source + ".out", size, *dump], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, int(process.stdout.readline().split()[1], 16)
        finally:
            process.kill()
            os.unlink(f"/tmp/perf-{process.pid}.map")


def memory_of(process, start, size):
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return memory.read(size)


def numbers(*values, size):
    return b"".join(value.to_bytes(size, "little") for value in values)


def dump_with(start, name, code, lines):
    """A dump (perf's jitdump-specification.txt) of one function, and its lines: (offset, line) of a file."""
    file = b"made.js"
    told = numbers(start, len(lines), size=8) + b"".join(numbers(start + offset, size=8) + numbers(line, 0, size=4) + file + b"\0"
                                                         for offset, line in lines)
    body = numbers(1, 1, size=4) + numbers(start, start, len(code), 1, size=8) + name + b"\0" + code
    return (numbers(0x4a695444, 1, 40, 62, 0, 1, size=4) + numbers(0, 0, size=8) +
            numbers(2, 16 + len(told), size=4) + numbers(0, size=8) + told +
            numbers(0, 16 + len(body), size=4) + numbers(0, size=8) + body)
