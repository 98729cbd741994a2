/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/perf_map.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/vec.h>

#include "hex.h"

/* A node server of some days has 300,000 lines. */
enum { ENTRIES_MAX = 1 << 20, NAMES_MAX_BYTES = 64 << 20 };
enum { BUFFER_BYTES = 256 << 10, LINE_MAX_BYTES = 64 << 10, TAIL_BYTES = 32 };
#define NO_ENTRY UINT32_MAX

struct entry {
	uint64_t start, end; /* process addresses */
	uint32_t name;	     /* offset into names */
};

/* From its start up to the next one's, the entry that holds there. */
struct segment {
	uint64_t start;
	uint32_t entry; /* or NO_ENTRY */
};

struct perf_map {
	struct {
		struct entry *items; /* in the file's order */
		size_t nr, capacity;
	} entries;
	struct {
		char *items;
		size_t nr, capacity;
	} names;
	struct segment *segments; /* sorted */
	size_t nr_segments;
	/* How far which file was read, to go on from there. */
	dev_t device;
	ino_t inode;
	off_t read_bytes;  /* whole lines, and what there is of one that is too long */
	bool in_long_line; /* the next line begins behind the next line end */
	char tail[TAIL_BYTES];
	size_t tail_bytes; /* the last of what was read: to see that it is still the
                        same text */
};

struct perf_map *perf_map_new(void)
{
	return calloc(1, sizeof(struct perf_map));
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	free(map->entries.items);
	free(map->names.items);
	free(map->segments);
	free(map);
}

size_t perf_map_count(const struct perf_map *map)
{
	return map->entries.nr;
}

size_t perf_map_bytes(const struct perf_map *map)
{
	return sizeof(*map) + map->entries.capacity * sizeof(*map->entries.items) +
	       map->names.capacity + map->nr_segments * sizeof(*map->segments);
}

/* ---- reading ---- */

static bool is_full(const struct perf_map *map)
{
	return map->entries.nr >= ENTRIES_MAX || map->names.nr >= NAMES_MAX_BYTES;
}

/* One line, NUL-terminated. */
static int add_line(struct perf_map *map, char *line)
{
	struct entry entry;
	uint64_t bytes;
	const char *at = hex_take(line, &entry.start);
	if (!at || *at != ' ')
		return 0;
	at = hex_take(at + strspn(at, " "), &bytes);
	if (!at || *at != ' ' || __builtin_add_overflow(entry.start, bytes, &entry.end) || !bytes)
		return 0;
	const char *name = at + 1;
	size_t size = strcspn(name, "\r");
	if (size > SYMBOL_NAME_MAX)
		size = SYMBOL_NAME_MAX;
	if (!size || is_full(map))
		return 0;
	if (vec_reserve(&map->entries, map->entries.nr + 1) ||
	    vec_reserve(&map->names, map->names.nr + size + 1))
		return -ENOMEM;
	entry.name = (uint32_t)map->names.nr;
	memcpy(map->names.items + map->names.nr, name, size);
	map->names.items[map->names.nr + size] = '\0';
	map->names.nr += size + 1;
	map->entries.items[map->entries.nr++] = entry;
	return 0;
}

static void keep_tail(struct perf_map *map, const char *bytes, size_t size)
{
	map->tail_bytes = size < TAIL_BYTES ? size : TAIL_BYTES;
	memcpy(map->tail, bytes + size - map->tail_bytes, map->tail_bytes);
}

/* Takes the whole lines of the buffer. Returns how many bytes they have, or
 * -ENOMEM. */
static ssize_t add_lines(struct perf_map *map, char *buffer, size_t size)
{
	const char *last = memrchr(buffer, '\n', size);
	if (!last)
		return 0;
	size_t taken = (size_t)(last - buffer) + 1;
	for (char *line = buffer; line < buffer + taken;) {
		char *newline = memchr(line, '\n', (size_t)(buffer + taken - line));
		*newline = '\0';
		if (newline - line < LINE_MAX_BYTES && add_line(map, line))
			return -ENOMEM;
		*newline = '\n';
		line = newline + 1;
	}
	return (ssize_t)taken;
}

/* What of the buffer belongs to a line that began before it and is too long to be one. */
static size_t skip_long_line(struct perf_map *map, const char *buffer, size_t size)
{
	if (!map->in_long_line)
		return 0;
	const char *newline = memchr(buffer, '\n', size);
	map->in_long_line = !newline;
	return newline ? (size_t)(newline - buffer) + 1 : size;
}

/* Reads from where the last reading ended to where the file ends now: it may grow faster than it is read. */
static int read_lines(struct perf_map *map, int fd, off_t end, char *buffer)
{
	while (!is_full(map) && map->read_bytes < end) {
		off_t left = end - map->read_bytes;
		size_t wanted = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
		ssize_t got = pread(fd, buffer, wanted, map->read_bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		size_t size = (size_t)got, used = skip_long_line(map, buffer, size);
		ssize_t taken = add_lines(map, buffer + used, size - used);
		if (taken < 0)
			return (int)taken;
		used += (size_t)taken;
		if (!used && size < BUFFER_BYTES)
			return 0; /* a half line: the rest is not written yet */
		if (!used) {
			map->in_long_line = true;
			used = size;
		}
		keep_tail(map, buffer, used);
		map->read_bytes += (off_t)used;
	}
	return 0;
}

static bool is_continued(const struct perf_map *map, int fd, const struct stat *stat)
{
	char tail[TAIL_BYTES];
	if (stat->st_dev != map->device || stat->st_ino != map->inode ||
	    stat->st_size < map->read_bytes || !map->read_bytes)
		return false;
	return pread(fd, tail, map->tail_bytes, map->read_bytes - (off_t)map->tail_bytes) ==
		       (ssize_t)map->tail_bytes &&
	       memcmp(tail, map->tail, map->tail_bytes) == 0;
}

static void forget(struct perf_map *map)
{
	map->entries.nr = 0;
	map->names.nr = 0;
	map->nr_segments = 0;
	map->read_bytes = 0;
	map->in_long_line = false;
	map->tail_bytes = 0;
}

/* ---- which entry holds where ---- */

static int compare_segments(const void *a, const void *b)
{
	const struct segment *left = a, *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

/* The segment that begins at a border. */
static uint32_t segment_at(const struct perf_map *map, uint64_t border)
{
	const struct segment key = {.start = border};
	const struct segment *found =
		bsearch(&key, map->segments, map->nr_segments, sizeof(key), compare_segments);
	return (uint32_t)(found - map->segments);
}

/* The first segment from i on that nobody owns yet, leaving shorter ways for
 * the next to ask. */
static uint32_t next_free(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

/* Sorted borders of all entries, each once: the segments, still without owners.
 */
static int make_segments(struct perf_map *map)
{
	size_t nr = map->entries.nr * 2, kept = 0;
	struct segment *segments = reallocarray(map->segments, nr, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	map->segments = segments;
	for (size_t i = 0; i < map->entries.nr; i++) {
		segments[2 * i] = (struct segment){map->entries.items[i].start, NO_ENTRY};
		segments[2 * i + 1] = (struct segment){map->entries.items[i].end, NO_ENTRY};
	}
	qsort(segments, nr, sizeof(*segments), compare_segments);
	for (size_t i = 1; i < nr; i++)
		if (segments[i].start != segments[kept].start)
			segments[++kept] = segments[i];
	map->nr_segments = kept + 1;
	return 0;
}

/*
 * From the last line to the first, each entry takes what is still free of its
 * range, so that every segment is given away once however much the lines
 * overlap.
 */
static int paint(struct perf_map *map)
{
	map->nr_segments = 0;
	if (!map->entries.nr)
		return 0;
	uint32_t *next = NULL;
	if (make_segments(map) == 0)
		next = reallocarray(NULL, map->nr_segments, sizeof(*next));
	if (!next) {
		map->nr_segments = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < map->nr_segments; i++)
		next[i] = i;
	for (size_t e = map->entries.nr; e-- > 0;) {
		const struct entry *entry = &map->entries.items[e];
		uint32_t i = next_free(next, segment_at(map, entry->start));
		/* The last border begins no entry, so i + 1 always exists. */
		while (map->segments[i].start < entry->end) {
			map->segments[i].entry = (uint32_t)e;
			next[i] = i + 1;
			i = next_free(next, i);
		}
	}
	free(next);
	return 0;
}

int perf_map_read(struct perf_map *map, int fd)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!is_continued(map, fd, &stat))
		forget(map);
	map->device = stat.st_dev;
	map->inode = stat.st_ino;
	char *buffer = malloc(BUFFER_BYTES);
	if (!buffer)
		return -ENOMEM;
	size_t known = map->entries.nr;
	int result = read_lines(map, fd, stat.st_size, buffer);
	free(buffer);
	if (map->entries.nr == known && map->nr_segments)
		return result;
	int painted = paint(map);
	return result ? result : painted;
}

/* How many segments begin at an address or before it. */
static size_t segments_to(const struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->nr_segments;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool perf_map_find(const struct perf_map *map, uint64_t address, struct symbol_hit *hit)
{
	const size_t nr = segments_to(map, address);
	if (!nr || map->segments[nr - 1].entry == NO_ENTRY)
		return false;
	const struct entry *entry = &map->entries.items[map->segments[nr - 1].entry];
	*hit = (struct symbol_hit){.name = map->names.items + entry->name, .start = entry->start};
	return true;
}

bool perf_map_end(const struct perf_map *map, uint64_t start, const char *name, uint64_t most,
		  uint64_t *end)
{
	const size_t nr = segments_to(map, start);
	const uint32_t number = nr ? map->segments[nr - 1].entry : NO_ENTRY;
	if (number == NO_ENTRY)
		return false;
	const struct entry *entry = &map->entries.items[number];
	*end = entry->end;
	if (entry->start != start || strcmp(map->names.items + entry->name, name) != 0)
		return false;
	for (size_t i = nr; i < map->nr_segments && map->segments[i].start < entry->end &&
			    map->segments[i].start - start < most;
	     i++)
		if (map->segments[i].entry != number)
			return false;
	return true;
}
