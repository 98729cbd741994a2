/* SPDX-License-Identifier: MIT */
/* Rows that are taken from a thread's last stack are those that looking all of it up gives. */
#include <malloc.h>
#include <unistd.h>

#include <ctop/store/tables.h>

#include "jailed/collect/last_stacks.h"
#include "jailed/collect/modules.h"
#include "jailed/collect/output.h"
#include "test.h"

enum { NR_MODULES = 3, DEEPEST = 8192 };

static struct {
	struct output output;
	struct last_stacks *stacks;
	struct module modules[NR_MODULES];
} t;

static void begin_epoch(uint32_t epoch)
{
	if (t.output.writer)
		output_release(&t.output);
	const int fd = tables_memfd_new(&tables_capacity_default);
	CHECK(fd >= 0);
	CHECK_EQ(tables_map(&t.output.tables, fd, &tables_capacity_default, true), 0);
	close(fd);
	t.output.writer = tables_writer_new(&t.output.tables);
	CHECK(t.output.writer != NULL);
	t.output.epoch = epoch;
}

static void start(void)
{
	static const char *const paths[NR_MODULES] = {"a", "b", "c"};
	memset(t.modules, 0, sizeof(t.modules));
	for (size_t i = 0; i < NR_MODULES; i++) {
		t.modules[i].path = paths[i];
		t.modules[i].row.identity.inode = i + 1;
	}
	last_stacks_free(t.stacks);
	t.stacks = last_stacks_new();
	begin_epoch(1);
}

/* A stack of letters, root first: a method, a module and an address each ('a' and 'i' differ in the module); its innermost row must be the one that it has without any memory. */
static void check_stack(int32_t tid, const char *letters)
{
	struct last_stack *last = last_stacks_begin(t.stacks, tid, t.output.epoch);
	struct node_id node = {0};
	for (; *letters; letters++) {
		const enum frame_method method = *letters & 0x20 ? FRAME_CFI : FRAME_FP;
		const uint64_t address = *letters & 7;
		struct module *module = &t.modules[(*letters >> 3 & 3) % NR_MODULES];
		struct frame_id frame;
		CHECK_EQ(last_stacks_add(t.stacks, last, &t.output, module, address, method), 0);
		CHECK_EQ(output_add_frame(&t.output, module, address, &frame), 0);
		CHECK_EQ(tables_add_node(t.output.writer, node, frame, method, &node), 0);
		CHECK_EQ(last->node.index, node.index);
	}
	CHECK_EQ(last->node.index, node.index);
}

static void what_is_shared_and_what_is_not(void)
{
	static const char *const stacks[] = {
		"",    "abc",	 "abc", "abcd", "ab",  "abcd", "aBc",  "abce", "b",   "bbc",
		"abc", "abcABC", "abd", "",	"abd", "abdc", "abdC", "abdk", "aid", "abd"};
	start();
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		check_stack(7, stacks[i]);
		check_stack(8, stacks[sizeof(stacks) / sizeof(*stacks) - 1 - i]);
	}
	/* With a memory in between, that is not its own. */
	for (int32_t tid = 1; tid < 3000; tid++)
		check_stack(tid, stacks[(size_t)tid % (sizeof(stacks) / sizeof(*stacks))]);
}

static void rows_of_another_epoch_are_not_taken(void)
{
	start();
	check_stack(7, "abc");
	begin_epoch(2);
	check_stack(8, "cba");
	check_stack(7, "abc");
}

static void forgotten_stacks_are_looked_up(void)
{
	start();
	check_stack(7, "abc");
	last_stacks_forget(t.stacks);
	/* Modules that lie where others did. */
	memset(t.modules, 0, sizeof(t.modules));
	for (size_t i = 0; i < NR_MODULES; i++)
		t.modules[i].path = "another";
	check_stack(7, "abc");
}

static void memory_is_bounded(void)
{
	start();
	const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	size_t most = 0;
	for (int32_t tid = 0; tid < 60; tid++) {
		struct last_stack *last = last_stacks_begin(t.stacks, tid, t.output.epoch);
		for (uint64_t depth = 0; depth < DEEPEST; depth++)
			CHECK_EQ(last_stacks_add(t.stacks, last, &t.output, &t.modules[0],
						 depth % 10, FRAME_CFI),
				 0);
		const struct mallinfo2 heap = mallinfo2();
		if (heap.uordblks + heap.hblkhd > most)
			most = heap.uordblks + heap.hblkhd;
	}
	/* The writer's own indices are among it. */
	CHECK(most < before + (8 << 20));
}

int main(void)
{
	RUN(what_is_shared_and_what_is_not);
	RUN(rows_of_another_epoch_are_not_taken);
	RUN(forgotten_stacks_are_looked_up);
	RUN(memory_is_bounded);
	last_stacks_free(t.stacks);
	output_release(&t.output);
	return test_done();
}
