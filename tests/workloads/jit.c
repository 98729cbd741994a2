/* SPDX-License-Identifier: MIT */
/*
 * Runs code that no compiler's file describes, as a JIT does:
 *
 *     main > run_code > (the code)      100 %
 *
 *     jit           the code is in anonymous memory
 *     jit FILE      the code is in a mapping of FILE, which it fills with the code over and over
 *
 * On SIGUSR1 it executes itself again.
 *
 * Prints "ready PID START BYTES" with the code's address in hexadecimal; who names it in
 * /tmp/perf-PID.map, and how, is up to the test.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

enum { CODE_BYTES = 4096 };

/* push %rbp; mov %rsp, %rbp; mov $1000000, %ecx; loop: dec %ecx; jnz loop; pop %rbp; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0x40, 0x42, 0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3,
};

static void fill(unsigned char *bytes)
{
	for (size_t at = 0; at + sizeof(code) <= CODE_BYTES; at += sizeof(code))
		memcpy(bytes + at, code, sizeof(code));
}

static void *map_file(const char *path)
{
	unsigned char bytes[CODE_BYTES] = {0};
	fill(bytes);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return MAP_FAILED;
	return mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

static void *map_memory(void)
{
	void *memory =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return memory;
	fill(memory);
	return mprotect(memory, CODE_BYTES, PROT_READ | PROT_EXEC) ? MAP_FAILED : memory;
}

static char **words;

static void execute_again(int signal)
{
	(void)signal;
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/proc/self/exe", words);
	_exit(1);
}

static FRAME void run_code(void *memory)
{
	for (;;)
		((void (*)(void))memory)();
}

int main(int argc, char **argv)
{
	words = argv;
	signal(SIGUSR1, execute_again);
	void *memory = argc > 1 ? map_file(argv[1]) : map_memory();
	if (memory == MAP_FAILED)
		return 1;
	printf("ready %d %lx %x\n", (int)getpid(), (unsigned long)memory, (unsigned)sizeof(code));
	fflush(stdout);
	run_code(memory);
}
