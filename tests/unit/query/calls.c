/* SPDX-License-Identifier: MIT */
/* System calls of a recording that has more of them than any kernel: looking at each must not look at all others. */
#include "history/hand_made.h"

enum { CALLS = 15000 };

static void as_many_as_there_are_functions(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	struct frame_id entry = frame(&profile, profile.kernel, 0x1000, "do_syscall_64");
	struct node_id entered = node(&profile, (struct node_id){0}, entry);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	for (uint64_t i = 0; i < 2 * CALLS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%s%d", i < CALLS ? "call" : "vfs_call",
			 (int)(i % CALLS));
		struct frame_id call = frame(&profile, profile.kernel, 0x10000 + 16 * i, name);
		add(history, &profile, profile.one, entered, call, STACK_COMPLETE,
		    i < CALLS ? 2 : 1);
	}
	struct selection *selection = selection_new(history);
	struct selection_calls calls = {0};
	CHECK_EQ(selection_refresh(selection, UINT64_MAX), 0);
	CHECK_EQ(selection_calls(selection, &calls), 0);
	CHECK_EQ(calls.nr, CALLS);
	for (size_t i = 0; i < calls.nr; i++) {
		const char *name = history_function_name(history, calls.items[i].function);
		CHECK_EQ(calls.items[i].weight, 30);
		CHECK(!strncmp(name, "call", 4)); /* the heavier one */
	}
	free(calls.items);
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

int main(void)
{
	RUN(as_many_as_there_are_functions);
	return test_done();
}
