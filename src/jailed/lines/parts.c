/* SPDX-License-Identifier: MIT */
#include "parts.h"

struct parts parts_of(const struct split_unit *split, Dwarf_Die *die)
{
	struct parts parts = {.die = die, .is_split = split != NULL};
	if (split)
		split_ranges_begin(&parts.split, split, die);
	return parts;
}

bool parts_next(struct parts *parts, uint64_t *start, uint64_t *end)
{
	Dwarf_Addr from, to;
	if (parts->is_split)
		return split_ranges_next(&parts->split, start, end);
	parts->next = dwarf_ranges(parts->die, parts->next, &parts->base, &from, &to);
	if (parts->next <= 0)
		return false;
	*start = from;
	*end = to;
	return true;
}
