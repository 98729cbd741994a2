/* SPDX-License-Identifier: MIT */
/*
 * A line table: two bytes that say where in the rest strings begin, then the table. Each row covers what was asked for, in whatever order that is;
 * files have names that end.
 */
#include "fuzz.h"
#include "jailed/lines/line_table.h"

enum { NR_ASKED = 64, NAME_MAX_BYTES = 8192 };

static void check_files(struct line_table *table)
{
	for (uint64_t file = 0; file < 16; file++)
		REQUIRE(strnlen(line_table_file(table, file), NAME_MAX_BYTES + 2) <=
			NAME_MAX_BYTES + 1);
	REQUIRE(line_table_file(table, UINT64_MAX)[0] == '\0');
}

/* From row to row, and each again when others were asked for meanwhile. */
static void check_rows(struct line_table *table)
{
	struct line_rows there = {0}, back = {0};
	struct line_row rows[NR_ASKED], row;
	uint64_t addresses[NR_ASKED], address = 0;
	size_t nr = 0;
	while (nr < NR_ASKED) {
		const bool is_known = line_table_find(table, &there, address, &row);
		if (is_known)
			REQUIRE(row.address <= address && address < row.end);
		else if (!row.end)
			break;
		else
			REQUIRE(row.end > address);
		if (is_known) {
			addresses[nr] = address;
			rows[nr++] = row;
			REQUIRE(line_table_file(table, row.file) != NULL);
		}
		address = row.end;
	}
	while (nr-- > 0) {
		REQUIRE(line_table_find(table, &back, addresses[nr], &row));
		REQUIRE(!memcmp(&row, &rows[nr], sizeof(row)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint16_t strings_at;
	if (size < sizeof(strings_at))
		return 0;
	memcpy(&strings_at, bytes, sizeof(strings_at));
	bytes += sizeof(strings_at);
	size -= sizeof(strings_at);
	if (strings_at > size)
		return 0;
	const struct dwarf_bytes strings = {.at = bytes + strings_at, .end = bytes + size};
	const struct line_sections sections = {
		.lines = {.at = bytes, .end = bytes + strings_at},
		.line_strings = strings,
		.strings = strings,
	};
	struct line_table *table = line_table_new(&sections, 0, "/build");
	if (table) {
		REQUIRE(line_table_bytes(table) < 64 * size + 4096);
		check_files(table);
		check_rows(table);
	}
	line_table_free(table);
	return 0;
}
