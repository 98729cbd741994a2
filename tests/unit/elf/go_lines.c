/* SPDX-License-Identifier: MIT */
/* Lines and inlined functions of Go's runtime's own tables: each format, made by hand; trees that are not to be found; and damage. */
#include <ctop/elf/go_lines.h>

#include <stdlib.h>

#include "test.h"

#include "go_table.h"

enum { MOST = 8 };

static char file[2 * ROOM];
static const uint32_t magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};
enum { NR_MAGICS = sizeof(magics) / sizeof(magics[0]) };

static void check_place(const struct go_place *place, const char *function, const char *source,
			uint32_t line)
{
	CHECK_STR(place->function, function);
	CHECK_STR(place->file, source);
	CHECK_EQ(place->line, line);
}

/* What does not need trees. */
static void check_rows(struct go_lines *lines, uint64_t start)
{
	static const struct {
		uint64_t from, to;
		const char *source;
		uint32_t line;
	} rows[] = {
		{0, 16, "/src/main.go", 10},
		{16, 24, "/src/inner.go", 70},
		{24, 32, "/src/main.go", 50},
		{32, 64, "/src/main.go", 12},
	};
	struct go_place place;
	uint64_t end;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK(go_lines_row(lines, start + rows[i].from + 1, &place, &end));
		check_place(&place, "", rows[i].source, rows[i].line);
		CHECK_EQ(end, start + rows[i].to);
	}
}

static void check_own(struct go_lines *lines, uint64_t start, const char *name)
{
	struct go_place places[MOST];
	CHECK_EQ(go_lines_find(lines, start, places, MOST), 1);
	check_place(&places[0], name, "/src/main.go", 10);
	CHECK_EQ(go_lines_find(lines, start + 63, places, MOST), 1);
	check_place(&places[0], name, "/src/main.go", 12);
	CHECK_EQ(go_lines_find(lines, start + 15, places, MOST), 1);
	check_place(&places[0], name, "/src/main.go", 10);
}

static void check_inlined(struct go_lines *lines, uint64_t start, const char *name)
{
	struct go_place places[MOST];
	CHECK_EQ(go_lines_find(lines, start + 16, places, MOST), 3);
	check_place(&places[0], "main.inner", "/src/inner.go", 70);
	check_place(&places[1], "main.middle", "/src/main.go", 50);
	check_place(&places[2], name, "/src/main.go", 12);
	CHECK_EQ(go_lines_find(lines, start + 24, places, MOST), 2);
	check_place(&places[0], "main.middle", "/src/main.go", 50);
	check_place(&places[1], name, "/src/main.go", 12);
}

/* One call after the other, each with the next id outside of it. */
static void check_calls(struct go_lines *lines, uint64_t start)
{
	struct go_place place;
	uint64_t id, outer, end;
	CHECK(go_lines_inlined(lines, start, &id, &end));
	CHECK(!id && end == start + 16);
	CHECK(go_lines_inlined(lines, start + 17, &id, &end));
	CHECK(id && end == start + 24);
	CHECK(go_lines_call(lines, id, &place, &outer));
	check_place(&place, "main.inner", "/src/main.go", 50);
	CHECK(go_lines_call(lines, outer, &place, &id));
	check_place(&place, "main.middle", "/src/main.go", 12);
	CHECK_EQ(id, 0);
	CHECK(go_lines_inlined(lines, start + 24, &id, &end));
	CHECK(id == outer && end == start + 32);
	CHECK(go_lines_inlined(lines, start + 63, &id, &end));
	CHECK(!id && end == start + 64);
	CHECK(!go_lines_call(lines, 0, &place, &outer));
	CHECK(!go_lines_call(lines, UINT64_MAX >> 1, &place, &outer));
}

/* A line of what was inlined is no line of the function. */
static void check_without_trees(struct go_lines *lines, size_t most)
{
	struct go_place places[MOST];
	for (uint64_t at = 16; at < 24; at++) {
		CHECK_EQ(go_lines_find(lines, TEXT + at, places, most), 1);
		check_place(&places[0], "main.main", "", 0);
	}
}

static void check_all(struct go_lines *lines)
{
	struct go_place places[MOST];
	uint64_t end;
	for (size_t i = 0; i < 2; i++) {
		check_rows(lines, made[i].start);
		check_own(lines, made[i].start, made[i].name);
		check_inlined(lines, made[i].start, made[i].name);
		check_calls(lines, made[i].start);
	}
	check_without_trees(lines, 2); /* no room */
	/* One that has neither, the gap before it, and what is behind all. */
	CHECK_EQ(go_lines_find(lines, made[2].start + 4, places, MOST), 1);
	check_place(&places[0], made[2].name, "", 0);
	CHECK(!go_lines_row(lines, made[2].start + 4, &places[0], &end));
	CHECK_EQ(end, made[2].start + 5);
	CHECK_EQ(go_lines_find(lines, made[2].start - 4, places, MOST), 1);
	check_place(&places[0], made[1].name, "", 0);
	CHECK_EQ(go_lines_find(lines, made[3].start, places, MOST), 0);
	CHECK_EQ(go_lines_find(lines, TEXT - 1, places, MOST), 0);
}

static void each_format(void)
{
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < NR_MAGICS; i++)
		for (int to_relocate = 0; to_relocate < 2; to_relocate++) {
			struct table table;
			struct go_lines lines;
			make(&table, magics[i], TEXT);
			Elf *elf = file_with(&table, ".gopclntab", to_relocate, file, sizeof(file));
			CHECK(go_lines_open(&lines, elf));
			CHECK(lines.has_trees);
			check_all(&lines);
			elf_end(elf);
		}
}

/* Go 1.2 to 1.15 say it otherwise. */
static void old_format(void)
{
	struct table table;
	struct go_lines lines;
	make(&table, 0xfffffffb, TEXT);
	Elf *elf = file_of(&table, ".gopclntab", file, sizeof(file));
	CHECK(!go_lines_open(&lines, elf));
	elf_end(elf);
}

/* The runtime's description says something else, or nothing: no tree is taken that does not make sense. */
static void trees_that_are_not_found(void)
{
	enum { NO_MODULE, NO_NAMES, NO_TREES, ZEROS, NO_NAME, BEHIND_FUNCTION, NR_CASES };
	for (size_t i = 1; i < NR_MAGICS; i++)
		for (int way = 0; way < NR_CASES; way++) {
			struct table table;
			struct go_lines lines;
			make(&table, magics[i], TEXT);
			uint8_t *tree = table.trees + TREES_AT + TREE_AT;
			const size_t name_at = i == 1 ? 12 : 4;
			if (way == NO_MODULE)
				memset(table.data + MODULE_AT, 0, 8);
			else if (way == NO_NAMES)
				memset(table.data + MODULE_AT + 8, 0, 8);
			else if (way == NO_TREES)
				memset(table.data + MODULE_AT + 16, 0, DATA_BYTES - MODULE_AT - 16);
			else if (way == ZEROS)
				memset(table.trees, 0, sizeof(table.trees));
			else if (way == NO_NAME)
				tree[name_at]++; /* amid one */
			else
				tree[name_at + 5] = 1;
			Elf *elf = file_of(&table, ".gopclntab", file, sizeof(file));
			CHECK(go_lines_open(&lines, elf));
			CHECK(!lines.has_trees);
			check_own(&lines, TEXT, made[0].name);
			check_rows(&lines, TEXT);
			check_without_trees(&lines, MOST);
			elf_end(elf);
		}
}

/* What was inlined into itself has no end. */
static void circles(void)
{
	for (size_t i = 0; i < NR_MAGICS; i++) {
		struct table table;
		struct go_lines lines;
		make(&table, magics[i], TEXT);
		/* The second call's place is its own code. */
		table.trees[TREES_AT + TREE_AT + (i == 2 ? 16 + 8 : 20 + 16)] = 16;
		Elf *elf = file_of(&table, ".gopclntab", file, sizeof(file));
		CHECK(go_lines_open(&lines, elf));
		check_own(&lines, TEXT, made[0].name);
		check_without_trees(&lines, MOST);
		elf_end(elf);
	}
}

/* Cut anywhere, or with any bytes changed: nothing is read that is not there, and what is found has an end. */
static void damage(void)
{
	srandom(12);
	for (int round = 0; round < 20000; round++) {
		struct table table;
		struct go_lines lines;
		make(&table, magics[round % NR_MAGICS], TEXT);
		for (long i = random() % 4; i > 0; i--)
			table.bytes[8 + (size_t)random() % (table.size - 8)] =
				(uint8_t)(random() % 3 ? random() : 0xff);
		if (random() % 2)
			table.trees[(size_t)random() % sizeof(table.trees)] = (uint8_t)random();
		if (random() % 4 == 0)
			table.data[(size_t)random() % sizeof(table.data)] = (uint8_t)random();
		if (random() % 4 == 0)
			table.size = (size_t)random() % table.size;
		/* On the heap, where a sanitizer sees its end. */
		char *copy = malloc(sizeof(file));
		Elf *elf = file_with(&table, ".gopclntab", random() % 2, copy, sizeof(file));
		const bool is_open = go_lines_open(&lines, elf);
		for (uint64_t at = TEXT - 8; is_open && at < TEXT + 0x128; at += 4) {
			struct go_place places[MOST];
			uint64_t end;
			const size_t nr = go_lines_find(&lines, at, places, MOST);
			CHECK(nr <= MOST);
			for (size_t i = 0; i < nr; i++)
				CHECK(places[i].function[0] &&
				      strlen(places[i].file) < GO_NAME_MAX);
			go_lines_row(&lines, at, places, &end);
			CHECK(end > at);
			uint64_t id = 0;
			go_lines_inlined(&lines, at, &id, &end);
			CHECK(end > at && id <= INT64_MAX);
			for (int deep = 0;
			     id && deep < MOST && go_lines_call(&lines, id, places, &id); deep++)
				CHECK(places[0].function[0] && id <= INT64_MAX);
		}
		elf_end(elf);
		free(copy);
	}
}

int main(void)
{
	RUN(each_format);
	RUN(old_format);
	RUN(trees_that_are_not_found);
	RUN(circles);
	RUN(damage);
	return test_done();
}
