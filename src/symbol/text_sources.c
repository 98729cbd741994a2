/* SPDX-License-Identifier: MIT */
#include "function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Main lets no perf map beyond 256 MiB through; kallsyms of a large kernel has 15 MiB. */
enum { TEXT_MAX = 256 << 20 };

static int read_whole(int fd, char **text, size_t *size)
{
	size_t capacity = 0;
	int result = 0;
	*text = NULL;
	*size = 0;
	for (;;) {
		if (*size + 1 >= capacity) {
			capacity = capacity ? capacity * 2 : 1 << 16;
			char *grown = capacity <= 2 * (size_t)TEXT_MAX ? realloc(*text, capacity)
								       : NULL;
			if (!grown) {
				result = -ENOMEM;
				break;
			}
			*text = grown;
		}
		ssize_t got = read(fd, *text + *size, capacity - *size - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			result = got < 0 ? -errno : 0;
			break;
		}
		*size += (size_t)got;
	}
	close(fd);
	if (result) {
		free(*text);
		*text = NULL;
	} else {
		(*text)[*size] = '\0';
	}
	return result;
}

/* Hex digits at *at; moves behind them. False when there are none, or too many. */
static bool take_hex(char **at, uint64_t *value)
{
	size_t nr = strspn(*at, "0123456789abcdefABCDEF");
	if (!nr || nr > 16)
		return false;
	*value = strtoull(*at, NULL, 16);
	*at += nr;
	return true;
}

static bool take_space(char **at)
{
	size_t nr = strspn(*at, " \t");
	*at += nr;
	return nr != 0;
}

/* Calls parse() with each whole line, NUL-terminated in place. */
static int each_line(struct function_table *table, size_t size,
		     int (*parse)(struct function_table *table, char *line))
{
	int result = 0;
	for (char *line = table->text, *end = table->text + size; !result && line < end;) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			break;
		*newline = '\0';
		result = parse(table, line);
		line = newline + 1;
	}
	return result;
}

/* "ffffffff81000000 T name" and perhaps "\t[module]". */
static int parse_kallsyms_line(struct function_table *table, char *line)
{
	struct function_entry entry = {0};
	char *at = line;
	if (!take_hex(&at, &entry.start) || !take_space(&at) || !strchr("tTwW", *at) || !*at)
		return 0;
	entry.rank = *at == 'T' ? 0 : 1;
	at++;
	if (!take_space(&at) || !*at || !entry.start)
		return 0;
	entry.name = at;
	char *tab = strchr(at, '\t');
	if (tab) {
		*tab = '\0';
		entry.module = (uint32_t)(tab + 1 - table->text) + 1;
	}
	return function_table_add(table, &entry);
}

/* "START SIZE name", hexadecimal; the name is the rest of the line. */
static int parse_map_line(struct function_table *table, char *line)
{
	struct function_entry entry = {0};
	char *at = line;
	if (!take_hex(&at, &entry.start) || !take_space(&at) || !take_hex(&at, &entry.bytes) ||
	    !take_space(&at) || !*at || !entry.bytes)
		return 0;
	entry.name = at;
	return function_table_add(table, &entry);
}

int kallsyms_read(int fd, struct function_table *table)
{
	size_t size;
	*table = (struct function_table){0};
	int result = read_whole(fd, &table->text, &size);
	if (!result)
		result = each_line(table, size, parse_kallsyms_line);
	if (!result && !table->nr)
		result = -EPERM;
	if (result)
		function_table_release(table);
	else
		function_table_finish(table);
	return result;
}

int perf_map_read(int fd, struct function_table *table)
{
	size_t size;
	*table = (struct function_table){0};
	int result = read_whole(fd, &table->text, &size);
	if (!result)
		result = each_line(table, size, parse_map_line);
	if (result) {
		function_table_release(table);
		return result;
	}
	/* Code that was compiled later replaced what lay there: the last line of an address wins. */
	for (size_t i = 0; i < table->nr; i++)
		table->items[i].rank = (uint32_t)(table->nr - 1 - i);
	function_table_finish(table);
	return 0;
}
