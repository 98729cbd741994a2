/* SPDX-License-Identifier: MIT */
/* What the kernel named, and what it did not. */
#include <ctop/broker/mapped_files.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

#include "test.h"

static struct record mmap_of(int32_t pid, const char *path, uint64_t inode, uint32_t generation,
			     uint64_t start)
{
	return (struct record){
		.type = PERF_RECORD_MMAP2,
		.pid = pid,
		.tid = pid,
		.mmap =
			{
				.start = start,
				.length = 0x1000,
				.executable = true,
				.device_major = 8,
				.device_minor = 1,
				.inode = inode,
				.generation = generation,
				.path = path,
			},
	};
}

static void take_mmap(struct mapped_files *files, int32_t pid, const char *path, uint64_t inode,
		      uint64_t start)
{
	const struct record record = mmap_of(pid, path, inode, 1, start);
	struct mapped_file fresh;
	mapped_files_take(files, &record, &fresh);
}

static void take_at(struct mapped_files *files, uint32_t type, int32_t pid, int32_t tid,
		    uint64_t time_ns)
{
	const struct record record = {.type = type, .pid = pid, .tid = tid, .time_ns = time_ns};
	struct mapped_file none;
	CHECK(!mapped_files_take(files, &record, &none));
}

static void take(struct mapped_files *files, uint32_t type, int32_t pid, int32_t tid)
{
	take_at(files, type, pid, tid, clock_now_ns());
}

static void a_file_is_found_by_its_path(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	take_mmap(files, 10, "/bin/a", 5, 0x1000);
	CHECK(mapped_files_find(files, "/bin/a", 0, 10, 0x1000, &file));
	CHECK_STR(file.path, "/bin/a");
	CHECK_EQ(file.inode, 5);
	CHECK_EQ(file.device_major, 8);
	CHECK_EQ(file.device_minor, 1);
	CHECK_EQ(file.generation, 1);
	CHECK_EQ(file.pid, 10);
	CHECK_EQ(file.end, 0x2000);
	CHECK(!mapped_files_find(files, "/bin/b", 0, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "/bin", 0, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "", 0, 10, 0x1000, &file));
	mapped_files_free(files);
}

static void an_inode_that_was_not_named_is_none(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	take_mmap(files, 10, "/bin/a", 5, 0x1000);
	CHECK(mapped_files_find(files, "/bin/a", 5, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "/bin/a", 6, 10, 0x1000, &file));
	mapped_files_free(files);
}

static void of_several_at_a_path_the_one_that_is_meant(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	take_mmap(files, 10, "/bin/a", 5, 0x1000);
	take_mmap(files, 11, "/bin/a", 6, 0x1000);
	take_mmap(files, 12, "/bin/a", 7, 0x9000);
	CHECK(mapped_files_find(files, "/bin/a", 0, 10, 0x1000, &file));
	CHECK_EQ(file.inode, 5);
	CHECK(mapped_files_find(files, "/bin/a", 0, 11, 0x1000, &file));
	CHECK_EQ(file.inode, 6);
	CHECK(mapped_files_find(files, "/bin/a", 5, 99, 0, &file));
	CHECK_EQ(file.pid, 10);
	/* Nobody's in particular: the newest. */
	CHECK(mapped_files_find(files, "/bin/a", 0, 99, 0, &file));
	CHECK_EQ(file.inode, 7);
	mapped_files_free(files);
}

static void a_file_is_fresh_once(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file fresh;
	struct record record = mmap_of(10, "/bin/a", 5, 1, 0x1000);
	CHECK(mapped_files_take(files, &record, &fresh));
	CHECK_STR(fresh.path, "/bin/a");
	CHECK_EQ(fresh.pid, 10);
	CHECK_EQ(fresh.start, 0x1000);
	CHECK_EQ(fresh.end, 0x2000);
	record = mmap_of(11, "/bin/a", 5, 1, 0x4000);
	CHECK(!mapped_files_take(files, &record, &fresh));
	/* The inode's next file, at the same place. */
	record = mmap_of(11, "/bin/a", 5, 2, 0x4000);
	CHECK(mapped_files_take(files, &record, &fresh));
	CHECK_EQ(fresh.generation, 2);
	mapped_files_free(files);
}

static void only_code_of_files(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	struct record data = mmap_of(10, "/lib/data", 5, 1, 0x1000);
	data.mmap.executable = false;
	CHECK(!mapped_files_take(files, &data, &file));
	take_mmap(files, 10, "//anon", 0, 0x1000);
	take_mmap(files, 10, "[vdso]", 7, 0x1000);
	CHECK(!mapped_files_find(files, "/lib/data", 0, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "//anon", 0, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "[vdso]", 0, 10, 0x1000, &file));
	mapped_files_free(files);
}

static void the_text_of_maps(void)
{
	static const char text[] =
		"00400000-00401000 r--p 00000000 08:01 5 /bin/a\n"
		"00401000-00402000 r-xp 00001000 08:01 5 /bin/a\n"
		"nonsense\n"
		"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 \n"
		"7f0000002000-7f0000003000 r-xp 00002000 fd:10 77 /lib/with\\012line\n";
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	mapped_files_take_maps(files, 10, text, sizeof(text) - 1);
	CHECK(mapped_files_find(files, "/bin/a", 5, 10, 0x401000, &file));
	CHECK_EQ(file.start, 0x401000);
	CHECK_EQ(file.file_offset, 0x1000);
	CHECK_EQ(file.generation, 0);
	CHECK(mapped_files_find(files, "/lib/with\nline", 77, 10, 0x7f0000002000, &file));
	CHECK_EQ(file.device_major, 0xfd);
	/* What a record says of the same file is added. */
	take_mmap(files, 12, "/bin/a", 5, 0x401000);
	CHECK(mapped_files_find(files, "/bin/a", 5, 10, 0x401000, &file));
	CHECK_EQ(file.generation, 1);
	CHECK_EQ(file.pid, 10);
	mapped_files_free(files);
}

static void processes_by_birth(void)
{
	struct mapped_files *files = mapped_files_new();
	const int32_t own = getpid(), parent = getppid();
	mapped_files_add_process(files, own, clock_now_ns());
	CHECK(mapped_files_has_process(files, own));
	CHECK(!mapped_files_has_process(files, parent));
	/* A thread is no process. */
	take(files, PERF_RECORD_FORK, own, parent);
	CHECK(!mapped_files_has_process(files, parent));
	take(files, PERF_RECORD_FORK, parent, parent);
	CHECK(mapped_files_has_process(files, parent));
	CHECK(!mapped_files_has_process(files, 0));
	CHECK(!mapped_files_has_process(files, -1));
	mapped_files_add_process(files, 0, clock_now_ns());
	CHECK(!mapped_files_has_process(files, 0));
	mapped_files_take_everybody(files);
	CHECK(mapped_files_has_process(files, 12345));
	CHECK(!mapped_files_has_process(files, 0));
	mapped_files_free(files);
}

/* Of thousands the first was seen seconds before the last was attached: meanwhile its number may have got another owner. */
static void who_started_after_it_was_seen_is_another(void)
{
	struct mapped_files *files = mapped_files_new();
	const uint64_t started_ns = proc_start_ns(getpid());
	mapped_files_add_process(files, getpid(), started_ns - NS_PER_SECOND);
	CHECK(!mapped_files_has_process(files, getpid()));
	mapped_files_add_process(files, getpid(), started_ns + NS_PER_SECOND);
	CHECK(mapped_files_has_process(files, getpid()));
	mapped_files_free(files);
}

/* Somebody else may have its number from then on. */
static void a_process_that_has_ended(void)
{
	struct mapped_files *files = mapped_files_new();
	const int32_t alive = getpid();
	mapped_files_add_process(files, alive, clock_now_ns());
	take(files, PERF_RECORD_EXIT, alive, alive + 1); /* one of its threads */
	CHECK(mapped_files_has_process(files, alive));
	take(files, PERF_RECORD_EXIT, alive, alive);
	CHECK(!mapped_files_has_process(files, alive));
	take(files, PERF_RECORD_FORK, alive, alive);
	CHECK(mapped_files_has_process(files, alive));
	/* The rings of two CPUs are read one after the other: that end was its predecessor's. */
	take_at(files, PERF_RECORD_EXIT, alive, alive, clock_now_ns() - NS_PER_SECOND);
	CHECK(mapped_files_has_process(files, alive));
	mapped_files_free(files);
}

/* Its predecessor ended, and no record of that was ever read: they may be lost. */
static void a_number_that_somebody_else_has_now(void)
{
	struct mapped_files *files = mapped_files_new();
	const int32_t later = getpid();
	const uint64_t before_ns = proc_start_ns(later) - NS_PER_SECOND;
	struct record mapped = mmap_of(later, "/bin/a", 5, 1, 0x1000);
	struct mapped_file fresh;
	mapped.time_ns = before_ns + 1;
	take_at(files, PERF_RECORD_FORK, later, later, before_ns);
	CHECK(!mapped_files_has_process(files, later));
	mapped_files_take(files, &mapped, &fresh);
	CHECK(!mapped_files_has_process(files, later));
	/* It may be one of the profile's, too. */
	mapped.time_ns = clock_now_ns();
	mapped_files_take(files, &mapped, &fresh);
	CHECK(mapped_files_has_process(files, later));
	mapped_files_free(files);
}

static void a_process_that_is_no_more(void)
{
	struct mapped_files *files = mapped_files_new();
	const int32_t child = fork();
	if (child == 0)
		_exit(0);
	mapped_files_add_process(files, child, clock_now_ns());
	CHECK(mapped_files_has_process(files, child));
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK(!mapped_files_has_process(files, child));
	mapped_files_free(files);
}

static void take_fork(struct mapped_files *files, int32_t parent, int32_t child)
{
	const struct record record = {
		.type = PERF_RECORD_FORK,
		.pid = child,
		.tid = child,
		.time_ns = clock_now_ns(),
		.fork = {.parent_pid = parent, .parent_tid = parent},
	};
	struct mapped_file none;
	mapped_files_take(files, &record, &none);
}

/* Whole CPUs stand in for threads: everybody's records come. */
static void records_of_others(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	const int32_t other = getppid(), own = getpid();
	mapped_files_expect_others(files);
	take_fork(files, 1, other);
	take_mmap(files, other, "/bin/secret", 5, 0x1000);
	CHECK(!mapped_files_has_process(files, other));
	CHECK(!mapped_files_find(files, "/bin/secret", 5, other, 0x1000, &file));
	mapped_files_add_process(files, other, clock_now_ns());
	take_fork(files, other, own);
	take_mmap(files, own, "/bin/ours", 6, 0x1000);
	CHECK(mapped_files_has_process(files, own));
	CHECK(mapped_files_find(files, "/bin/ours", 6, own, 0x1000, &file));
	/* Its number goes to somebody else's child. */
	take_fork(files, 1, own);
	take_mmap(files, own, "/bin/another", 7, 0x1000);
	CHECK(!mapped_files_has_process(files, own));
	CHECK(!mapped_files_find(files, "/bin/another", 7, own, 0x1000, &file));
	mapped_files_free(files);
}

static void take_at_ns(struct mapped_files *files, uint32_t type, int32_t pid, int32_t parent,
		       uint64_t time_ns)
{
	struct record record = {.type = type, .pid = pid, .tid = pid, .time_ns = time_ns};
	struct mapped_file fresh;
	if (type == PERF_RECORD_MMAP2)
		record.mmap = mmap_of(pid, "/bin/a", 5, 1, 0x1000).mmap;
	else
		record.fork.parent_pid = parent;
	mapped_files_take(files, &record, &fresh);
}

static void a_fork_has_the_image_of_its_parent(void)
{
	struct mapped_files *files = mapped_files_new();
	mapped_files_add_process(files, 10, 1);
	CHECK_EQ(mapped_files_same_image(files, 10), 0);
	CHECK_EQ(mapped_files_same_image(files, 99), 0);
	take_at_ns(files, PERF_RECORD_MMAP2, 10, 0, 50);
	take_at_ns(files, PERF_RECORD_FORK, 11, 10, 100);
	CHECK_EQ(mapped_files_same_image(files, 11), 10);
	CHECK_EQ(mapped_files_same_image(files, 10), 0);
	/* It ends before anybody asks. */
	take_at(files, PERF_RECORD_EXIT, 11, 11, 200);
	CHECK_EQ(mapped_files_same_image(files, 11), 10);
	/* It executed: what is mapped by that may be read before the fork, from another CPU's ring. */
	take_at_ns(files, PERF_RECORD_MMAP2, 12, 0, 150);
	take_at_ns(files, PERF_RECORD_FORK, 12, 10, 110);
	CHECK_EQ(mapped_files_same_image(files, 12), 0);
	/* Nobody is its own parent's: threads; nor the child of one that is not known. */
	take_at_ns(files, PERF_RECORD_FORK, 13, 13, 160);
	CHECK_EQ(mapped_files_same_image(files, 13), 0);
	take_at_ns(files, PERF_RECORD_FORK, 14, 77, 160);
	CHECK_EQ(mapped_files_same_image(files, 14), 0);
	/* The parent's number was given to another since. */
	take_at_ns(files, PERF_RECORD_FORK, 15, 11, 250);
	CHECK_EQ(mapped_files_same_image(files, 15), 11);
	take_at_ns(files, PERF_RECORD_FORK, 11, 10, 300);
	CHECK_EQ(mapped_files_same_image(files, 15), 0);
	/* The parent executed. */
	take_at_ns(files, PERF_RECORD_FORK, 16, 10, 400);
	CHECK_EQ(mapped_files_same_image(files, 16), 10);
	take_at_ns(files, PERF_RECORD_MMAP2, 10, 0, 500);
	CHECK_EQ(mapped_files_same_image(files, 16), 0);
	mapped_files_free(files);
}

/* A target that maps new files for ever takes no more memory than so much, and forgets its own first. */
static void bounded(void)
{
	enum { MANY = 100000 };
	struct mapped_files *files = mapped_files_new();
	struct mapped_file file;
	char path[64];
	for (uint64_t i = 1; i <= MANY; i++) {
		snprintf(path, sizeof(path), "/tmp/%u", (unsigned)i);
		take_mmap(files, 10, path, i, 0x1000);
		take_mmap(files, 10, "/tmp/same", i, 0x1000);
	}
	CHECK(!mapped_files_find(files, "/tmp/1", 0, 10, 0x1000, &file));
	CHECK(mapped_files_find(files, path, 0, 10, 0x1000, &file));
	CHECK(mapped_files_find(files, "/tmp/same", MANY, 10, 0x1000, &file));
	CHECK(!mapped_files_find(files, "/tmp/same", 1, 10, 0x1000, &file));
	mapped_files_free(files);
}

/* Of each process the last that it mapped, by its name alone, and of nobody else. */
static void dumps_of_generated_code(void)
{
	struct mapped_files *files = mapped_files_new();
	struct mapped_file found;
	CHECK(!mapped_files_find_dump(files, 7, &found));
	take_mmap(files, 7, "/tmp/jit-7.dump", 1, 0x1000);
	take_mmap(files, 7, "/tmp/jit-.dump", 2, 0x2000);
	take_mmap(files, 7, "/tmp/jit-7.dumped", 3, 0x3000);
	take_mmap(files, 7, "/tmp/ajit-7.dump", 4, 0x4000);
	take_mmap(files, 8, "/home/x/jit-1.dump", 5, 0x5000);
	CHECK(mapped_files_find_dump(files, 7, &found));
	CHECK_EQ(found.inode, 1);
	CHECK_EQ(found.start, 0x1000);
	CHECK(mapped_files_find_dump(files, 8, &found));
	CHECK_STR(found.path, "/home/x/jit-1.dump");
	CHECK(!mapped_files_find_dump(files, 9, &found));
	take_mmap(files, 7, "/tmp/jit-7.dump", 6, 0x1000);
	CHECK(mapped_files_find_dump(files, 7, &found));
	CHECK_EQ(found.inode, 6);
	mapped_files_free(files);
}

int main(void)
{
	RUN(a_file_is_found_by_its_path);
	RUN(an_inode_that_was_not_named_is_none);
	RUN(of_several_at_a_path_the_one_that_is_meant);
	RUN(a_file_is_fresh_once);
	RUN(only_code_of_files);
	RUN(the_text_of_maps);
	RUN(processes_by_birth);
	RUN(who_started_after_it_was_seen_is_another);
	RUN(a_process_that_has_ended);
	RUN(a_number_that_somebody_else_has_now);
	RUN(a_process_that_is_no_more);
	RUN(records_of_others);
	RUN(a_fork_has_the_image_of_its_parent);
	RUN(bounded);
	RUN(dumps_of_generated_code);
	return test_done();
}
