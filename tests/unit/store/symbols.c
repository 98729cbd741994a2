/* SPDX-License-Identifier: MIT */
#include <ctop/store/symbols.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "test.h"

static const struct symbols_capacity small = {.nr_frames = 16, .string_units = 64};

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
		}
		CHECK(symbols_used_bytes(&symbols) <= symbols.bytes);
		struct symbols_writer *writer = symbols_writer_new(&symbols);
		CHECK(writer != NULL);
		(void)symbols_set(writer, (struct frame_id){1}, SYMBOL_NAMED, "name", "module", 0);
		symbols_writer_free(writer);
	}
	symbols_unmap(&symbols);
}

int main(void)
{
	RUN(a_name_is_read_as_it_was_set);
	RUN(a_name_is_never_lost);
	RUN(frames_and_strings_have_limits);
	RUN(long_names_are_cut);
	RUN(a_successor_finds_the_same_strings);
	RUN(nobody_can_cut_the_region);
	RUN(rubbish_is_survived);
	return test_done();
}
