/* SPDX-License-Identifier: MIT */
/* Every allocation made to fail in turn: an answer, nothing lost, and a world that goes on working. */
#include <ctop/proc/world.h>

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
static void live(struct world *world)
{
	static const char maps[] = "1000-2000 r-xp 0 0:0 0 a\n5000-6000 r-xp 0 0:0 0 b\n";
	enum { NR = 300 };
	expect(world_set_maps(world, 1, maps, sizeof(maps) - 1));
	expect(world_set_thread(world, 1, 1, "init"));
	for (int32_t pid = 2; pid < NR; pid++) {
		char path[16];
		snprintf(path, sizeof(path), "/lib/%d", pid);
		expect(world_fork(world, pid, pid, 1, 1));
		expect(world_fork(world, 1, NR + pid, 1, 1));
		if (pid % 8 == 0)
			expect(world_mmap(world, pid,
					  &(struct world_map){.start = 0x1800, .end = 0x5800}, path,
					  true));
		if (pid % 32 == 0)
			expect(world_comm(world, pid, pid, "exec", true));
		struct world_process *process = world_find(world, pid);
		if (process)
			world_map_at(process, 0x1000);
	}
}

static void memory_runs_out_anywhere(void)
{
	failing = 0;
	struct world *world = world_new();
	CHECK(world);
	const long living = nr_living;
	allocations = 0;
	live(world);
	const size_t all = allocations;
	world_free(world);
	CHECK_EQ(nr_living, living - 1);
	CHECK_EQ(nr_errors, 0);
	CHECK(all > 1000);

	for (size_t i = 1; i <= all; i++) {
		failing = 0;
		world = world_new();
		CHECK(world);
		nr_errors = 0;
		allocations = 0;
		failing = i;
		live(world);
		failing = 0;
		/* A look-up may do without; everything else says so. */
		CHECK(nr_errors <= 1);
		nr_errors = 0;
		live(world);
		CHECK_EQ(nr_errors, 0);
		CHECK(world_map_at(world_find(world, 9), 0x1000));
		world_free(world);
		CHECK_EQ(nr_living, living - 1);
	}
	allocations = 0;
	failing = 1;
	CHECK(!world_new());
	failing = 0;
}

int main(void)
{
	RUN(memory_runs_out_anywhere);
	return test_done();
}

#endif
