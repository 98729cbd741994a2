/* SPDX-License-Identifier: MIT */
#ifndef HISTORY_IMPORT_ROWS_H
#define HISTORY_IMPORT_ROWS_H

/* Rows of an epoch's tables as rows of the history: each is looked at once. Part of import.c. */

#include <errno.h>

#include "internal.h"

/* The history's row for a table's, if that was met before: 0, -EINVAL when it was bad, -ENOENT when new. */
static inline int known_row(const translation *map, uint32_t id, uint32_t *to)
{
	uint32_t place = id < map->nr ? map->items[id] : 0;
	if (!place)
		return -ENOENT;
	*to = (place & ~CUT) - 1;
	return place == BAD_ROW ? -EINVAL : 0;
}

/* One that was not. */
int history_import_row(struct history *history, enum table_kind kind, uint32_t id, uint32_t *to);

/* Row id of a table as the history's row *to: 0, -EINVAL when the row makes no sense, -ENOMEM. */
static inline int translate(struct history *history, enum table_kind kind, uint32_t id,
			    uint32_t *to)
{
	int result = known_row(&history->of[kind], id, to);
	return result == -ENOENT ? history_import_row(history, kind, id, to) : result;
}

/* id is below the table's length: a bad one must not cost gigabytes. 0 or -ENOMEM. */
int history_remember_row(translation *map, uint32_t id, uint32_t place);

/* Whether the table's node stands for an ancestor of it. */
static inline bool is_cut(const struct history *history, uint32_t node)
{
	const translation *map = &history->of[TABLE_NODES];
	return node < map->nr && map->items[node] != BAD_ROW && map->items[node] & CUT;
}

#endif
