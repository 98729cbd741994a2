/* SPDX-License-Identifier: MIT */
#include <ctop/store/symbols.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "test.h"

static const struct symbols_capacity small = {.nr_frames = 16, .string_units = 64, .nr_lines = 8};

static struct symbols_writer *open_small(struct symbols *symbols)
{
	CHECK_EQ(symbols_map(symbols, -1, &small, true), 0);
	struct symbols_writer *writer = symbols_writer_new(symbols);
	CHECK(writer != NULL);
	return writer;
}

static void close_small(struct symbols *symbols, struct symbols_writer *writer)
{
	symbols_writer_free(writer);
	symbols_unmap(symbols);
}

static void a_name_is_read_as_it_was_set(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	const struct frame_id frame = {3}, other = {4};
	CHECK_EQ(symbols_row(&symbols, frame).state, SYMBOL_PENDING);
	uint64_t version = symbols_version(&symbols);
	CHECK_EQ(symbols_set(writer, frame, SYMBOL_NAMED, "main", "program", 12), 0);
	CHECK(symbols_version(&symbols) > version);
	struct symbol_row row = symbols_row(&symbols, frame);
	CHECK_EQ(row.state, SYMBOL_NAMED);
	CHECK_EQ(row.offset, 12);
	CHECK_STR(symbols_string(&symbols, row.name), "main");
	CHECK_STR(symbols_string(&symbols, row.module), "program");
	CHECK_EQ(symbols_set(writer, other, SYMBOL_NAMED, "main", NULL, 0), 0);
	CHECK_EQ(symbols_row(&symbols, other).name.index, row.name.index);
	CHECK_EQ(symbols_row(&symbols, other).module.index, 0);
	CHECK_STR(symbols_string(&symbols, (struct string_id){0}), "");
	close_small(&symbols, writer);
}

static void sources_of_modules(void)
{
	const struct symbols_capacity capacity = {
		.nr_frames = 1, .string_units = 1, .nr_modules = 4};
	const struct module_names known = {NAMES_FROM_KALLSYMS, NAMES_MISSING_KERNEL};
	struct symbols symbols;
	CHECK_EQ(symbols_map(&symbols, -1, &capacity, true), 0);
	struct symbols_writer *writer = symbols_writer_new(&symbols);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){3}).from, NAMES_FROM_UNKNOWN);
	uint64_t version = symbols_version(&symbols);
	symbols_set_module(writer, (struct module_id){3}, &known);
	CHECK(symbols_version(&symbols) > version);
	version = symbols_version(&symbols);
	symbols_set_module(writer, (struct module_id){3}, &known); /* nothing new */
	CHECK_EQ(symbols_version(&symbols), version);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){3}).from, NAMES_FROM_KALLSYMS);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){3}).missing, NAMES_MISSING_KERNEL);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){2}).from, NAMES_FROM_UNKNOWN);
	/* Beyond what there is room for, and what a hostile writer may leave. */
	symbols_set_module(writer, (struct module_id){4}, &known);
	symbols_set_module(writer, (struct module_id){UINT32_MAX}, &known);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){4}).from, NAMES_FROM_UNKNOWN);
	CHECK_EQ(symbols_module(&symbols, (struct module_id){UINT32_MAX}).from, NAMES_FROM_UNKNOWN);
	symbols.modules[1] = UINT32_MAX;
	symbols.modules[2] = NR_NAMES_FROM | (uint32_t)NR_NAMES_MISSING << 16;
	for (uint32_t i = 1; i < 3; i++) {
		const struct module_names names = symbols_module(&symbols, (struct module_id){i});
		CHECK_EQ(names.from, NAMES_FROM_UNKNOWN);
		CHECK_EQ(names.missing, NAMES_MISSING_NOTHING);
	}
	for (uint32_t i = 0; i < NR_NAMES_FROM + 2; i++)
		CHECK(names_from_name(i)[0]);
	for (uint32_t i = NAMES_MISSING_NOTHING + 1; i < NR_NAMES_MISSING; i++)
		CHECK(names_missing_text(i)[0]);
	CHECK_STR(names_missing_text(NR_NAMES_MISSING), "");
	close_small(&symbols, writer);
}

static void a_name_is_never_lost(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	const struct frame_id frame = {1};
	CHECK_EQ(symbols_set(writer, frame, SYMBOL_UNKNOWN, NULL, NULL, UINT32_MAX), 0);
	CHECK_EQ(symbols_row(&symbols, frame).state, SYMBOL_UNKNOWN);
	CHECK_EQ(symbols_set(writer, frame, SYMBOL_NAMED, "late", NULL, 1), 0);
	CHECK_EQ(symbols_set(writer, frame, SYMBOL_NO_MODULE, NULL, NULL, UINT32_MAX), 0);
	CHECK_EQ(symbols_row(&symbols, frame).state, SYMBOL_NAMED);
	CHECK_STR(symbols_string(&symbols, symbols_row(&symbols, frame).name), "late");
	close_small(&symbols, writer);
}

static void frames_and_strings_have_limits(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	char name[300];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(symbols_set(writer, (struct frame_id){16}, SYMBOL_NAMED, "a", NULL, 0), -EINVAL);
	CHECK_EQ(symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, name, NULL, 0), -ENOSPC);
	CHECK_EQ(symbols_row(&symbols, (struct frame_id){1}).state, SYMBOL_PENDING);
	/* 63 units are left: 251 bytes and the NUL. */
	name[251] = '\0';
	CHECK_EQ(symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, name, NULL, 0), 0);
	CHECK_STR(symbols_string(&symbols, symbols_row(&symbols, (struct frame_id){1}).name), name);
	CHECK_EQ(symbols_set(writer, (struct frame_id){2}, SYMBOL_NAMED, "b", NULL, 0), -ENOSPC);
	CHECK_EQ(symbols_row(&symbols, (struct frame_id){99}).state, SYMBOL_PENDING);
	CHECK_STR(symbols_string(&symbols, (struct string_id){UINT32_MAX}), "");
	close_small(&symbols, writer);
}

static void long_names_are_cut(void)
{
	static const struct symbols_capacity roomy = {.nr_frames = 4, .string_units = 8192};
	static char name[SYMBOLS_STRING_MAX + 100];
	struct symbols symbols;
	CHECK_EQ(symbols_map(&symbols, -1, &roomy, true), 0);
	struct symbols_writer *writer = symbols_writer_new(&symbols);
	memset(name, 'x', sizeof(name) - 1);
	CHECK_EQ(symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, name, NULL, 0), 0);
	struct symbol_row row = symbols_row(&symbols, (struct frame_id){1});
	CHECK_EQ(strlen(symbols_string(&symbols, row.name)), SYMBOLS_STRING_MAX);
	close_small(&symbols, writer);
}

static void a_successor_finds_the_same_strings(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	CHECK_EQ(symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, "first", "m", 0), 0);
	symbols_writer_free(writer);
	writer = symbols_writer_new(&symbols);
	CHECK_EQ(symbols_set(writer, (struct frame_id){2}, SYMBOL_NAMED, "first", "other", 0), 0);
	struct symbol_row one = symbols_row(&symbols, (struct frame_id){1});
	struct symbol_row two = symbols_row(&symbols, (struct frame_id){2});
	CHECK_EQ(one.name.index, two.name.index);
	CHECK_STR(symbols_string(&symbols, one.module), "m");
	CHECK_STR(symbols_string(&symbols, two.module), "other");
	close_small(&symbols, writer);
}

static void nobody_can_cut_the_region(void)
{
	int fd = symbols_memfd_new(&small);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 0), -1);
	CHECK_EQ(errno, EPERM);
	struct symbols symbols;
	CHECK_EQ(symbols_map(&symbols, fd, &small, false), 0);
	CHECK_EQ(symbols_row(&symbols, (struct frame_id){1}).state, SYMBOL_PENDING);
	symbols_unmap(&symbols);
	CHECK_EQ(symbols_map(&symbols, fd, &symbols_capacity_default, false), -EINVAL);
	close(fd);
}

/* All rows, all strings, all lengths: whatever bytes they are, reading stays inside. */
static void rubbish_is_survived(void)
{
	struct symbols symbols;
	CHECK_EQ(symbols_map(&symbols, -1, &small, true), 0);
	srand(3);
	for (int round = 0; round < 500; round++) {
		uint8_t *bytes = (uint8_t *)symbols.header;
		for (size_t i = 0; i < symbols.bytes; i++)
			bytes[i] = (uint8_t)(rand() % 3 ? rand() : rand() % 4);
		for (uint32_t i = 0; i < 20; i++) {
			struct symbol_row row = symbols_row(&symbols, (struct frame_id){i});
			CHECK(row.state < NR_SYMBOL_STATES);
			CHECK(strlen(symbols_string(&symbols, row.name)) < 64 * 4);
			CHECK(strlen(symbols_string(&symbols, row.module)) < 64 * 4);
			struct line_row lines[SYMBOLS_LINES_MAX];
			size_t nr = symbols_lines(&symbols, (struct frame_id){i}, lines);
			CHECK(nr <= 8);
			for (size_t line = 0; line < nr; line++)
				CHECK(strlen(symbols_string(&symbols, lines[line].file)) < 64 * 4);
		}
		CHECK(symbols_used_bytes(&symbols) <= symbols.bytes);
		struct symbols_writer *writer = symbols_writer_new(&symbols);
		CHECK(writer != NULL);
		(void)symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, "name", "module", 0);
		const struct symbol_line line = {NULL, "file", 1};
		(void)symbols_set_lines(writer, (struct frame_id){1}, &line, 1);
		symbols_writer_free(writer);
	}
	symbols_unmap(&symbols);
}

static void lines_are_read_as_they_were_set(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	const struct frame_id frame = {3}, other = {4}, none = {5};
	const struct symbol_line set[] = {{NULL, "a.c", 10}, {"inner", "b.h", 20}, {"leaf", "", 0}};
	struct line_row lines[SYMBOLS_LINES_MAX];
	CHECK(!symbols_has_looked_up_lines(&symbols, frame));
	CHECK_EQ(symbols_lines(&symbols, frame, lines), 0);
	CHECK_EQ(symbols_set_lines(writer, frame, set, 3), 0);
	CHECK_EQ(symbols_set_lines(writer, none, NULL, 0), 0);
	/* What comes later is another writer's. */
	symbols_writer_free(writer);
	writer = symbols_writer_new(&symbols);
	CHECK_EQ(symbols_set_lines(writer, other, set, 1), 0);
	CHECK_EQ(symbols_set(writer, frame, SYMBOL_NAMED, "outer", NULL, 0), 0);
	CHECK(symbols_has_looked_up_lines(&symbols, frame));
	CHECK_EQ(symbols_lines(&symbols, frame, lines), 3);
	CHECK_EQ(lines[0].function.index, 0);
	CHECK_STR(symbols_string(&symbols, lines[0].file), "a.c");
	CHECK_STR(symbols_string(&symbols, lines[1].function), "inner");
	CHECK_EQ(lines[1].line, 20);
	CHECK_STR(symbols_string(&symbols, lines[2].file), "");
	CHECK_EQ(symbols_lines(&symbols, other, lines), 1);
	CHECK(symbols_has_looked_up_lines(&symbols, none));
	CHECK_EQ(symbols_lines(&symbols, none, lines), 0);
	close_small(&symbols, writer);
}

/* Lines leave room for names; a frame for which there is none has none. */
static void lines_have_limits(void)
{
	struct symbols symbols;
	struct symbols_writer *writer = open_small(&symbols);
	const struct frame_id first = {1}, second = {2}, third = {3};
	struct symbol_line many[SYMBOLS_LINES_MAX + 1] = {{NULL, "f", 1}};
	struct line_row lines[SYMBOLS_LINES_MAX];
	char name[4 * 16 - 1 + 1];
	CHECK_EQ(symbols_set_lines(writer, first, many, SYMBOLS_LINES_MAX + 1), -EINVAL);
	CHECK_EQ(symbols_set_lines(writer, (struct frame_id){16}, many, 1), -EINVAL);
	CHECK_EQ(symbols_set_lines(writer, first, many, 9), 0);
	CHECK(symbols_has_looked_up_lines(&symbols, first));
	CHECK_EQ(symbols_lines(&symbols, first, lines), 0);
	/* Of 64 units the first is empty, 48 are for both. */
	const struct symbol_line large = {NULL,
					  "0123456789abcdef0123456789abcdef0123456789abcdef"
					  "0123456789abcdef0123456789abcdef0123456789abcdef"
					  "0123456789abcdef0123456789abcdef0123456789abcdef"
					  "0123456789abcdef0123456789abcdef",
					  1};
	CHECK_EQ(symbols_set_lines(writer, second, &large, 1), 0);
	CHECK_EQ(symbols_lines(&symbols, second, lines), 1);
	CHECK_EQ(symbols_set_lines(writer, third,
				   &(struct symbol_line){NULL, "0123456789abcdef", 1}, 1),
		 0);
	CHECK_EQ(symbols_lines(&symbols, third, lines), 0);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(symbols_set(writer, third, SYMBOL_NAMED, name, NULL, 0), 0);
	close_small(&symbols, writer);
}

int main(void)
{
	RUN(a_name_is_read_as_it_was_set);
	RUN(sources_of_modules);
	RUN(lines_are_read_as_they_were_set);
	RUN(lines_have_limits);
	RUN(a_name_is_never_lost);
	RUN(frames_and_strings_have_limits);
	RUN(long_names_are_cut);
	RUN(a_successor_finds_the_same_strings);
	RUN(nobody_can_cut_the_region);
	RUN(rubbish_is_survived);
	return test_done();
}
