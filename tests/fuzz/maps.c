/* SPDX-License-Identifier: MIT */
/*
 * The text of /proc/PID/maps: line by line, and as the address space that it describes. Of
 * executable lines that overlap the last one holds; that is looked up and compared.
 */
#include <errno.h>
#include <limits.h>

#include <ctop/kernel/maps.h>
#include <ctop/proc/process_table.h>

#include "fuzz.h"

enum { LINES_MAX = 256 };

struct lines {
	struct maps_line items[LINES_MAX];
	size_t nr, nr_good;
};

static void read_lines(const char *text, size_t size, struct lines *lines)
{
	struct maps_line line;
	size_t at = 0, before = 0;
	for (int got; (got = maps_next(text, size, &at, &line)); before = at) {
		REQUIRE(got == 1 || got == -EINVAL);
		REQUIRE(at > before && at <= size);
		if (got != 1)
			continue;
		REQUIRE(line.start < line.end);
		REQUIRE(line.path >= text + before && line.path + line.path_bytes <= text + at);
		REQUIRE(!memchr(line.path, '\n', line.path_bytes));
		lines->nr_good++;
		if (line.executable && lines->nr < LINES_MAX)
			lines->items[lines->nr++] = line;
	}
	REQUIRE(at == size || size == 0);
}

static const struct maps_line *last_covering(const struct lines *lines, uint64_t address)
{
	for (size_t i = lines->nr; i-- > 0;)
		if (lines->items[i].start <= address && address < lines->items[i].end)
			return &lines->items[i];
	return NULL;
}

static void look_up(struct process *process, const struct lines *lines, uint64_t address)
{
	const struct maps_line *line = last_covering(lines, address);
	const struct mapping *map = process_mapping_at(process, address);
	REQUIRE(!line == !map);
	if (!line)
		return;
	REQUIRE(map->start <= address && address < map->end);
	REQUIRE(map->start >= line->start && map->end <= line->end);
	REQUIRE(map->file_offset - map->start == line->file_offset - line->start);
	REQUIRE(map->identity.inode == line->inode &&
		map->identity.device_major == line->device_major &&
		map->identity.device_minor == line->device_minor);
	char path[PATH_MAX];
	maps_path(line, path, sizeof(path));
	REQUIRE(strncmp(path, map->path, strlen(map->path)) == 0);
}

static void as_space(const char *text, size_t size, const struct lines *lines)
{
	enum { PID = 42 };
	struct process_table *processes = process_table_new();
	REQUIRE(processes != NULL);
	int result = process_table_set_maps(processes, PID, text, size);
	REQUIRE(result == (lines->nr_good ? 0 : -EAGAIN));
	struct process *process = process_table_find(processes, PID);
	for (size_t i = 0; result == 0 && i < lines->nr; i++) {
		const struct maps_line *line = &lines->items[i];
		look_up(process, lines, line->start - 1);
		look_up(process, lines, line->start);
		look_up(process, lines, line->end - 1);
		look_up(process, lines, line->end);
	}
	process_table_free(processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct lines lines;
	lines.nr = lines.nr_good = 0;
	char *text = fuzz_copy(bytes, size);
	read_lines(text, size, &lines);
	if (lines.nr < LINES_MAX)
		as_space(text, size, &lines);
	free(text);
	return 0;
}
