/* SPDX-License-Identifier: MIT */
/* Folded stacks of a made-up profile: lines in the order of their bytes, what reads the same as one. */
#include <ctop/format/formats.h>

#include <stdlib.h>

#include <ctop/base/text.h>

#include "../history/hand_made.h"

static struct profile profile;
static struct history *history;

static void begin(void)
{
	profile = (struct profile){0};
	open_profile(&profile);
	history = history_new();
	CHECK(history != NULL);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
}

static void end(void)
{
	history_free(history);
	close_profile(&profile);
}

/* One stack, its functions root first and parted by spaces; of each a new place in the program. */
static void add_stack(struct task_id task, const char *functions, int samples)
{
	static uint64_t address;
	char text[256];
	struct node_id callers = {0};
	struct frame_id leaf = {0};
	snprintf(text, sizeof(text), "%s", functions);
	for (char *name = strtok(text, " "); name; name = strtok(NULL, " ")) {
		if (leaf.index)
			callers = node(&profile, callers, leaf);
		leaf = frame(&profile, profile.program, address += 16, name);
	}
	add(history, &profile, task, callers, leaf, leaf.index ? STACK_COMPLETE : STACK_KERNEL_ONLY,
	    samples);
}

static int take(void *context, const void *bytes, size_t size)
{
	text_add_bytes(context, bytes, size);
	return 0;
}

static void check_folded(enum grouping by, bool count_samples, const char *expected)
{
	struct text out = {0};
	const struct export_sink sink = {.context = &out, .write = take};
	struct selection *selection = selection_of_all(history);
	CHECK(selection != NULL);
	const struct export_request request = {.history = history,
					       .selection = selection,
					       .sink = &sink,
					       .grouping = by,
					       .count_samples = count_samples};
	CHECK_EQ(format_named("folded")->write(&request), 0);
	CHECK_STR(text_string(&out), expected);
	selection_free(selection);
	text_release(&out);
}

/* '!' is before ';', and '<' behind it: a name that goes on may come before or behind one that ends. */
static void lines_are_in_the_order_of_their_bytes(void)
{
	begin();
	add_stack(profile.one, "a<b", 1);
	add_stack(profile.one, "a z", 2);
	add_stack(profile.one, "a!b", 3);
	add_stack(profile.one, "a", 4);
	add_stack(profile.one, "a!b c", 5);
	add_stack(profile.one, "a b z", 6);
	add_stack(task(&profile, 30, "one!"), "a", 7);
	add_stack(profile.one, "", 8);
	check_folded(GROUPING_INLINE, true,
		     "one 8\n"
		     "one!;a 7\n"
		     "one;a 4\n"
		     "one;a!b 3\n"
		     "one;a!b;c 5\n"
		     "one;a;b;z 6\n"
		     "one;a;z 2\n"
		     "one;a<b 1\n");
	end();
}

static void what_reads_the_same_is_one_line(void)
{
	begin();
	add_stack(profile.one, "f(int) g(int)", 1);
	add_stack(profile.one, "f(char) g(char)", 2);
	add_stack(profile.one, "f;g", 3);
	add_stack(profile.one, "f:g", 4);
	add_stack(task(&profile, 30, "one"), "f g", 5);
	add_stack(task(&profile, 31, "t t"), "f", 6);
	add_stack(task(&profile, 32, "t_t"), "f", 7);
	check_folded(GROUPING_INLINE, true,
		     "one;f:g 7\n"
		     "one;f;g 8\n"
		     "t_t;f 13\n");
	check_folded(GROUPING_INLINE, false,
		     "one;f:g 70\n"
		     "one;f;g 80\n"
		     "t_t;f 130\n");
	end();
}

static void threads_and_processes_are_told_apart(void)
{
	begin();
	add_stack(profile.one, "f", 1);
	add_stack(profile.one, "f", 2);
	add_stack(task(&profile, 30, "one"), "f", 4);
	check_folded(GROUPING_THREAD, true,
		     "one-10/10;f 3\n"
		     "one-10/30;f 4\n");
	check_folded(GROUPING_PROCESS, true, "one-10;f 7\n");
	end();
}

int main(void)
{
	RUN(lines_are_in_the_order_of_their_bytes);
	RUN(what_reads_the_same_is_one_line);
	RUN(threads_and_processes_are_told_apart);
	return 0;
}
