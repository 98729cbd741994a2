/* SPDX-License-Identifier: MIT */
/* Frames that are called after their line, address or module. */
#include <stdlib.h>
#include <string.h>

#include "hand_made.h"

struct seen {
	const struct history *history;
	struct function_id leaf;
	size_t nr_frames;
	uint32_t line;
	uint64_t address;
};

static int see(void *context, const struct history_stack *stack)
{
	struct seen *seen = context;
	const struct history_frame *last = &stack->frames[stack->nr_frames - 1];
	seen->leaf = last->function;
	seen->nr_frames = stack->nr_frames;
	seen->line = last->line;
	seen->address = last->address;
	return 0;
}

/* A stack of two functions, the innermost at a line of that file. */
static struct seen seen_of(struct history *history, struct profile *profile, const char *file,
			   enum grouping grouping)
{
	struct seen seen = {.history = history};
	open_profile(profile);
	struct frame_id in_main = frame(profile, profile->program, 0x100, "main");
	struct frame_id leaf = frame(profile, profile->program, 0x300, "leaf(int)");
	const struct symbol_line line = {NULL, file, 12};
	CHECK_EQ(symbols_set_lines(profile->namer, leaf, &line, 1), 0);
	history_set_grouping(history, grouping);
	CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
	add(history, profile, profile->one, node(profile, (struct node_id){0}, in_main), leaf,
	    STACK_COMPLETE, 1);
	CHECK_EQ(history_update_names(history), 0);
	struct selection *selection = selection_of_all(history);
	CHECK(selection && !selection_each_stack(selection, see, &seen));
	selection_free(selection);
	return seen;
}

static void check_name(enum grouping grouping, const char *file, const char *name,
		       size_t place_bytes, size_t nr_frames)
{
	struct history *history = history_new();
	struct profile profile;
	const struct seen seen = seen_of(history, &profile, file, grouping);
	CHECK_STR(history_function_name(history, seen.leaf), name);
	CHECK_EQ(history_function_place_bytes(history, seen.leaf), place_bytes);
	CHECK_EQ(seen.nr_frames, nr_frames);
	CHECK_EQ(seen.line, grouping == GROUPING_MODULE ? 0 : 12);
	CHECK_EQ(seen.address, grouping == GROUPING_MODULE ? 0 : 0x300);
	history_free(history);
	close_profile(&profile);
}

static void each_is_called_after_its_place(void)
{
	check_name(GROUPING_INLINE, "/src/a.c", "leaf(int)", 0, 2);
	check_name(GROUPING_FUNCTION, "/src/a.c", "leaf(int)", 0, 2);
	check_name(GROUPING_LINE, "/src/a.c", "a.c:12 leaf(int)", strlen("a.c:12 "), 2);
	check_name(GROUPING_ADDRESS, "/src/a.c", "0x300 leaf(int)", strlen("0x300 "), 2);
	/* One that calls itself is one frame. */
	check_name(GROUPING_MODULE, "/src/a.c", "/bin/program", strlen("/bin/program"), 1);
}

/* Names are cut: what stands in front of a function's own is no longer than they. */
static void names_that_are_too_long(void)
{
	enum { BYTES = 9000 };
	struct history *history = history_new();
	struct profile profile;
	char *file = malloc(BYTES + 1);
	memset(file, 'x', BYTES);
	file[BYTES] = '\0';
	const struct seen seen = seen_of(history, &profile, file, GROUPING_LINE);
	const char *name = history_function_name(history, seen.leaf);
	const size_t place_bytes = history_function_place_bytes(history, seen.leaf);
	CHECK(place_bytes > 100 && place_bytes <= strlen(name));
	CHECK_STR(name + place_bytes, "leaf(int)");
	history_free(history);
	close_profile(&profile);
	free(file);
}

int main(void)
{
	RUN(each_is_called_after_its_place);
	RUN(names_that_are_too_long);
	return test_done();
}
