/* SPDX-License-Identifier: MIT */
/* Which of the history's stacks have a function of some name: each function is asked once, and a path has what those above it have. */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include "selection_internal.h"

int selection_stacks_named(const struct selection *selection, const char *text,
			   struct selection_named *named)
{
	uint8_t *keys = calloc(selection->keys.nr + 1, 1);
	uint8_t *paths = calloc(selection->paths.nr + 1, 1);
	uint8_t *stacks = calloc(selection->stacks.nr + 1, 1);
	const int result = keys && paths && stacks ? 0 : -ENOMEM;
	if (!result) {
		*named = (struct selection_named){stacks, selection->stacks.nr, 0};
		for (size_t i = 0; i < selection->keys.nr; i++)
			keys[i] = selection_key_has(selection, (uint32_t)i, text);
		for (size_t i = 0; i < selection->paths.nr; i++) {
			const struct path *path = &selection->paths.items[i];
			paths[i] = keys[path->key] | (i ? paths[path->parent] : 0);
		}
		for (size_t i = 0; i < selection->stacks.nr; i++) {
			stacks[i] = paths[selection->stacks.items[i].path];
			named->nr_named += stacks[i];
		}
		stacks = NULL;
	}
	free(keys);
	free(paths);
	free(stacks);
	return result;
}
