/* SPDX-License-Identifier: MIT */
/* Every allocation made to fail in turn: an answer, nothing lost, and a process table that goes on working. */
#include <ctop/proc/process_table.h>

#include <errno.h>

#include "test.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#if defined(SANITIZED) || !defined(__GLIBC__)

int main(void)
{
	printf("ok - memory runs out # SKIP needs glibc's allocator, without sanitizers\n");
	return 0;
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *old);

/* The allocation that fails, counted from 1; 0: none. */
static size_t failing, allocations;
static long nr_living;

static void *counted(void *allocated)
{
	nr_living += allocated != NULL;
	return allocated;
}

static bool fails(void)
{
	return ++allocations == failing;
}

void *malloc(size_t size)
{
	return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(nr, size));
}

void *realloc(void *old, size_t size)
{
	if (fails())
		return NULL;
	return old ? __libc_realloc(old, size) : counted(__libc_malloc(size));
}

void free(void *old)
{
	nr_living -= old != NULL;
	__libc_free(old);
}

static int nr_errors;

static void expect(int result)
{
	if (result == 0)
		return;
	CHECK_EQ(result, -ENOMEM);
	nr_errors++;
}

/* Enough processes, threads and names that every hash table grows. */
static void live(struct process_table *processes)
{
	static const char maps[] = "1000-2000 r-xp 0 0:0 0 a\n5000-6000 r-xp 0 0:0 0 b\n";
	enum { NR = 300 };
	expect(process_table_set_maps(processes, 1, maps, sizeof(maps) - 1));
	expect(process_table_set_thread(processes, 1, 1, "init"));
	for (int32_t pid = 2; pid < NR; pid++) {
		char path[16];
		snprintf(path, sizeof(path), "/lib/%d", pid);
		expect(process_table_fork(processes, pid, pid, 1, 1));
		expect(process_table_fork(processes, 1, NR + pid, 1, 1));
		if (pid % 8 == 0)
			expect(process_table_mmap(processes, pid,
						  &(struct mapping){.start = 0x1800, .end = 0x5800},
						  path, true));
		if (pid % 32 == 0)
			expect(process_table_comm(processes, pid, pid, "exec", true));
		struct process *process = process_table_find(processes, pid);
		if (process)
			expect(process_set_module(process, 0x1000, processes));
	}
}

static void memory_runs_out_anywhere(void)
{
	failing = 0;
	struct process_table *processes = process_table_new();
	CHECK(processes);
	const long living = nr_living;
	allocations = 0;
	live(processes);
	const size_t all = allocations;
	process_table_free(processes);
	CHECK_EQ(nr_living, living - 1);
	CHECK_EQ(nr_errors, 0);
	CHECK(all > 1000);

	for (size_t i = 1; i <= all; i++) {
		failing = 0;
		processes = process_table_new();
		CHECK(processes);
		nr_errors = 0;
		allocations = 0;
		failing = i;
		live(processes);
		failing = 0;
		CHECK(nr_errors <= 1);
		nr_errors = 0;
		live(processes);
		CHECK_EQ(nr_errors, 0);
		CHECK(process_mapping_at(process_table_find(processes, 9), 0x1000));
		process_table_free(processes);
		CHECK_EQ(nr_living, living - 1);
	}
	allocations = 0;
	failing = 1;
	CHECK(!process_table_new());
	failing = 0;
}

int main(void)
{
	RUN(memory_runs_out_anywhere);
	return test_done();
}

#endif
