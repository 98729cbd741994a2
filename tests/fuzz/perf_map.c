/* SPDX-License-Identifier: MIT */
/*
 * A JIT's perf map: a byte that says where the file ended when it was read first, then the text. Read in
 * two pieces or as a whole the answers are the same, and the last line that covers an address gives the name.
 */
#include <ctype.h>

#include "fuzz.h"
#include <ctop/symbol/perf_map.h>

/* Shorter than the longest line that is read. */
enum { LINES_MAX = 512, TEXT_MAX = 32 << 10 };

struct line {
	uint64_t start, end;
	const char *name;
	size_t name_bytes;
};

struct lines {
	struct line items[LINES_MAX];
	size_t nr;
};

static const char *hex_number(const char *at, const char *end, uint64_t *value)
{
	if (end - at >= 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	const char *first = at;
	*value = 0;
	for (; at < end && isxdigit((unsigned char)*at); at++)
		*value = *value << 4 | (unsigned)(isdigit((unsigned char)*at)
							  ? *at - '0'
							  : tolower((unsigned char)*at) - 'a' + 10);
	return at > first && at - first <= 16 ? at : NULL;
}

/* A plain reading of one line, without its end: what the parser is held against. */
static bool read_line(const char *at, const char *end, struct line *line)
{
	uint64_t bytes;
	const char *nul = memchr(at, '\0', (size_t)(end - at));
	if (nul)
		end = nul;
	at = hex_number(at, end, &line->start);
	if (!at || at == end || *at != ' ')
		return false;
	while (at < end && *at == ' ')
		at++;
	at = hex_number(at, end, &bytes);
	if (!at || at == end || *at != ' ' || !bytes || line->start > UINT64_MAX - bytes)
		return false;
	line->end = line->start + bytes;
	line->name = at + 1;
	const char *carriage = memchr(line->name, '\r', (size_t)(end - line->name));
	line->name_bytes = (size_t)((carriage ? carriage : end) - line->name);
	if (line->name_bytes > SYMBOL_NAME_MAX)
		line->name_bytes = SYMBOL_NAME_MAX;
	return line->name_bytes > 0;
}

static void read_lines(const char *text, size_t size, struct lines *lines)
{
	const char *end = text + size, *newline;
	lines->nr = 0;
	for (; lines->nr < LINES_MAX && text < end &&
	       (newline = memchr(text, '\n', (size_t)(end - text)));
	     text = newline + 1)
		lines->nr += read_line(text, newline, &lines->items[lines->nr]);
}

static void look_up(const struct perf_map *map, const struct lines *lines, uint64_t address)
{
	const struct line *line = NULL;
	for (size_t i = lines->nr; i-- > 0 && !line;)
		if (lines->items[i].start <= address && address < lines->items[i].end)
			line = &lines->items[i];
	struct symbol_hit hit;
	REQUIRE(perf_map_find(map, address, &hit) == (line != NULL));
	if (!line)
		return;
	REQUIRE(hit.start == line->start);
	REQUIRE(strlen(hit.name) == line->name_bytes &&
		memcmp(hit.name, line->name, line->name_bytes) == 0);
}

/* A function is where the last line says so, if no later one has a part of its place. */
static void look_for_end(const struct perf_map *map, const struct lines *lines, uint64_t start)
{
	static char name[SYMBOL_NAME_MAX + 1];
	const struct line *line = NULL;
	bool is_whole = true;
	uint64_t end = 0;
	for (size_t i = lines->nr; i-- > 0 && !line;) {
		const struct line *at = &lines->items[i];
		if (at->start <= start && start < at->end)
			line = at;
	}
	REQUIRE(line != NULL);
	memcpy(name, line->name, line->name_bytes);
	name[line->name_bytes] = '\0';
	for (const struct line *later = line + 1; later < lines->items + lines->nr; later++)
		is_whole &= later->start >= line->end || later->end <= line->start;
	REQUIRE(perf_map_end(map, start, name, UINT64_MAX, &end) ==
		(is_whole && line->start == start));
	REQUIRE(end == line->end);
	REQUIRE(!perf_map_end(map, start, "", UINT64_MAX, &end));
}

static void compare(const struct perf_map *map, const struct lines *lines)
{
	if (lines->nr == LINES_MAX)
		return;
	REQUIRE(perf_map_count(map) == lines->nr);
	look_up(map, lines, 0);
	look_up(map, lines, UINT64_MAX);
	for (size_t i = 0; i < lines->nr; i++) {
		look_up(map, lines, lines->items[i].start - 1);
		look_up(map, lines, lines->items[i].start);
		look_up(map, lines, lines->items[i].end - 1);
		look_up(map, lines, lines->items[i].end);
		look_for_end(map, lines, lines->items[i].start);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct lines lines;
	struct input input = {bytes, size};
	size_t first = input_u8(&input);
	const char *text = (const char *)input.at;
	size_t text_bytes = input.left < TEXT_MAX ? input.left : TEXT_MAX;
	if (first > text_bytes)
		first = text_bytes;
	struct perf_map *map = perf_map_new();
	REQUIRE(map != NULL);
	int fd = fuzz_file(text, first);
	REQUIRE(perf_map_read(map, fd) == 0);
	read_lines(text, first, &lines);
	compare(map, &lines);
	REQUIRE(pwrite(fd, text + first, text_bytes - first, (off_t)first) ==
		(ssize_t)(text_bytes - first));
	REQUIRE(perf_map_read(map, fd) == 0);
	read_lines(text, text_bytes, &lines);
	compare(map, &lines);
	REQUIRE(perf_map_read(map, fd) == 0); /* nothing new */
	compare(map, &lines);
	REQUIRE(ftruncate(fd, (off_t)first) == 0); /* rewritten, and shorter */
	REQUIRE(perf_map_read(map, fd) == 0);
	read_lines(text, first, &lines);
	compare(map, &lines);
	close(fd);
	perf_map_free(map);
	return 0;
}
