/* SPDX-License-Identifier: MIT */
/* Which functions of two builds are the same: by name, and by the file names of their modules. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

static uint64_t hash_names(const char *name, const char *module)
{
	return hash_two(hash_bytes(name, strlen(name)), hash_bytes(module, strlen(module)));
}

/* The name that a side has for a function, the first time; others of the same function are told by `several`. */
static int note_name(struct same_function *function, enum compare_side side, const char *name)
{
	if (!function->names[side]) {
		function->names[side] = strdup(name);
		return function->names[side] ? 0 : -ENOMEM;
	}
	function->several[side] |= strcmp(function->names[side], name) != 0;
	return 0;
}

static void release_function(struct same_function *function)
{
	free(function->name);
	free(function->module);
	for (size_t side = 0; side < NR_COMPARE_SIDES; side++)
		free(function->names[side]);
}

static int append(struct same_functions *functions, const struct same_function *wanted,
		  uint32_t *row)
{
	if (functions->nr >= UINT32_MAX - 1 || vec_reserve(functions, functions->nr + 1) ||
	    index_reserve(&functions->index))
		return -ENOMEM;
	struct same_function added = *wanted;
	added.name = strdup(wanted->name);
	added.module = strdup(wanted->module);
	added.moved_to = *row = (uint32_t)functions->nr;
	if (!added.name || !added.module) {
		release_function(&added);
		return -ENOMEM;
	}
	index_add(&functions->index, hash_names(wanted->name, wanted->module), *row);
	functions->items[functions->nr++] = added;
	return 0;
}

bool same_functions_find(const struct same_functions *functions, const struct same_function *wanted,
			 uint32_t *row)
{
	struct index_probe probe =
		index_find(&functions->index, hash_names(wanted->name, wanted->module));
	while (index_next(&functions->index, &probe, row)) {
		const struct same_function *function = &functions->items[*row];
		if (function->kernel == wanted->kernel && function->label == wanted->label &&
		    !strcmp(function->name, wanted->name) &&
		    !strcmp(function->module, wanted->module))
			return true;
	}
	return false;
}

int same_functions_add(struct same_functions *functions, enum compare_side side,
		       const struct same_function *wanted, const char *name, uint32_t *row)
{
	int result =
		same_functions_find(functions, wanted, row) ? 0 : append(functions, wanted, row);
	return result ? result : note_name(&functions->items[*row], side, name);
}

/* ---- moved ones ---- */

static bool is_only_of(const struct same_function *function, enum compare_side side)
{
	return function->named && !function->label && function->names[side] &&
	       !function->names[!side];
}

static int compare_by_name(const void *a, const void *b, void *context)
{
	const struct same_function *items = context;
	return strcmp(items[*(const uint32_t *)a].name, items[*(const uint32_t *)b].name);
}

/* Of functions of one name, those that one side alone has: where there is one for each side, it is the same. */
static void match(struct same_functions *functions, const uint32_t *rows, size_t nr)
{
	uint32_t only[NR_COMPARE_SIDES] = {0};
	size_t nr_only[NR_COMPARE_SIDES] = {0};
	for (size_t i = 0; i < nr; i++) {
		for (enum compare_side side = COMPARE_A; side < NR_COMPARE_SIDES; side++) {
			if (is_only_of(&functions->items[rows[i]], side)) {
				only[side] = rows[i];
				nr_only[side]++;
			}
		}
	}
	struct same_function *from = &functions->items[only[COMPARE_A]],
			     *to = &functions->items[only[COMPARE_B]];
	/* What the kernel does is not what a program of that name does. */
	if (nr_only[COMPARE_A] == 1 && nr_only[COMPARE_B] == 1 && from->kernel == to->kernel) {
		from->moved_to = only[COMPARE_B];
		to->moved_from = only[COMPARE_A];
	}
}

int same_functions_find_moved(struct same_functions *functions)
{
	uint32_t *rows = malloc((functions->nr + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < functions->nr; i++)
		rows[i] = (uint32_t)i;
	qsort_r(rows, functions->nr, sizeof(*rows), compare_by_name, functions->items);
	for (size_t first = 0, end; first < functions->nr; first = end) {
		for (end = first + 1; end < functions->nr &&
				      !compare_by_name(&rows[first], &rows[end], functions->items);)
			end++;
		if (end - first > 1)
			match(functions, rows + first, end - first);
	}
	free(rows);
	return 0;
}

void same_functions_release(struct same_functions *functions)
{
	for (size_t i = 0; i < functions->nr; i++)
		release_function(&functions->items[i]);
	free(functions->items);
	index_release(&functions->index);
}
