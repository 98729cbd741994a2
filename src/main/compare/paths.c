/* SPDX-License-Identifier: MIT */
/* Paths of functions, each stored once, whichever run has it. */
#include "internal.h"

#include <errno.h>

#include <ctop/base/vec.h>

static bool is_outermost(const struct compare *compare, uint32_t parent, uint32_t function)
{
	const struct path_row *items = compare->paths.items;
	if (!compare->functions.items[function].nr_paths)
		return true;
	while (parent && items[parent].function != function)
		parent = items[parent].parent;
	return !parent;
}

bool path_rows_find(const struct path_rows *paths, uint32_t parent, uint32_t function,
		    uint32_t *row)
{
	struct index_probe probe = index_find(&paths->index, hash_two(parent, function));
	while (index_next(&paths->index, &probe, row))
		if (paths->items[*row].parent == parent && paths->items[*row].function == function)
			return true;
	return false;
}

int path_rows_add(struct compare *compare, uint32_t parent, uint32_t function, uint32_t *row)
{
	struct path_rows *paths = &compare->paths;
	if (path_rows_find(paths, parent, function, row))
		return 0;
	if (paths->nr >= UINT32_MAX - 1 || vec_reserve(paths, paths->nr + 1) ||
	    index_reserve(&paths->index))
		return -ENOMEM;
	*row = (uint32_t)paths->nr++;
	paths->items[*row] = (struct path_row){
		.parent = parent,
		.function = function,
		.outermost = is_outermost(compare, parent, function),
	};
	compare->functions.items[function].nr_paths++;
	index_add(&paths->index, hash_two(parent, function), *row);
	return 0;
}
