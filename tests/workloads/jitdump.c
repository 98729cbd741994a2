/* SPDX-License-Identifier: MIT */
/*
 * Generates functions, runs each, and says what they are in DIRECTORY/jit-PID.dump, as perf's documentation has it:
 *
 *     main > run > function_ADDRESS         each of NR, for about as long as the others
 *     main > run > moving                   at one address, then at another
 *     main > run > taking                   where that was first, but its loop is 16 bytes behind the other's
 *
 *     jitdump DIRECTORY NR MILLION_TURNS    of each function's loop
 *
 * The lines of the function at slot N are N:1 and, of its loop, N:2, as 10 N + 1 and 10 N + 2 of the file "made".
 *
 * Prints "ready PID START BYTES" with the code's address in hexadecimal, before any of it runs.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "workload.h"

/* LOOP_AT: behind what generate() begins with. */
enum { SLOT_BYTES = 64, LOOP_AT = 9, LOAD = 0, MOVE = 1, LINES = 2, CLOSE = 3, X86_64 = 62 };

struct header {
	uint32_t magic, version, bytes, machine, unused, pid;
	uint64_t time_ns, flags;
};

struct record {
	uint32_t kind, bytes;
	uint64_t time_ns;
};

static int dump;
static uint64_t nr_loaded;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void put(const void *bytes, size_t size)
{
	if (write(dump, bytes, size) != (ssize_t)size)
		exit(1);
}

static void put_record_head(uint32_t kind, size_t body_bytes)
{
	const struct record record = {kind, (uint32_t)(sizeof(record) + body_bytes), now_ns()};
	put(&record, sizeof(record));
}

static void put_record(uint32_t kind, size_t body_bytes)
{
	const uint32_t who[] = {(uint32_t)getpid(), (uint32_t)getpid()};
	put_record_head(kind, sizeof(who) + body_bytes);
	put(who, sizeof(who));
}

static void put_line(const unsigned char *code, size_t line, const char *file)
{
	const uint64_t address = (uint64_t)code;
	const uint32_t words[] = {(uint32_t)line, 1};
	put(&address, sizeof(address));
	put(words, sizeof(words));
	put(file, strlen(file) + 1);
}

/* They are told before the code; the second has the first's file, in one byte. */
static void tell_lines(const unsigned char *code, size_t slot, size_t loop_at)
{
	static const char file[] = "made", same[] = "\xff";
	const uint64_t head[] = {(uint64_t)code, 2};
	put_record_head(LINES, sizeof(head) + 2 * 16 + sizeof(file) + sizeof(same));
	put(head, sizeof(head));
	put_line(code, 10 * slot + 1, file);
	put_line(code + loop_at, 10 * slot + 2, same);
}

static void load(const unsigned char *code, const char *name)
{
	const uint64_t about[] = {(uint64_t)code, (uint64_t)code, SLOT_BYTES, ++nr_loaded};
	put_record(LOAD, sizeof(about) + strlen(name) + 1 + SLOT_BYTES);
	put(about, sizeof(about));
	put(name, strlen(name) + 1);
	put(code, SLOT_BYTES);
}

static void move(const unsigned char *from, unsigned char *to)
{
	const uint64_t about[] = {(uint64_t)to, (uint64_t)from, (uint64_t)to, SLOT_BYTES, 1};
	memcpy(to, from, SLOT_BYTES);
	put_record(MOVE, sizeof(about));
	put(about, sizeof(about));
}

/* push %rbp; mov %rsp, %rbp; mov $turns, %ecx; nops; loop: dec %ecx; jnz loop; pop %rbp; ret */
static void generate(unsigned char *code, uint32_t turns, size_t nops)
{
	static const unsigned char begin[] = {0x55, 0x48, 0x89, 0xe5, 0xb9};
	static const unsigned char end[] = {0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};
	memset(code, 0x90, SLOT_BYTES);
	memcpy(code, begin, sizeof(begin));
	memcpy(code + sizeof(begin), &turns, sizeof(turns));
	memcpy(code + sizeof(begin) + sizeof(turns) + nops, end, sizeof(end));
}

static FRAME void run(const unsigned char *code, int times)
{
	while (times-- > 0)
		((void (*)(void))(uintptr_t)code)();
}

static void open_dump(const char *directory)
{
	char path[PATH_MAX];
	const struct header header = {0x4a695444, 1, sizeof(header), X86_64, 0, (uint32_t)getpid(),
				      now_ns(),	  0};
	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, (int)getpid());
	dump = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (dump < 0)
		exit(1);
	put(&header, sizeof(header));
	/* So everybody who watches what is mapped learns of it. */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const size_t nr = (size_t)atol(argv[2]), bytes = (nr + 2) * SLOT_BYTES;
	const uint32_t turns = (uint32_t)(atof(argv[3]) * 1e6);
	unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	open_dump(argv[1]);
	printf("ready %d %lx %zx\n", (int)getpid(), (unsigned long)memory, bytes);
	fflush(stdout);
	unsigned char *moving = memory + nr * SLOT_BYTES, *after = moving + SLOT_BYTES;
	generate(moving, 1000000, 0);
	tell_lines(moving, nr, LOOP_AT);
	load(moving, "moving");
	run(moving, 300);
	move(moving, after);
	generate(moving, 1000000, 16);
	tell_lines(moving, nr + 1, LOOP_AT + 16);
	load(moving, "taking");
	for (size_t i = 0; i < nr; i++) {
		unsigned char *code = memory + i * SLOT_BYTES;
		char name[64];
		snprintf(name, sizeof(name), "function_%lx", (unsigned long)code);
		generate(code, turns, 0);
		tell_lines(code, i, LOOP_AT);
		load(code, name);
		run(code, 1);
	}
	run(after, 300);
	run(moving, 300);
	put_record_head(CLOSE, 0);
	return 0;
}
