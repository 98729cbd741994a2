/* SPDX-License-Identifier: MIT */
/*
 * The text of /proc/kallsyms, or what a cache has of it, which may be anything: a function that is found is the last that begins at
 * the address or before it, under a name that a line has for it. Of a cache that is not in order it is any line's before the address.
 */
#include <ctype.h>

#include "fuzz.h"
#include <ctop/kernel/names_text.h>
#include <ctop/symbol/kallsyms.h>

enum { LINES_MAX = 1024, TEXT_MAX = 256 << 10, NAME_MAX_BYTES = 512 };

struct line {
	uint64_t address;
	const char *name;
	size_t name_bytes;
};

struct lines {
	struct line items[LINES_MAX];
	size_t nr;
};

/* A plain reading of one line, without its end. */
static bool read_line(const char *at, const char *end, struct line *line)
{
	if (end - at >= 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	const char *first = at;
	for (line->address = 0; at < end && isxdigit((unsigned char)*at); at++)
		line->address = line->address << 4 |
				(unsigned)(isdigit((unsigned char)*at)
						   ? *at - '0'
						   : tolower((unsigned char)*at) - 'a' + 10);
	if (at == first || at - first > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ' ||
	    !strchr("tTwW", at[1]) || !line->address)
		return false;
	line->name = at + 3;
	for (at += 3; at < end && *at != ' ' && *at != '\t';)
		at++;
	line->name_bytes = (size_t)(at - line->name);
	return line->name_bytes > 0;
}

/* False: they are too many. */
static bool read_lines(const char *text, size_t size, struct lines *lines)
{
	const char *end = memchr(text, '\0', size);
	end = end ? end : text + size;
	for (lines->nr = 0; text < end && lines->nr < LINES_MAX;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		lines->nr += read_line(text, newline ? newline : end, &lines->items[lines->nr]);
		text = newline ? newline + 1 : end;
	}
	return text == end;
}

static bool is_name(const struct line *line, const char *name)
{
	static const char prefix[] = "__pfx_";
	const size_t size = strlen(name), front = sizeof(prefix) - 1;
	if (line->name_bytes == size && !memcmp(line->name, name, size))
		return true;
	return line->name_bytes == size + front && !memcmp(line->name, prefix, front) &&
	       !memcmp(line->name + front, name, size);
}

static void look_up(const struct kallsyms *kallsyms, const struct lines *lines, uint64_t address)
{
	struct symbol_hit hit;
	uint64_t start = 0;
	if (kallsyms_is_kept(kallsyms)) {
		bool is_there = !kallsyms_find(kallsyms, address, &hit);
		REQUIRE(is_there || hit.start <= address);
		for (size_t i = 0; i < lines->nr && !is_there; i++)
			is_there = lines->items[i].address == hit.start &&
				   (is_name(&lines->items[i], hit.name) ||
				    lines->items[i].name_bytes > NAME_MAX_BYTES);
		REQUIRE(is_there);
		return;
	}
	for (size_t i = 0; i < lines->nr; i++)
		if (lines->items[i].address <= address && lines->items[i].address > start)
			start = lines->items[i].address;
	if (!kallsyms_find(kallsyms, address, &hit)) {
		REQUIRE(start != address || !start || start == UINT64_MAX);
		return;
	}
	bool is_found = false;
	for (size_t i = 0; i < lines->nr; i++)
		is_found |= lines->items[i].address == start && is_name(&lines->items[i], hit.name);
	REQUIRE(hit.start == start && is_found);
	REQUIRE(!hit.module || strlen(hit.module) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char first_line[] = KERNEL_NAMES_FIRST_LINE "\n";
	static struct lines lines;
	const char *text = (const char *)bytes;
	size = size < TEXT_MAX ? size : TEXT_MAX;
	struct kallsyms *kallsyms = kallsyms_new(fuzz_file(bytes, size));
	REQUIRE(kallsyms != NULL);
	int result;
	while ((result = kallsyms_read_part(kallsyms)) > 0)
		;
	const bool is_kept = size >= sizeof(first_line) - 1 &&
			     !memcmp(bytes, first_line, sizeof(first_line) - 1);
	REQUIRE(kallsyms_is_kept(kallsyms) == is_kept);
	/* A kept text goes on behind a 0 byte, which ends a printed one. */
	if (!(is_kept && memchr(text, '\0', size)) && read_lines(text, size, &lines)) {
		REQUIRE(is_kept || (result == 0) == (lines.nr > 0));
		for (size_t i = 0; result == 0 && i < lines.nr; i++) {
			look_up(kallsyms, &lines, lines.items[i].address);
			look_up(kallsyms, &lines, lines.items[i].address - 1);
			look_up(kallsyms, &lines, lines.items[i].address + 4096);
		}
		if (result == 0)
			look_up(kallsyms, &lines, UINT64_MAX);
	}
	kallsyms_free(kallsyms);
	return 0;
}
