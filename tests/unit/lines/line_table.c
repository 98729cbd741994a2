/* SPDX-License-Identifier: MIT */
#include "jailed/lines/line_table.h"

#include <dwarf.h>

#include "test.h"

/* A section that is written here, and one of strings. */
struct bytes {
	uint8_t items[8192];
	size_t nr;
};

static void put(struct bytes *bytes, uint64_t value, size_t size)
{
	CHECK(bytes->nr + size <= sizeof(bytes->items));
	memcpy(bytes->items + bytes->nr, &value, size);
	bytes->nr += size;
}

static void put_text(struct bytes *bytes, const char *text)
{
	for (const char *at = text; *at; at++)
		put(bytes, (uint8_t)*at, 1);
	put(bytes, 0, 1);
}

static void set_length(struct bytes *bytes, size_t at)
{
	const uint32_t length = (uint32_t)(bytes->nr - at - sizeof(length));
	memcpy(bytes->items + at, &length, sizeof(length));
}

/* Where the header's length stands. */
static size_t put_head(struct bytes *bytes, unsigned version)
{
	static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	put(bytes, 0, 4);
	put(bytes, version, 2);
	if (version >= 5)
		put(bytes, 8, 2); /* bytes of an address, of a segment's number */
	const size_t at = bytes->nr;
	put(bytes, 0, 4);
	put(bytes, 1, 1); /* byte of an instruction */
	if (version >= 4)
		put(bytes, 1, 1);
	put(bytes, 1, 1);
	put(bytes, (uint8_t)-3, 1); /* lines advance by -3 to 8 */
	put(bytes, 12, 1);
	put(bytes, sizeof(lengths) + 1, 1);
	for (size_t i = 0; i < sizeof(lengths); i++)
		put(bytes, lengths[i], 1);
	return at;
}

static void put_files(struct bytes *bytes, unsigned version)
{
	const size_t at = put_head(bytes, version);
	put_text(bytes, "include");
	put_text(bytes, "/usr/include");
	put_text(bytes, "");
	static const char *const names[] = {"main.c", "own.h", "std.h", "/abs.h", "lost.h"};
	static const uint8_t directories[] = {0, 1, 2, 1, 9};
	for (size_t i = 0; i < sizeof(directories); i++) {
		put_text(bytes, names[i]);
		put(bytes, directories[i], 3); /* no time, no size */
	}
	put(bytes, 0, 1);
	set_length(bytes, at);
}

static void put_address(struct bytes *bytes, uint64_t address)
{
	put(bytes, 0, 1);
	put(bytes, 9, 1);
	put(bytes, DW_LNE_set_address, 1);
	put(bytes, address, 8);
}

static void put_end(struct bytes *bytes, uint8_t advance)
{
	put(bytes, DW_LNS_advance_pc, 1);
	put(bytes, advance, 1);
	put(bytes, 0, 1);
	put(bytes, 1, 1);
	put(bytes, DW_LNE_end_sequence, 1);
}

static void put_special(struct bytes *bytes, unsigned address, int line)
{
	put(bytes, 13 + address * 12 + (unsigned)(line + 3), 1);
}

/* Rows at 0x1000: main.c:1, 0x1004: main.c:3, 0x1006: own.h:2; the end at 0x1010. */
static void put_rows(struct bytes *bytes)
{
	put_address(bytes, 0x1000);
	put(bytes, DW_LNS_copy, 1);
	put_special(bytes, 4, 2);
	put(bytes, DW_LNS_set_file, 1);
	put(bytes, 2, 1);
	put(bytes, DW_LNS_set_column, 1);
	put(bytes, 7, 1);
	put(bytes, DW_LNS_negate_stmt, 1);
	put_special(bytes, 2, -1);
	put_end(bytes, 10);
}

static struct dwarf_bytes whole(const struct bytes *bytes)
{
	return (struct dwarf_bytes){.at = bytes->items, .end = bytes->items + bytes->nr};
}

static struct line_table *table_of(struct bytes *bytes)
{
	const struct line_sections sections = {.lines = whole(bytes)};
	if (bytes->nr >= 4)
		set_length(bytes, 0);
	return line_table_new(&sections, 0, "/build");
}

/* "FILE:LINE" of an address, or where the next row begins. */
static const char *place(struct line_table *table, uint64_t address)
{
	static char text[256];
	struct line_rows rows = {0};
	struct line_row row;
	if (line_table_find(table, &rows, address, &row)) {
		CHECK(row.address <= address && address < row.end);
		snprintf(text, sizeof(text), "%s:%u", line_table_file(table, row.file), row.line);
	} else {
		snprintf(text, sizeof(text), "%llx", (unsigned long long)row.end);
	}
	return text;
}

static void check_rows(struct line_table *table)
{
	CHECK(table != NULL);
	CHECK_STR(place(table, 0xfff), "1000");
	CHECK_STR(place(table, 0x1000), "/build/main.c:1");
	CHECK_STR(place(table, 0x1003), "/build/main.c:1");
	CHECK_STR(place(table, 0x1004), "/build/main.c:3");
	CHECK_STR(place(table, 0x1006), "include/own.h:2");
	CHECK_STR(place(table, 0x100f), "include/own.h:2");
	CHECK_STR(place(table, 0x1010), "0");
	CHECK_STR(place(table, UINT64_MAX), "0");
}

static void versions(void)
{
	for (unsigned version = 2; version <= 4; version++) {
		struct bytes bytes = {.nr = 0};
		put_files(&bytes, version);
		put_rows(&bytes);
		struct line_table *table = table_of(&bytes);
		check_rows(table);
		CHECK_STR(line_table_file(table, 0), "");
		CHECK_STR(line_table_file(table, 3), "/usr/include/std.h");
		CHECK_STR(line_table_file(table, 4), "/abs.h");
		CHECK_STR(line_table_file(table, 5), "lost.h");
		CHECK_STR(line_table_file(table, 6), "");
		CHECK_STR(line_table_file(table, UINT64_MAX), "");
		line_table_free(table);
	}
}

/* One kind of strings of DWARF 5, and sums of the files' bytes. */
static void put_tables(struct bytes *bytes, struct bytes *strings, uint8_t form)
{
	static const char *const directories[] = {"/build", "include"};
	static const char *const files[] = {"main.c", "main.c", "own.h"};
	const size_t at = put_head(bytes, 5);
	put(bytes, 1, 1);
	put(bytes, DW_LNCT_path, 1);
	put(bytes, form, 1);
	put(bytes, 2, 1);
	for (int i = 0; i < 5; i++) {
		if (i == 2) {
			put(bytes, 3, 1);
			put(bytes, DW_LNCT_MD5, 1);
			put(bytes, DW_FORM_data16, 1);
			put(bytes, DW_LNCT_path, 1);
			put(bytes, form, 1);
			put(bytes, DW_LNCT_directory_index, 1);
			put(bytes, DW_FORM_udata, 1);
			put(bytes, 3, 1);
		}
		if (i >= 2)
			for (int byte = 0; byte < 16; byte++)
				put(bytes, 0xff, 1);
		put(bytes, strings->nr, 4);
		put_text(strings, i < 2 ? directories[i] : files[i - 2]);
		if (i >= 2)
			put(bytes, i == 4, 1);
	}
	set_length(bytes, at);
}

static void version_5(void)
{
	static const uint8_t forms[] = {DW_FORM_line_strp, DW_FORM_strp};
	for (int i = 0; i < 2; i++) {
		struct bytes bytes = {.nr = 0}, strings = {.nr = 0};
		put_tables(&bytes, &strings, forms[i]);
		put_rows(&bytes);
		set_length(&bytes, 0);
		struct line_sections sections = {.lines = whole(&bytes)};
		*(i ? &sections.strings : &sections.line_strings) = whole(&strings);
		struct line_table *table = line_table_new(&sections, 0, NULL);
		check_rows(table);
		CHECK_STR(line_table_file(table, 0), "/build/main.c");
		line_table_free(table);
		/* Strings that end nowhere. */
		(i ? &sections.strings : &sections.line_strings)->end--;
		table = line_table_new(&sections, 0, NULL);
		CHECK_STR(line_table_file(table, 1), "/build/main.c");
		CHECK_STR(line_table_file(table, 2), "");
		line_table_free(table);
	}
}

/* Functions stand in the table as they do in the source; what the linker left out is at 0. */
static void sequences(void)
{
	struct bytes bytes = {.nr = 0};
	put_files(&bytes, 4);
	put_address(&bytes, 0x2000);
	put_special(&bytes, 0, 8);
	put_end(&bytes, 8);
	put_address(&bytes, 0);
	put_special(&bytes, 0, 7);
	put(&bytes, DW_LNS_fixed_advance_pc, 1);
	put(&bytes, 0x8000, 2);
	put_special(&bytes, 0, 0);
	put_end(&bytes, 8);
	put_rows(&bytes);
	struct line_table *table = table_of(&bytes);
	CHECK_STR(place(table, 0x10), "1000");
	CHECK_STR(place(table, 0x1005), "/build/main.c:3");
	CHECK_STR(place(table, 0x1010), "2000");
	CHECK_STR(place(table, 0x2007), "/build/main.c:9");
	CHECK_STR(place(table, 0x2008), "0");
	line_table_free(table);
}

/* More than are kept at once; the last of those at one address counts, at the edge, too. */
static void many_rows(void)
{
	enum { NR = 3 * LINE_ROWS_MAX + 5 };
	struct bytes bytes = {.nr = 0};
	struct line_rows rows = {0};
	put_files(&bytes, 4);
	put_address(&bytes, 0x1000);
	for (unsigned i = 0; i < NR; i++)
		put_special(&bytes, i % 2 ? 2 : 0, 1);
	put_end(&bytes, 2);
	struct line_table *table = table_of(&bytes);
	for (unsigned i = 0; i + 2 < NR; i++) {
		struct line_row row;
		CHECK(line_table_find(table, &rows, 0x1000 + i, &row));
		/* Rows 0; 1, 2; 3, 4; ... are at 0, 2, 4, ... */
		CHECK_EQ(row.line, 2 + i / 2 * 2);
		CHECK_EQ(row.end, 0x1000 + i / 2 * 2 + 2);
	}
	CHECK(line_table_bytes(table) < 2048);
	line_table_free(table);
}

/* All that it says, on a copy that nothing stands behind. */
static void read_all(const struct bytes *bytes, size_t nr)
{
	uint8_t *copy = malloc(nr + !nr);
	memcpy(copy, bytes->items, nr);
	const struct dwarf_bytes section = {.at = copy, .end = copy + nr};
	const struct line_sections sections = {section, section, section};
	struct line_table *table = line_table_new(&sections, 0, "/build");
	struct line_rows rows = {0};
	struct line_row row;
	for (uint64_t address = 0xff0; table && address < 0x1020; address++)
		if (line_table_find(table, &rows, address, &row)) {
			CHECK(row.address <= address && address < row.end);
			CHECK(strlen(line_table_file(table, row.file)) < 8192);
		}
	line_table_free(table);
	free(copy);
}

static void damage(void)
{
	for (int version = 4; version <= 5; version++) {
		struct bytes bytes = {.nr = 0}, strings = {.nr = 0};
		if (version == 5)
			put_tables(&bytes, &strings, DW_FORM_line_strp);
		else
			put_files(&bytes, 4);
		put_rows(&bytes);
		set_length(&bytes, 0);
		for (size_t cut = 0; cut <= bytes.nr; cut++)
			read_all(&bytes, cut);
		for (size_t i = 0; i < bytes.nr * 8; i++) {
			bytes.items[i / 8] ^= (uint8_t)(1 << i % 8);
			read_all(&bytes, bytes.nr);
			bytes.items[i / 8] ^= (uint8_t)(1 << i % 8);
		}
	}
}

/* Of 2^63 files that take no bytes there are none. */
static void counts_that_lie(void)
{
	struct bytes bytes = {.nr = 0};
	const size_t at = put_head(&bytes, 5);
	for (int table = 0; table < 2; table++) {
		put(&bytes, 0, 1);
		put(&bytes, UINT64_MAX, 8);
		put(&bytes, 0x7fff, 2);
	}
	set_length(&bytes, at);
	put_rows(&bytes);
	struct line_table *table = table_of(&bytes);
	CHECK_STR(place(table, 0x1004), ":3");
	CHECK(line_table_bytes(table) < 4096);
	line_table_free(table);
}

/* Another version, several operations in an instruction, lines by 0, opcodes from 0 on. */
static void refused(void)
{
	static const size_t places[] = {4, 11, 14, 15};
	static const uint8_t values[] = {6, 2, 0, 0};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct bytes bytes = {.nr = 0};
		put_files(&bytes, 4);
		put_rows(&bytes);
		bytes.items[places[i]] = values[i];
		CHECK(!table_of(&bytes));
	}
}

int main(void)
{
	RUN(versions);
	RUN(version_5);
	RUN(sequences);
	RUN(many_rows);
	RUN(damage);
	RUN(counts_that_lie);
	RUN(refused);
	return test_done();
}
