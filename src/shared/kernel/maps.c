/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/maps.h>

#include <errno.h>
#include <string.h>

/* A cursor over one line; every take_ moves it or fails. */
struct cursor {
	const char *at, *end;
};

static bool take_char(struct cursor *cursor, char wanted)
{
	if (cursor->at == cursor->end || *cursor->at != wanted)
		return false;
	cursor->at++;
	return true;
}

static int digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return 16;
}

static bool take_number(struct cursor *cursor, unsigned base, uint64_t max, uint64_t *value)
{
	const char *start = cursor->at;
	*value = 0;
	while (cursor->at < cursor->end && digit(*cursor->at) < (int)base) {
		if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit(*cursor->at), value) ||
		    *value > max)
			return false;
		cursor->at++;
	}
	return cursor->at > start;
}

static bool take_flag(struct cursor *cursor, char set, char unset, bool *flag)
{
	*flag = take_char(cursor, set);
	return *flag || take_char(cursor, unset);
}

/* Format: proc_pid_maps(5). */
static bool parse(struct cursor cursor, struct maps_line *line)
{
	uint64_t major = 0, minor = 0;
	bool ok = take_number(&cursor, 16, UINT64_MAX, &line->start) && take_char(&cursor, '-') &&
		  take_number(&cursor, 16, UINT64_MAX, &line->end) && take_char(&cursor, ' ') &&
		  take_flag(&cursor, 'r', '-', &line->readable) &&
		  take_flag(&cursor, 'w', '-', &line->writable) &&
		  take_flag(&cursor, 'x', '-', &line->executable) &&
		  take_flag(&cursor, 's', 'p', &line->shared) && take_char(&cursor, ' ') &&
		  take_number(&cursor, 16, UINT64_MAX, &line->file_offset) &&
		  take_char(&cursor, ' ') && take_number(&cursor, 16, UINT32_MAX, &major) &&
		  take_char(&cursor, ':') && take_number(&cursor, 16, UINT32_MAX, &minor) &&
		  take_char(&cursor, ' ') && take_number(&cursor, 10, UINT64_MAX, &line->inode);
	if (!ok || line->end <= line->start)
		return false;
	line->device_major = (uint32_t)major;
	line->device_minor = (uint32_t)minor;
	while (take_char(&cursor, ' '))
		;
	line->path = cursor.at;
	line->path_bytes = (size_t)(cursor.end - cursor.at);
	return true;
}

int maps_next(const char *text, size_t size, size_t *at, struct maps_line *line)
{
	if (*at >= size)
		return 0;
	const char *start = text + *at;
	const char *newline = memchr(start, '\n', size - *at);
	const struct cursor cursor = {start, newline ? newline : text + size};
	*at = newline ? (size_t)(newline - text) + 1 : size;
	*line = (struct maps_line){0};
	return parse(cursor, line) ? 1 : -EINVAL;
}

size_t maps_path(const struct maps_line *line, char *path, size_t size)
{
	static const char escape[] = "\\012";
	const size_t escape_bytes = sizeof(escape) - 1;
	size_t at = 0, written = 0;
	while (at < line->path_bytes && written + 1 < size) {
		bool escaped = line->path_bytes - at >= escape_bytes &&
			       memcmp(line->path + at, escape, escape_bytes) == 0;
		path[written++] = escaped ? '\n' : line->path[at];
		at += escaped ? escape_bytes : 1;
	}
	path[written] = '\0';
	return written;
}
