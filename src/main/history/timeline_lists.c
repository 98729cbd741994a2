/* SPDX-License-Identifier: MIT */
/* Lists that rows have, of marks and of calls: all of one kind together take a share of the timeline's memory, and are thinned out where that is full. */
#include "timeline_internal.h"

#include <stdlib.h>

enum { LONGEST_SHIFT = 62 };

static int resize(const struct timeline_lists *lists, struct row_list *list, size_t capacity)
{
	void *items = reallocarray(list->items, capacity, lists->item_bytes);
	if (!items)
		return -1;
	*lists->bytes += (capacity - (uint64_t)list->capacity) * lists->item_bytes;
	list->items = items;
	list->capacity = (uint32_t)capacity;
	return 0;
}

void timeline_list_free(const struct timeline_lists *lists, struct row_list *list)
{
	*lists->bytes -= list->capacity * lists->item_bytes;
	free(list->items);
	*list = (struct row_list){0};
}

void timeline_list_trim(const struct timeline_lists *lists, struct row_list *list)
{
	if (!list->nr)
		timeline_list_free(lists, list);
	else if (list->nr < list->capacity)
		(void)resize(lists, list, list->nr);
}

static bool has_room(const struct timeline_lists *lists, size_t nr)
{
	return *lists->bytes + nr * lists->item_bytes <= lists->bytes_most;
}

/* Half of what there may be is left for what is to come. */
bool timeline_list_make_room(const struct timeline_lists *lists, struct timeline *timeline,
			     struct row_list *list)
{
	enum { LEAST = 4 };
	if (list->nr < list->capacity)
		return true;
	const size_t more = list->nr / 2 + LEAST;
	while (!has_room(lists, more) && *lists->shift < LONGEST_SHIFT)
		do
			lists->thin_out(timeline);
		while (*lists->bytes > lists->bytes_most / 2 && *lists->shift < LONGEST_SHIFT);
	return has_room(lists, more) && !resize(lists, list, list->nr + more);
}
