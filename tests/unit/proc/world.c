/* SPDX-License-Identifier: MIT */
#include <ctop/proc/world.h>

#include <errno.h>
#include <malloc.h>

#include "test.h"

enum { SHELL = 100, CHILD = 200, OTHER = 300 };

static void map(struct world *world, int32_t pid, uint64_t start, uint64_t end, const char *path)
{
	const struct world_map map = {
		.start = start, .end = end, .file_offset = 0x100000 + start, .identity.inode = 7};
	CHECK_EQ(world_mmap(world, pid, &map, path, true), 0);
}

/* The path of what is mapped at an address; "-" for nothing. */
static const char *at(struct world *world, int32_t pid, uint64_t address)
{
	struct world_process *process = world_find(world, pid);
	const struct world_map *found = process ? world_map_at(process, address) : NULL;
	return found ? found->path : "-";
}

static void set_maps(struct world *world, int32_t pid, const char *text)
{
	CHECK_EQ(world_set_maps(world, pid, text, strlen(text)), 0);
}

struct all_maps {
	size_t nr;
	uint64_t end;
	bool sorted;
};

static void look_at_map(void *context, struct world_process *process, struct world_map *found)
{
	struct all_maps *all = context;
	(void)process;
	all->nr++;
	all->sorted &= found->start >= all->end && found->end > found->start;
	all->end = found->end;
}

/* Only for a world of one process. */
static struct all_maps all_maps_of(struct world *world)
{
	struct all_maps all = {.sorted = true};
	world_each_map(world, look_at_map, &all);
	return all;
}

static bool doubtful(struct world *world, int32_t pid)
{
	struct world_process *process = world_find(world, pid);
	CHECK(process);
	return world_process_doubtful(process);
}

static uint64_t generation(struct world *world, int32_t pid)
{
	struct world_process *process = world_find(world, pid);
	CHECK(process);
	return world_generation(process);
}

/* ---- mappings ---- */

static void addresses_find_their_mapping(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x3000, 0x4000, "b");
	map(world, SHELL, 0x1000, 0x2000, "a");
	CHECK_STR(at(world, SHELL, 0xfff), "-");
	CHECK_STR(at(world, SHELL, 0x1000), "a");
	CHECK_STR(at(world, SHELL, 0x1fff), "a");
	CHECK_STR(at(world, SHELL, 0x2000), "-");
	CHECK_STR(at(world, SHELL, 0x3000), "b");
	CHECK_STR(at(world, SHELL, 0x4000), "-");
	CHECK_STR(at(world, SHELL, UINT64_MAX), "-");
	CHECK_STR(at(world, OTHER, 0x1000), "-");
	world_free(world);
}

static void a_mapping_in_the_middle_leaves_both_ends(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x9000, "library");
	map(world, SHELL, 0x3000, 0x5000, "patch");
	CHECK_STR(at(world, SHELL, 0x2fff), "library");
	CHECK_STR(at(world, SHELL, 0x3000), "patch");
	CHECK_STR(at(world, SHELL, 0x4fff), "patch");
	CHECK_STR(at(world, SHELL, 0x5000), "library");
	const struct world_map *tail = world_map_at(world_find(world, SHELL), 0x5000);
	CHECK_EQ(tail->start, 0x5000);
	CHECK_EQ(tail->end, 0x9000);
	CHECK_EQ(tail->file_offset, 0x100000 + 0x5000);
	CHECK_EQ(tail->identity.inode, 7);
	const struct world_map *head = world_map_at(world_find(world, SHELL), 0x1000);
	CHECK_EQ(head->end, 0x3000);
	CHECK_EQ(head->file_offset, 0x100000 + 0x1000);
	CHECK_EQ(all_maps_of(world).nr, 3);
	world_free(world);
}

static void a_mapping_over_several_cuts_the_outer_and_drops_the_inner(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x3000, "a");
	map(world, SHELL, 0x3000, 0x4000, "b");
	map(world, SHELL, 0x5000, 0x6000, "c");
	map(world, SHELL, 0x6000, 0x9000, "d");
	map(world, SHELL, 0x2000, 0x7000, "over");
	CHECK_STR(at(world, SHELL, 0x1fff), "a");
	CHECK_STR(at(world, SHELL, 0x2000), "over");
	CHECK_STR(at(world, SHELL, 0x5800), "over");
	CHECK_STR(at(world, SHELL, 0x7000), "d");
	CHECK_EQ(all_maps_of(world).nr, 3);
	world_free(world);
}

static void data_over_code_takes_it_away(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x4000, "code");
	CHECK_EQ(world_mmap(world, SHELL, &(struct world_map){.start = 0x2000, .end = 0x3000},
			    "data", false),
		 0);
	CHECK_STR(at(world, SHELL, 0x2000), "-");
	CHECK_STR(at(world, SHELL, 0x1000), "code");
	CHECK_STR(at(world, SHELL, 0x3000), "code");
	world_free(world);
}

static void another_library_at_the_same_address(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x4000, "first");
	world_map_at(world_find(world, SHELL), 0x1000)->module = world;
	uint64_t before = generation(world, SHELL);
	map(world, SHELL, 0x1000, 0x4000, "second");
	CHECK_STR(at(world, SHELL, 0x1000), "second");
	CHECK(!world_map_at(world_find(world, SHELL), 0x1000)->module);
	CHECK(generation(world, SHELL) != before);
	CHECK_EQ(all_maps_of(world).nr, 1);
	world_free(world);
}

static void an_empty_or_inverted_mapping_is_none(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x1000, "x");
	map(world, SHELL, 0x2000, 0x1000, "x");
	map(world, SHELL, 0, UINT64_MAX, "all");
	CHECK_STR(at(world, SHELL, 0), "all");
	CHECK_EQ(all_maps_of(world).nr, 1);
	world_free(world);
}

/* Against an array that holds the owner of every page. */
static void thousands_of_mappings_agree_with_a_plain_model(void)
{
	enum { PAGES = 64, STEPS = 20000 };
	static const char *const paths[] = {"a", "b", "c", "d"};
	const char *model[PAGES];
	for (size_t i = 0; i < PAGES; i++)
		model[i] = "-";
	struct world *world = world_new();
	unsigned random = 12345;
	for (size_t step = 0; step < STEPS; step++) {
		random = random * 1103515245 + 12345;
		size_t from = (random >> 8) % PAGES, nr = 1 + (random >> 16) % 12;
		if (from + nr > PAGES)
			nr = PAGES - from;
		bool executable = (random >> 24) % 4 != 0;
		const char *path = executable ? paths[(random >> 26) % 4] : "-";
		const struct world_map added = {.start = from * 4096, .end = (from + nr) * 4096};
		CHECK_EQ(world_mmap(world, SHELL, &added, path, executable), 0);
		for (size_t i = from; i < from + nr; i++)
			model[i] = path;
		for (size_t i = 0; i < PAGES; i++)
			CHECK_STR(at(world, SHELL, i * 4096 + random % 4096), model[i]);
		CHECK(all_maps_of(world).sorted);
	}
	world_free(world);
}

static void without_end_new_mappings_the_maps_are_asked_for_again(void)
{
	enum { MANY = 40000 };
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	bool was_doubtful = false;
	for (uint64_t i = 1; i < MANY; i++) {
		map(world, SHELL, i << 16, (i << 16) + 0x1000, "jit");
		was_doubtful |= doubtful(world, SHELL);
		CHECK_STR(at(world, SHELL, i << 16), "jit");
	}
	CHECK(was_doubtful);
	CHECK(all_maps_of(world).nr < MANY / 2);
	world_free(world);
}

/* ---- maps text ---- */

static void maps_replace_the_space(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x2000, "old");
	CHECK(doubtful(world, SHELL));
	uint64_t before = generation(world, SHELL);
	set_maps(world, SHELL,
		 "3000-4000 r--p 0 8:1 9 /lib/x\n4000-5000 r-xp 1000 8:1 9     /lib/x\n"
		 "garbage\n7000-8000 r-xp 0 0:0 0 [vdso]\n");
	CHECK(!doubtful(world, SHELL));
	CHECK(generation(world, SHELL) != before);
	CHECK_STR(at(world, SHELL, 0x1000), "-");
	CHECK_STR(at(world, SHELL, 0x3000), "-");
	CHECK_STR(at(world, SHELL, 0x4000), "/lib/x");
	CHECK_STR(at(world, SHELL, 0x7000), "[vdso]");
	const struct world_map *found = world_map_at(world_find(world, SHELL), 0x4000);
	CHECK_EQ(found->file_offset, 0x1000);
	CHECK_EQ(found->identity.device_major, 8);
	CHECK_EQ(found->identity.device_minor, 1);
	CHECK_EQ(found->identity.inode, 9);
	world_free(world);
}

static void overlapping_lines_do_not_harm(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL,
		 "4000-9000 r-xp 0 0:0 0 a\n1000-5000 r-xp 0 0:0 0 b\n2000-3000 r-xp 0 0:0 0 c\n");
	CHECK_STR(at(world, SHELL, 0x1000), "b");
	CHECK_STR(at(world, SHELL, 0x2000), "c");
	CHECK_STR(at(world, SHELL, 0x4fff), "b");
	CHECK_STR(at(world, SHELL, 0x5000), "a");
	CHECK(all_maps_of(world).sorted);
	world_free(world);
}

static void no_line_means_ask_again(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x2000, "kept");
	CHECK_EQ(world_set_maps(world, SHELL, "", 0), -EAGAIN);
	CHECK_EQ(world_set_maps(world, SHELL, "nonsense\n", 9), -EAGAIN);
	CHECK(doubtful(world, SHELL));
	CHECK_STR(at(world, SHELL, 0x1000), "kept");
	/* Lines, but no code: that is an answer. */
	set_maps(world, SHELL, "1000-2000 r--p 0 0:0 0 a\n");
	CHECK(!doubtful(world, SHELL));
	CHECK_STR(at(world, SHELL, 0x1000), "-");
	world_free(world);
}

static void lost_records_put_everything_in_doubt(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	set_maps(world, OTHER, "1000-2000 r-xp 0 0:0 0 a\n");
	world_doubt_all(world);
	CHECK(doubtful(world, SHELL) && doubtful(world, OTHER));
	CHECK_STR(at(world, SHELL, 0x1000), "a");
	world_free(world);
}

/* ---- fork, exec, exit ---- */

static void a_forked_process_has_the_maps_of_its_parent(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(!doubtful(world, CHILD));
	CHECK_STR(at(world, CHILD, 0x1000), "a");
	CHECK_STR(world_comm_of(world, CHILD, CHILD), "sh");
	CHECK(generation(world, CHILD) != generation(world, SHELL));
	/* From now on each goes its own way. */
	map(world, CHILD, 0x5000, 0x6000, "child's");
	map(world, SHELL, 0x7000, 0x8000, "parent's");
	CHECK_STR(at(world, SHELL, 0x5000), "-");
	CHECK_STR(at(world, CHILD, 0x7000), "-");
	CHECK_STR(at(world, CHILD, 0x1000), "a");
	CHECK_STR(at(world, SHELL, 0x1000), "a");
	world_free(world);
}

static void a_module_set_in_one_process_is_not_set_in_its_fork(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 rwxp 0 0:0 0\n");
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	world_map_at(world_find(world, CHILD), 0x1000)->module = world;
	CHECK(!world_map_at(world_find(world, SHELL), 0x1000)->module);
	CHECK(world_map_at(world_find(world, CHILD), 0x1000)->module == world);
	/* What the parent had found out before is the child's too. */
	CHECK_EQ(world_fork(world, OTHER, OTHER, CHILD, CHILD), 0);
	CHECK(world_map_at(world_find(world, OTHER), 0x1000)->module == world);
	world_free(world);
}

static void what_was_borrowed_outlives_records_of_others(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	struct world_map *parents = world_map_at(world_find(world, SHELL), 0x1000);
	struct world_map *childs = world_map_at(world_find(world, CHILD), 0x1000);
	for (uint64_t i = 1; i < 100; i++)
		map(world, CHILD, i << 16, (i << 16) + 1, "x");
	CHECK_STR(parents->path, "a");
	CHECK_EQ(parents->start, 0x1000);
	childs = world_map_at(world_find(world, CHILD), 0x1000);
	const char *path = childs->path;
	CHECK_EQ(world_exit(world, SHELL, SHELL), 0);
	CHECK_EQ(childs->start, 0x1000);
	CHECK_EQ(world_exit(world, CHILD, CHILD), 0);
	CHECK_STR(path, "a"); /* interned: as long as the world */
	world_free(world);
}

static size_t heap_in_use(void)
{
	return mallinfo2().uordblks;
}

static void paths_are_dropped_when_nothing_has_them(void)
{
	struct world *world = world_new();
	char path[2000];
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	CHECK_EQ(world_fork(world, SHELL, SHELL, 1, 1), 0);
	map(world, SHELL, 0x1000, 0x2000, "/stays");
	map(world, SHELL, 0x5000, 0x6000, "");
	size_t before = heap_in_use();
	for (int i = 0; i < 2000; i++) {
		snprintf(path, 10, "/%08d", i);
		path[9] = 'x';
		map(world, SHELL, 0x3000, 0x4000, path); /* in the place of the one before */
	}
	CHECK(heap_in_use() > before + 2000 * sizeof(path));
	world_drop_names(world);
	CHECK(heap_in_use() < before + 100000);
	CHECK_STR(at(world, SHELL, 0x1000), "/stays");
	CHECK_STR(at(world, SHELL, 0x3000), path);
	CHECK_STR(at(world, SHELL, 0x5000), "");
	world_drop_names(world);
	CHECK_STR(at(world, SHELL, 0x1000), "/stays");
	map(world, SHELL, 0x7000, 0x8000, "/stays");
	CHECK_STR(at(world, SHELL, 0x7000), "/stays");
	world_free(world);
}

static void a_fork_of_one_in_doubt_is_in_doubt(void)
{
	struct world *world = world_new();
	map(world, SHELL, 0x1000, 0x2000, "a");
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(doubtful(world, CHILD));
	CHECK_STR(at(world, CHILD, 0x1000), "a");
	CHECK_EQ(world_fork(world, OTHER, OTHER, 12345, 12345), 0);
	CHECK(doubtful(world, OTHER));
	world_free(world);
}

static void a_thread_shares_the_space(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	uint64_t before = generation(world, SHELL);
	CHECK_EQ(world_fork(world, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK_EQ(generation(world, SHELL), before);
	CHECK(!world_find(world, SHELL + 1));
	CHECK(world_knows_thread(world, SHELL, SHELL + 1));
	CHECK_STR(world_comm_of(world, SHELL, SHELL + 1), "sh");
	CHECK_EQ(world_comm(world, SHELL, SHELL + 1, "worker", false), 0);
	CHECK_STR(world_comm_of(world, SHELL, SHELL + 1), "worker");
	CHECK_STR(world_comm_of(world, SHELL, SHELL), "sh");
	world_free(world);
}

static void exec_drops_every_map_and_every_other_thread(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(world_fork(world, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	uint64_t before = generation(world, SHELL);
	uint32_t image = world_process_exec_count(world_find(world, SHELL));
	CHECK_EQ(world_comm(world, SHELL, SHELL, "ls", true), 0);
	CHECK_STR(at(world, SHELL, 0x1000), "-");
	CHECK_STR(at(world, CHILD, 0x1000), "a");
	CHECK(!doubtful(world, SHELL));
	CHECK(generation(world, SHELL) != before);
	CHECK(world_process_exec_count(world_find(world, SHELL)) != image);
	CHECK(!world_knows_thread(world, SHELL, SHELL + 1));
	CHECK_STR(world_comm_of(world, SHELL, SHELL), "ls");
	/* No exec: nothing is dropped. */
	map(world, SHELL, 0x1000, 0x2000, "ls");
	CHECK_EQ(world_comm(world, SHELL, SHELL, "renamed", false), 0);
	CHECK_STR(at(world, SHELL, 0x1000), "ls");
	world_free(world);
}

static void exec_ends_doubt(void)
{
	struct world *world = world_new();
	CHECK_EQ(world_comm(world, SHELL, SHELL, "sh", false), 0);
	CHECK(doubtful(world, SHELL));
	CHECK_EQ(world_comm(world, SHELL, SHELL, "ls", true), 0);
	CHECK(!doubtful(world, SHELL));
	world_free(world);
}

static void a_process_goes_with_its_last_thread(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	CHECK_EQ(world_fork(world, SHELL, SHELL + 1, SHELL, SHELL), 0);
	/* The leader first: its siblings go on in the same space, and its name is still the process's. */
	CHECK_EQ(world_exit(world, SHELL, SHELL), 0);
	CHECK_STR(at(world, SHELL, 0x1000), "a");
	CHECK(!world_knows_thread(world, SHELL, SHELL));
	CHECK_STR(world_comm_of(world, SHELL, SHELL), "sh");
	CHECK_EQ(world_exit(world, SHELL, SHELL + 1), 0);
	CHECK(!world_find(world, SHELL));
	CHECK_STR(world_comm_of(world, SHELL, SHELL), "");
	CHECK_EQ(world_exit(world, SHELL, SHELL), 0); /* of one never heard of */
	world_free(world);
}

static void a_reused_pid_is_another_process(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 shell\n");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	set_maps(world, CHILD, "1000-2000 r-xp 0 0:0 0 former\n");
	CHECK_EQ(world_set_thread(world, CHILD, CHILD, "former"), 0);
	CHECK_EQ(world_set_thread(world, CHILD, CHILD + 1, "former's"), 0);
	uint64_t before = generation(world, CHILD);
	uint32_t image = world_process_exec_count(world_find(world, CHILD));
	/* Its end was lost; then the pid is forked again. */
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK_STR(at(world, CHILD, 0x1000), "shell");
	CHECK_STR(world_comm_of(world, CHILD, CHILD), "sh");
	CHECK(!world_knows_thread(world, CHILD, CHILD + 1));
	CHECK(generation(world, CHILD) != before);
	CHECK(world_process_exec_count(world_find(world, CHILD)) != image);
	/* Its end was seen: the same holds. */
	image = world_process_exec_count(world_find(world, CHILD));
	CHECK_EQ(world_exit(world, CHILD, CHILD), 0);
	CHECK_EQ(world_fork(world, CHILD, CHILD, SHELL, SHELL), 0);
	CHECK(world_process_exec_count(world_find(world, CHILD)) != image);
	world_free(world);
}

static void before_any_record_images_are_zero(void)
{
	struct world *world = world_new();
	set_maps(world, SHELL, "1000-2000 r-xp 0 0:0 0 a\n");
	CHECK_EQ(world_process_exec_count(world_find(world, SHELL)), 0);
	CHECK_EQ(world_process_pid(world_find(world, SHELL)), SHELL);
	world_free(world);
}

static void generations_never_repeat(void)
{
	enum { NR = 2000 };
	static uint64_t seen[NR * 3];
	size_t nr = 0;
	struct world *world = world_new();
	for (int32_t pid = 1; pid <= NR; pid++) {
		CHECK_EQ(world_fork(world, pid, pid, pid - 1, pid - 1), 0);
		seen[nr++] = generation(world, pid);
		map(world, pid, 0x1000, 0x2000, "a");
		seen[nr++] = generation(world, pid);
		CHECK_EQ(world_comm(world, pid, pid, "x", true), 0);
		seen[nr++] = generation(world, pid);
		if (pid % 2)
			CHECK_EQ(world_exit(world, pid, pid), 0);
	}
	for (size_t i = 1; i < nr; i++)
		CHECK(seen[i] > seen[i - 1]);
	world_free(world);
}

/* ---- names ---- */

static void a_thread_of_an_unnamed_parent_is_not_known(void)
{
	struct world *world = world_new();
	CHECK_EQ(world_fork(world, SHELL, SHELL + 1, SHELL, SHELL), 0);
	CHECK(!world_knows_thread(world, SHELL, SHELL + 1));
	CHECK_EQ(world_set_thread(world, SHELL, SHELL, "sh"), 0);
	CHECK_STR(world_comm_of(world, SHELL, SHELL + 1), "sh");
	CHECK_EQ(world_set_thread(world, SHELL, SHELL + 1, "worker"), 0);
	CHECK_STR(world_comm_of(world, SHELL, SHELL + 1), "worker");
	CHECK(world_knows_thread(world, SHELL, SHELL + 1));
	/* It counts as alive all the same. */
	CHECK_EQ(world_exit(world, SHELL, SHELL), 0);
	CHECK(world_find(world, SHELL));
	world_free(world);
}

static void names_may_be_empty_or_too_long(void)
{
	char longest[200];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	struct world *world = world_new();
	CHECK_EQ(world_comm(world, SHELL, SHELL, "", false), 0);
	CHECK(world_knows_thread(world, SHELL, SHELL));
	CHECK_STR(world_comm_of(world, SHELL, SHELL), "");
	CHECK_EQ(world_comm(world, SHELL, SHELL, longest, false), 0);
	const char *comm = world_comm_of(world, SHELL, SHELL);
	CHECK(strlen(comm) >= 15 && strlen(comm) < sizeof(longest));
	CHECK(strncmp(comm, longest, strlen(comm)) == 0);
	world_free(world);
}

int main(void)
{
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
	RUN(what_was_borrowed_outlives_records_of_others);
	RUN(paths_are_dropped_when_nothing_has_them);
	RUN(a_fork_of_one_in_doubt_is_in_doubt);
	RUN(a_thread_shares_the_space);
	RUN(exec_drops_every_map_and_every_other_thread);
	RUN(exec_ends_doubt);
	RUN(a_process_goes_with_its_last_thread);
	RUN(a_reused_pid_is_another_process);
	RUN(before_any_record_images_are_zero);
	RUN(generations_never_repeat);
	RUN(a_thread_of_an_unnamed_parent_is_not_known);
	RUN(names_may_be_empty_or_too_long);
	return test_done();
}
