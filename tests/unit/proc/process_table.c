/* SPDX-License-Identifier: MIT */
#include <ctop/proc/process_table.h>

#include <errno.h>
#include <malloc.h>

#include "test.h"

enum { SHELL = 100, CHILD = 200, OTHER = 300 };

static void map(struct process_table *processes, int32_t pid, uint64_t start, uint64_t end,
		const char *path)
{
	const struct mapping map = {
		.start = start, .end = end, .file_offset = 0x100000 + start, .identity.inode = 7};
	CHECK_EQ(process_table_mmap(processes, pid, &map, path, true), 0);
}

/* The path of what is mapped at an address; "-" for nothing. */
static const char *at(struct process_table *processes, int32_t pid, uint64_t address)
{
	struct process *process = process_table_find(processes, pid);
	const struct mapping *found = process ? process_mapping_at(process, address) : NULL;
	return found ? found->path : "-";
}

static void set_maps(struct process_table *processes, int32_t pid, const char *text)
{
	CHECK_EQ(process_table_set_maps(processes, pid, text, strlen(text)), 0);
}

struct all_maps {
	size_t nr;
	uint64_t end;
	bool sorted;
};

static void look_at_map(void *context, struct process *process, struct mapping *found)
{
	struct all_maps *all = context;
	(void)process;
	all->nr++;
	all->sorted &= found->start >= all->end && found->end > found->start;
	all->end = found->end;
}

/* Only for a process table of one process. */
static struct all_maps all_maps_of(struct process_table *processes)
{
	struct all_maps all = {.sorted = true};
	process_table_each_mapping(processes, look_at_map, &all);
	return all;
}

static bool doubtful(struct process_table *processes, int32_t pid)
{
	struct process *process = process_table_find(processes, pid);
	CHECK(process);
	return process_doubtful(process);
}

static uint64_t generation(struct process_table *processes, int32_t pid)
{
	struct process *process = process_table_find(processes, pid);
	CHECK(process);
	return process_generation(process);
}

/* ---- mappings ---- */

static void addresses_find_their_mapping(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x3000, 0x4000, "b");
	map(processes, SHELL, 0x1000, 0x2000, "a");
	CHECK_STR(at(processes, SHELL, 0xfff), "-");
	CHECK_STR(at(processes, SHELL, 0x1000), "a");
	CHECK_STR(at(processes, SHELL, 0x1fff), "a");
	CHECK_STR(at(processes, SHELL, 0x2000), "-");
	CHECK_STR(at(processes, SHELL, 0x3000), "b");
	CHECK_STR(at(processes, SHELL, 0x4000), "-");
	CHECK_STR(at(processes, SHELL, UINT64_MAX), "-");
	CHECK_STR(at(processes, OTHER, 0x1000), "-");
	process_table_free(processes);
}

static void a_mapping_in_the_middle_leaves_both_ends(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x9000, "library");
	map(processes, SHELL, 0x3000, 0x5000, "patch");
	CHECK_STR(at(processes, SHELL, 0x2fff), "library");
	CHECK_STR(at(processes, SHELL, 0x3000), "patch");
	CHECK_STR(at(processes, SHELL, 0x4fff), "patch");
	CHECK_STR(at(processes, SHELL, 0x5000), "library");
	const struct mapping *tail =
		process_mapping_at(process_table_find(processes, SHELL), 0x5000);
	CHECK_EQ(tail->start, 0x5000);
	CHECK_EQ(tail->end, 0x9000);
	CHECK_EQ(tail->file_offset, 0x100000 + 0x5000);
	CHECK_EQ(tail->identity.inode, 7);
	const struct mapping *head =
		process_mapping_at(process_table_find(processes, SHELL), 0x1000);
	CHECK_EQ(head->end, 0x3000);
	CHECK_EQ(head->file_offset, 0x100000 + 0x1000);
	CHECK_EQ(all_maps_of(processes).nr, 3);
	process_table_free(processes);
}

static void a_mapping_over_several_cuts_the_outer_and_drops_the_inner(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x3000, "a");
	map(processes, SHELL, 0x3000, 0x4000, "b");
	map(processes, SHELL, 0x5000, 0x6000, "c");
	map(processes, SHELL, 0x6000, 0x9000, "d");
	map(processes, SHELL, 0x2000, 0x7000, "over");
	CHECK_STR(at(processes, SHELL, 0x1fff), "a");
	CHECK_STR(at(processes, SHELL, 0x2000), "over");
	CHECK_STR(at(processes, SHELL, 0x5800), "over");
	CHECK_STR(at(processes, SHELL, 0x7000), "d");
	CHECK_EQ(all_maps_of(processes).nr, 3);
	process_table_free(processes);
}

static void data_over_code_takes_it_away(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x4000, "code");
	CHECK_EQ(process_table_mmap(processes, SHELL,
				    &(struct mapping){.start = 0x2000, .end = 0x3000}, "data",
				    false),
		 0);
	CHECK_STR(at(processes, SHELL, 0x2000), "-");
	CHECK_STR(at(processes, SHELL, 0x1000), "code");
	CHECK_STR(at(processes, SHELL, 0x3000), "code");
	process_table_free(processes);
}

static void another_library_at_the_same_address(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x4000, "first");
	CHECK_EQ(process_set_module(process_table_find(processes, SHELL), 0x1000, processes), 0);
	uint64_t before = generation(processes, SHELL);
	map(processes, SHELL, 0x1000, 0x4000, "second");
	CHECK_STR(at(processes, SHELL, 0x1000), "second");
	CHECK(!process_mapping_at(process_table_find(processes, SHELL), 0x1000)->module);
	CHECK(generation(processes, SHELL) != before);
	CHECK_EQ(all_maps_of(processes).nr, 1);
	process_table_free(processes);
}

static void an_empty_or_inverted_mapping_is_none(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x1000, "x");
	map(processes, SHELL, 0x2000, 0x1000, "x");
	map(processes, SHELL, 0, UINT64_MAX, "all");
	CHECK_STR(at(processes, SHELL, 0), "all");
	CHECK_EQ(all_maps_of(processes).nr, 1);
	process_table_free(processes);
}

/* Against an array that holds the owner of every page. */
static void thousands_of_mappings_agree_with_a_plain_model(void)
{
	enum { PAGES = 64, STEPS = 20000 };
	static const char *const paths[] = {"a", "b", "c", "d"};
	const char *model[PAGES];
	for (size_t i = 0; i < PAGES; i++)
		model[i] = "-";
	struct process_table *processes = process_table_new();
	unsigned random = 12345;
	for (size_t step = 0; step < STEPS; step++) {
		random = random * 1103515245 + 12345;
		size_t from = (random >> 8) % PAGES, nr = 1 + (random >> 16) % 12;
		if (from + nr > PAGES)
			nr = PAGES - from;
		bool executable = (random >> 24) % 4 != 0;
		const char *path = executable ? paths[(random >> 26) % 4] : "-";
		const struct mapping added = {.start = from * 4096, .end = (from + nr) * 4096};
		CHECK_EQ(process_table_mmap(processes, SHELL, &added, path, executable), 0);
		for (size_t i = from; i < from + nr; i++)
			model[i] = path;
		for (size_t i = 0; i < PAGES; i++)
			CHECK_STR(at(processes, SHELL, i * 4096 + random % 4096), model[i]);
		CHECK(all_maps_of(processes).sorted);
	}
	process_table_free(processes);
}

static void without_end_new_mappings_the_maps_are_asked_for_again(void)
{
	enum { MANY = 40000 };
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	bool was_doubtful = false;
	for (uint64_t i = 1; i < MANY; i++) {
		map(processes, SHELL, i << 16, (i << 16) + 0x1000, "jit");
		was_doubtful |= doubtful(processes, SHELL);
		CHECK_STR(at(processes, SHELL, i << 16), "jit");
	}
	CHECK(was_doubtful);
	CHECK(all_maps_of(processes).nr < MANY / 2);
	process_table_free(processes);
}

/* ---- maps text ---- */

static void maps_replace_the_space(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x2000, "old");
	CHECK(doubtful(processes, SHELL));
	uint64_t before = generation(processes, SHELL);
	set_maps(processes, SHELL,
		 "3000-4000 r--p 0 8:1 9 /lib/x\n4000-5000 r-xp 1000 8:1 9     /lib/x\n"
		 "garbage\n7000-8000 r-xp 0 0:0 0 [vdso]\n");
	CHECK(!doubtful(processes, SHELL));
	CHECK(generation(processes, SHELL) != before);
	CHECK_STR(at(processes, SHELL, 0x1000), "-");
	CHECK_STR(at(processes, SHELL, 0x3000), "-");
	CHECK_STR(at(processes, SHELL, 0x4000), "/lib/x");
	CHECK_STR(at(processes, SHELL, 0x7000), "[vdso]");
	const struct mapping *found =
		process_mapping_at(process_table_find(processes, SHELL), 0x4000);
	CHECK_EQ(found->file_offset, 0x1000);
	CHECK_EQ(found->identity.device_major, 8);
	CHECK_EQ(found->identity.device_minor, 1);
	CHECK_EQ(found->identity.inode, 9);
	process_table_free(processes);
}

static void overlapping_lines_do_not_harm(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL,
		 "4000-9000 r-xp 0 0:0 0 a\n1000-5000 r-xp 0 0:0 0 b\n2000-3000 r-xp 0 0:0 0 c\n");
	CHECK_STR(at(processes, SHELL, 0x1000), "b");
	CHECK_STR(at(processes, SHELL, 0x2000), "c");
	CHECK_STR(at(processes, SHELL, 0x4fff), "b");
	CHECK_STR(at(processes, SHELL, 0x5000), "a");
	CHECK(all_maps_of(processes).sorted);
	process_table_free(processes);
}

static void no_line_means_ask_again(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x2000, "kept");
	CHECK_EQ(process_table_set_maps(processes, SHELL, "", 0), -EAGAIN);
	CHECK_EQ(process_table_set_maps(processes, SHELL, "nonsense\n", 9), -EAGAIN);
	CHECK(doubtful(processes, SHELL));
	CHECK_STR(at(processes, SHELL, 0x1000), "kept");
	/* Lines, but no code: that is an answer. */
	set_maps(processes, SHELL, "1000-2000 r--p 0 0:0 0 a\n");
	CHECK(!doubtful(processes, SHELL));
	CHECK_STR(at(processes, SHELL, 0x1000), "-");
	process_table_free(processes);
}

static void lost_records_put_everything_in_doubt(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	set_maps(processes, OTHER, "1000-2000 r-xp 0 0:0 0 a\n");
	process_table_doubt_all(processes);
	CHECK(doubtful(processes, SHELL) && doubtful(processes, OTHER));
	CHECK_STR(at(processes, SHELL, 0x1000), "a");
	process_table_free(processes);
}

/* ---- fork, exec, exit ---- */

static void a_forked_process_has_the_maps_of_its_parent(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(!doubtful(processes, CHILD));
	CHECK_STR(at(processes, CHILD, 0x1000), "a");
	CHECK_STR(process_table_comm_of(processes, CHILD, CHILD), "sh");
	CHECK(generation(processes, CHILD) != generation(processes, SHELL));
	/* From now on each goes its own way. */
	map(processes, CHILD, 0x5000, 0x6000, "child's");
	map(processes, SHELL, 0x7000, 0x8000, "parent's");
	CHECK_STR(at(processes, SHELL, 0x5000), "-");
	CHECK_STR(at(processes, CHILD, 0x7000), "-");
	CHECK_STR(at(processes, CHILD, 0x1000), "a");
	CHECK_STR(at(processes, SHELL, 0x1000), "a");
	process_table_free(processes);
}

static void a_module_set_in_one_process_is_not_set_in_its_fork(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 rwxp 0 0:0 0\n");
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK_EQ(process_set_module(process_table_find(processes, CHILD), 0x1000, processes), 0);
	CHECK(!process_mapping_at(process_table_find(processes, SHELL), 0x1000)->module);
	CHECK(process_mapping_at(process_table_find(processes, CHILD), 0x1000)->module ==
	      processes);
	/* What the parent had found out before is the child's too. */
	CHECK_EQ(process_table_fork(processes, OTHER, OTHER, CHILD, CHILD), 0);
	CHECK(process_mapping_at(process_table_find(processes, OTHER), 0x1000)->module ==
	      processes);
	process_table_free(processes);
}

static void a_module_is_set_where_its_file_is_mapped(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL,
		 "1000-2000 r-xp 0 8:1 7 a\n3000-4000 r-xp 2000 8:1 7 a\n"
		 "5000-6000 r-xp 0 8:1 8 a\n7000-8000 r-xp 0 8:1 7 b\n");
	struct process *shell = process_table_find(processes, SHELL);
	CHECK_EQ(process_set_module(shell, 0x3000, processes), 0);
	CHECK(process_mapping_at(shell, 0x1000)->module == processes);
	CHECK(process_mapping_at(shell, 0x3000)->module == processes);
	CHECK(!process_mapping_at(shell, 0x5000)->module);
	CHECK(!process_mapping_at(shell, 0x7000)->module);
	/* What has one keeps it; nothing is mapped elsewhere. */
	CHECK_EQ(process_set_module(shell, 0x1000, shell), 0);
	CHECK(process_mapping_at(shell, 0x3000)->module == processes);
	CHECK_EQ(process_set_module(shell, 0x9000, shell), 0);
	process_table_free(processes);
}

static void what_was_borrowed_outlives_records_of_others(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	const struct mapping *parents =
		process_mapping_at(process_table_find(processes, SHELL), 0x1000);
	const struct mapping *childs =
		process_mapping_at(process_table_find(processes, CHILD), 0x1000);
	for (uint64_t i = 1; i < 100; i++)
		map(processes, CHILD, i << 16, (i << 16) + 1, "x");
	CHECK_STR(parents->path, "a");
	CHECK_EQ(parents->start, 0x1000);
	childs = process_mapping_at(process_table_find(processes, CHILD), 0x1000);
	const char *path = childs->path;
	CHECK_EQ(process_table_exit(processes, SHELL, SHELL), 0);
	CHECK_EQ(childs->start, 0x1000);
	CHECK_EQ(process_table_exit(processes, CHILD, CHILD), 0);
	CHECK_STR(path, "a"); /* interned: as long as the process table */
	process_table_free(processes);
}

static size_t heap_in_use(void)
{
	return mallinfo2().uordblks;
}

static void paths_are_dropped_when_nothing_has_them(void)
{
	struct process_table *processes = process_table_new();
	char path[2000];
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	CHECK_EQ(process_table_fork(processes, SHELL, SHELL, 1, 1), 0);
	map(processes, SHELL, 0x1000, 0x2000, "/stays");
	map(processes, SHELL, 0x5000, 0x6000, "");
	size_t before = heap_in_use();
	for (int i = 0; i < 2000; i++) {
		snprintf(path, 10, "/%08d", i);
		path[9] = 'x';
		map(processes, SHELL, 0x3000, 0x4000, path); /* in the place of the one before */
	}
	CHECK(heap_in_use() > before + 2000 * sizeof(path));
	process_table_drop_names(processes);
	CHECK(heap_in_use() < before + 100000);
	CHECK_STR(at(processes, SHELL, 0x1000), "/stays");
	CHECK_STR(at(processes, SHELL, 0x3000), path);
	CHECK_STR(at(processes, SHELL, 0x5000), "");
	process_table_drop_names(processes);
	CHECK_STR(at(processes, SHELL, 0x1000), "/stays");
	map(processes, SHELL, 0x7000, 0x8000, "/stays");
	CHECK_STR(at(processes, SHELL, 0x7000), "/stays");
	process_table_free(processes);
}

static void a_fork_of_one_in_doubt_is_in_doubt(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x1000, 0x2000, "a");
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(doubtful(processes, CHILD));
	CHECK_STR(at(processes, CHILD, 0x1000), "a");
	CHECK_EQ(process_table_fork(processes, OTHER, OTHER, 12345, 12345), 0);
	CHECK(doubtful(processes, OTHER));
	process_table_free(processes);
}

static int share(struct process_table *processes, int32_t pid)
{
	return process_table_share_maps(processes, process_table_find(processes, pid));
}

static int32_t same_image(struct process_table *processes, int32_t pid)
{
	return process_table_same_image(processes, process_table_find(processes, pid));
}

/* A child that has ended before its maps could be read. */
static void the_maps_of_whom_it_was_forked_from(void)
{
	struct process_table *processes = process_table_new();
	map(processes, SHELL, 0x5000, 0x6000, "early");
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	map(processes, CHILD, 0x7000, 0x8000, "child's");
	CHECK(process_table_add(processes, OTHER) != NULL);
	process_table_set_same_image(processes, process_table_find(processes, OTHER), SHELL);
	CHECK_EQ(same_image(processes, CHILD), SHELL);
	CHECK_EQ(same_image(processes, OTHER), SHELL);
	CHECK_EQ(share(processes, CHILD), -EAGAIN);
	const uint64_t before = generation(processes, CHILD);

	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n5000-6000 r-xp 0 0:0 0 early\n");
	CHECK_EQ(same_image(processes, CHILD), 0);
	CHECK_EQ(share(processes, CHILD), 0);
	CHECK_EQ(share(processes, OTHER), 0);
	CHECK(!doubtful(processes, CHILD));
	CHECK(generation(processes, CHILD) != before);
	CHECK_STR(at(processes, CHILD, 0x1000), "a");
	CHECK_STR(at(processes, CHILD, 0x7000), "child's");
	CHECK_STR(at(processes, OTHER, 0x1000), "a");
	CHECK_STR(at(processes, OTHER, 0x7000), "-");
	CHECK_STR(at(processes, SHELL, 0x7000), "-");
	CHECK_EQ(share(processes, CHILD), -EAGAIN);
	process_table_free(processes);
}

static void an_image_that_is_another(void)
{
	struct process_table *processes = process_table_new();
	CHECK(process_table_add(processes, SHELL) != NULL);
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK_EQ(process_table_fork(processes, OTHER, OTHER, SHELL, SHELL), 0);
	/* The child executes: its maps are its own; the parent does: it says nothing of the other any more. */
	CHECK_EQ(process_table_comm(processes, CHILD, CHILD, "ls", true), 0);
	CHECK_EQ(same_image(processes, CHILD), 0);
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "server", true), 0);
	map(processes, SHELL, 0x1000, 0x2000, "server");
	CHECK_EQ(same_image(processes, OTHER), 0);
	CHECK_EQ(share(processes, OTHER), -EAGAIN);
	process_table_set_same_image(processes, process_table_find(processes, OTHER), SHELL);
	CHECK_EQ(share(processes, OTHER), -EAGAIN);
	process_table_set_same_image(processes, process_table_find(processes, OTHER), OTHER);
	CHECK_EQ(share(processes, OTHER), -EAGAIN);
	CHECK_STR(at(processes, OTHER, 0x1000), "-");

	/* Records were lost, perhaps of an exec. */
	const int32_t late = OTHER + 1;
	CHECK_EQ(process_table_fork(processes, late, late, OTHER, OTHER), 0);
	process_table_doubt_all(processes);
	set_maps(processes, OTHER, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(share(processes, late), -EAGAIN);
	process_table_free(processes);
}

static void a_thread_shares_the_space(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	uint64_t before = generation(processes, SHELL);
	CHECK_EQ(process_table_fork(processes, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK_EQ(generation(processes, SHELL), before);
	CHECK(!process_table_find(processes, SHELL + 1));
	CHECK(process_table_knows_thread(processes, SHELL, SHELL + 1));
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL + 1), "sh");
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL + 1, "worker", false), 0);
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL + 1), "worker");
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "sh");
	process_table_free(processes);
}

static void exec_drops_every_map_and_every_other_thread(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(process_table_fork(processes, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	uint64_t before = generation(processes, SHELL);
	uint32_t image = process_exec_count(process_table_find(processes, SHELL));
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "ls", true), 0);
	CHECK_STR(at(processes, SHELL, 0x1000), "-");
	CHECK_STR(at(processes, CHILD, 0x1000), "a");
	CHECK(!doubtful(processes, SHELL));
	CHECK(generation(processes, SHELL) != before);
	CHECK(process_exec_count(process_table_find(processes, SHELL)) != image);
	CHECK(!process_table_knows_thread(processes, SHELL, SHELL + 1));
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "ls");
	/* No exec: nothing is dropped. */
	map(processes, SHELL, 0x1000, 0x2000, "ls");
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "renamed", false), 0);
	CHECK_STR(at(processes, SHELL, 0x1000), "ls");
	process_table_free(processes);
}

static void exec_ends_doubt(void)
{
	struct process_table *processes = process_table_new();
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "sh", false), 0);
	CHECK(doubtful(processes, SHELL));
	CHECK_EQ(process_table_comm(processes, SHELL, SHELL, "ls", true), 0);
	CHECK(!doubtful(processes, SHELL));
	process_table_free(processes);
}

static void a_process_goes_with_its_last_thread(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(process_table_fork(processes, SHELL, SHELL + 1, SHELL, SHELL), 0);
	/* The leader first: its siblings go on in the same space, and its name is still the process's. */
	CHECK_EQ(process_table_exit(processes, SHELL, SHELL), 0);
	CHECK_STR(at(processes, SHELL, 0x1000), "a");
	CHECK(!process_table_knows_thread(processes, SHELL, SHELL));
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "sh");
	CHECK_EQ(process_table_exit(processes, SHELL, SHELL + 1), 0);
	CHECK(!process_table_find(processes, SHELL));
	CHECK_STR(process_table_comm_of(processes, SHELL, SHELL), "");
	CHECK_EQ(process_table_exit(processes, SHELL, SHELL), 0); /* of one never heard of */
	process_table_free(processes);
}

static void a_reused_pid_is_another_process(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 shell\n");
	CHECK_EQ(process_table_set_thread(processes, SHELL, SHELL, "sh"), 0);
	set_maps(processes, CHILD, "1000-2000 r-xp 0 0:0 0 former\n");
	CHECK_EQ(process_table_set_thread(processes, CHILD, CHILD, "former"), 0);
	CHECK_EQ(process_table_set_thread(processes, CHILD, CHILD + 1, "former's"), 0);
	uint64_t before = generation(processes, CHILD);
	uint32_t image = process_exec_count(process_table_find(processes, CHILD));
	/* Its end was lost; then the pid is forked again. */
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK_STR(at(processes, CHILD, 0x1000), "shell");
	CHECK_STR(process_table_comm_of(processes, CHILD, CHILD), "sh");
	CHECK(!process_table_knows_thread(processes, CHILD, CHILD + 1));
	CHECK(generation(processes, CHILD) != before);
	CHECK(process_exec_count(process_table_find(processes, CHILD)) != image);
	/* Its end was seen: the same holds. */
	image = process_exec_count(process_table_find(processes, CHILD));
	CHECK_EQ(process_table_exit(processes, CHILD, CHILD), 0);
	CHECK_EQ(process_table_fork(processes, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(process_exec_count(process_table_find(processes, CHILD)) != image);
	process_table_free(processes);
}

static void before_any_record_images_are_zero(void)
{
	struct process_table *processes = process_table_new();
	set_maps(processes, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(process_exec_count(process_table_find(processes, SHELL)), 0);
	CHECK_EQ(process_pid(process_table_find(processes, SHELL)), SHELL);
	process_table_free(processes);
}

static void generations_never_repeat(void)
{
	enum { NR = 2000 };
	static uint64_t seen[NR * 3];
	size_t nr = 0;
	struct process_table *processes = process_table_new();
	for (int32_t pid = 1; pid <= NR; pid++) {
		CHECK_EQ(process_table_fork(processes, pid, pid, pid - 1, pid - 1), 0);
		seen[nr++] = generation(processes, pid);
		map(processes, pid, 0x1000, 0x2000, "a");
		seen[nr++] = generation(processes, pid);
		CHECK_EQ(process_table_comm(processes, pid, pid, "x", true), 0);
		seen[nr++] = generation(processes, pid);
		if (pid % 2)
			CHECK_EQ(process_table_exit(processes, pid, pid), 0);
	}
	for (size_t i = 1; i < nr; i++)
		CHECK(seen[i] > seen[i - 1]);
	process_table_free(processes);
}

/* From the kernel's word of it until somebody saw the new program's own code. */
static void an_exec_lasts_until_user_code_is_seen(void)
{
	struct process_table *processes = process_table_new();
	struct process *process = process_table_add(processes, 7);
	CHECK(!process_may_be_in_exec(process));
	CHECK_EQ(process_table_comm(processes, 7, 7, "renamed", false), 0);
	CHECK(!process_may_be_in_exec(process));
	CHECK_EQ(process_table_comm(processes, 7, 7, "program", true), 0);
	process = process_table_find(processes, 7);
	CHECK(process_may_be_in_exec(process));
	process_note_user(process);
	CHECK(!process_may_be_in_exec(process));
	process_table_free(processes);
}

int main(void)
{
	RUN(an_exec_lasts_until_user_code_is_seen);
	RUN(addresses_find_their_mapping);
	RUN(a_mapping_in_the_middle_leaves_both_ends);
	RUN(a_mapping_over_several_cuts_the_outer_and_drops_the_inner);
	RUN(data_over_code_takes_it_away);
	RUN(another_library_at_the_same_address);
	RUN(an_empty_or_inverted_mapping_is_none);
	RUN(thousands_of_mappings_agree_with_a_plain_model);
	RUN(without_end_new_mappings_the_maps_are_asked_for_again);
	RUN(maps_replace_the_space);
	RUN(overlapping_lines_do_not_harm);
	RUN(no_line_means_ask_again);
	RUN(lost_records_put_everything_in_doubt);
	RUN(a_forked_process_has_the_maps_of_its_parent);
	RUN(a_module_set_in_one_process_is_not_set_in_its_fork);
	RUN(a_module_is_set_where_its_file_is_mapped);
	RUN(what_was_borrowed_outlives_records_of_others);
	RUN(paths_are_dropped_when_nothing_has_them);
	RUN(a_fork_of_one_in_doubt_is_in_doubt);
	RUN(the_maps_of_whom_it_was_forked_from);
	RUN(an_image_that_is_another);
	RUN(a_thread_shares_the_space);
	RUN(exec_drops_every_map_and_every_other_thread);
	RUN(exec_ends_doubt);
	RUN(a_process_goes_with_its_last_thread);
	RUN(a_reused_pid_is_another_process);
	RUN(before_any_record_images_are_zero);
	RUN(generations_never_repeat);
	return test_done();
}
