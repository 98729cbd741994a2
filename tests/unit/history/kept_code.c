/* SPDX-License-Identifier: MIT */
/* Code that a recording has kept, by the history's modules. */
#include <ctop/history/history.h>
#include <ctop/store/kept_code.h>

#include <stdlib.h>

#include "hand_made.h"

static struct profile profile;

static void keep(uint64_t start, uint32_t size, uint8_t fill)
{
	uint8_t *bytes = malloc(size);
	const struct kept_code code = {
		.start = start, .module = profile.program, .size = size, .machine = 62};
	memset(bytes, fill, size);
	CHECK_EQ(symbols_keep_code(&profile.symbols, &code, bytes), 0);
	free(bytes);
}

static void sample_program(struct history *history)
{
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	add(history, &profile, profile.one, (struct node_id){0},
	    frame(&profile, profile.program, 0x100, "main"), STACK_COMPLETE, 1);
}

enum { PROGRAM = 2 /* behind the rows that are always there */ };

static bool is_kept(struct history *history, uint64_t start, uint32_t size, uint8_t fill)
{
	struct history_code code;
	CHECK_EQ(history_update_names(history), 0);
	CHECK_STR(history_module(history, PROGRAM).path, "/bin/program");
	if (!history_code(history, PROGRAM, start, "any", &code))
		return false;
	CHECK_EQ(code.size, size);
	CHECK_EQ(code.machine, 62);
	CHECK_EQ(code.bytes[0], fill);
	CHECK_EQ(code.bytes[size - 1], fill);
	return true;
}

static void code_is_found_by_where_it_begins(void)
{
	struct history *history = history_new();
	open_profile(&profile);
	keep(0x100, 20, 0x90);
	sample_program(history);
	CHECK(is_kept(history, 0x100, 20, 0x90));
	CHECK(!is_kept(history, 0x101, 20, 0x90));
	keep(0x200, 30, 0xc3);
	CHECK(is_kept(history, 0x200, 30, 0xc3));
	CHECK(is_kept(history, 0x100, 20, 0x90));
	close_profile(&profile);
	history_free(history);
}

/* A reader hands code over before the first sample. */
static void it_may_come_before_its_module(void)
{
	struct history *history = history_new();
	open_profile(&profile);
	keep(0x100, 20, 0x90);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	CHECK_EQ(history_update_names(history), 0);
	add(history, &profile, profile.one, (struct node_id){0},
	    frame(&profile, profile.program, 0x100, "main"), STACK_COMPLETE, 1);
	CHECK(is_kept(history, 0x100, 20, 0x90));
	close_profile(&profile);
	history_free(history);
}

static void of_two_that_differ_neither_is_shown(void)
{
	struct history *history = history_new();
	open_profile(&profile);
	keep(0x100, 20, 0x90);
	keep(0x100, 20, 0x90);
	keep(0x200, 20, 0x90);
	keep(0x200, 20, 0x91);
	keep(0x300, 20, 0x90);
	keep(0x300, 21, 0x90);
	sample_program(history);
	CHECK(is_kept(history, 0x100, 20, 0x90));
	CHECK(!is_kept(history, 0x200, 20, 0x90));
	CHECK(!is_kept(history, 0x300, 20, 0x90));
	close_profile(&profile);
	/* Another epoch says otherwise. */
	open_profile(&profile);
	keep(0x100, 20, 0x91);
	sample_program(history);
	CHECK(!is_kept(history, 0x100, 20, 0x90));
	close_profile(&profile);
	history_free(history);
}

static void keep_named(struct module_id module, uint64_t start, const char *name, uint8_t fill)
{
	uint8_t bytes[16];
	const struct kept_code code = {
		.start = start,
		.module = module,
		.size = sizeof(bytes),
		.machine = 62,
		.read_ns = fill,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
	};
	memset(bytes, fill, sizeof(bytes));
	CHECK_EQ(symbols_keep_code(&profile.symbols, &code, bytes), 0);
}

/* Which bytes a function has that was there; 0: none. */
static uint8_t filled(const struct history *history, const char *name)
{
	struct history_code code;
	if (!history_code(history, PROGRAM, 0x100, name, &code))
		return 0;
	CHECK_EQ(code.size, 16);
	CHECK_EQ(code.read_ns, code.bytes[0]);
	CHECK_STR(code.name, name);
	return code.bytes[15];
}

static void functions_that_take_each_others_place_keep_their_own(void)
{
	static const enum module_kind kinds[] = {MODULE_ANON, MODULE_KERNEL};
	for (size_t i = 0; i < 2; i++) {
		struct history *history = history_new();
		open_profile(&profile);
		const struct module_id made = module(&profile, kinds[i], "[made]");
		keep_named(made, 0x100, "first", 1);
		keep_named(made, 0x100, "second", 2);
		keep_named(made, 0x100, "third", 3);
		keep_named(made, 0x100, "third", 4); /* compiled again, to something else */
		keep_named(made, 0x100, "first", 1);
		const struct kept_code nameless = {.start = 0x100, .module = made, .size = 1};
		CHECK_EQ(symbols_keep_code(&profile.symbols, &nameless, "x"), 0);
		CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
		add(history, &profile, profile.one, (struct node_id){0},
		    frame(&profile, made, 0x100, "second"), STACK_COMPLETE, 1);
		CHECK_EQ(history_update_names(history), 0);
		CHECK_EQ(filled(history, "first"), 1);
		CHECK_EQ(filled(history, "second"), 2);
		CHECK_EQ(filled(history, "third"), 0);
		CHECK_EQ(filled(history, "fourth"), 0);
		CHECK_EQ(filled(history, "secon"), 0);
		CHECK_EQ(filled(history, NULL), 0);
		close_profile(&profile);
		history_free(history);
	}
}

static int add_up(void *context, uint64_t start, const struct history_code *code)
{
	uint64_t *bytes = context;
	CHECK(start && code->bytes);
	*bytes += code->size;
	return 0;
}

static void no_file_makes_it_more_than_a_mebibyte(void)
{
	struct history *history = history_new();
	uint64_t bytes = 0;
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		open_profile(&profile);
		for (uint64_t i = 1; symbols_code_room(&profile.symbols) >= 100 << 10; i++)
			keep((epoch << 32) + (i << 20), 100 << 10, 1);
		sample_program(history);
		CHECK_EQ(history_update_names(history), 0);
		close_profile(&profile);
	}
	CHECK_EQ(history_each_code(history, PROGRAM, add_up, &bytes), 0);
	CHECK_EQ(bytes, 10 * (100 << 10));
	history_free(history);
}

int main(void)
{
	RUN(code_is_found_by_where_it_begins);
	RUN(it_may_come_before_its_module);
	RUN(of_two_that_differ_neither_is_shown);
	RUN(functions_that_take_each_others_place_keep_their_own);
	RUN(no_file_makes_it_more_than_a_mebibyte);
	return test_done();
}
