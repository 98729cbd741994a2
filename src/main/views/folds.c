/* SPDX-License-Identifier: MIT */
#include "folds.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

/* From here on a row opens by itself. */
static const double open_percent = 10;

void folds_release(struct folds *folds)
{
	free(folds->rows.items);
	index_release(&folds->index);
	*folds = (struct folds){0};
}

void folds_set_all(struct folds *folds, enum folds_rest rest)
{
	folds_release(folds);
	folds->rest = rest;
}

static struct fold *find(const struct folds *folds, uint64_t id)
{
	struct index_probe probe = index_find(&folds->index, hash_u64(id));
	uint32_t row;
	while (index_next(&folds->index, &probe, &row))
		if (folds->rows.items[row].id == id)
			return &folds->rows.items[row];
	return NULL;
}

int folds_set(struct folds *folds, uint64_t id, bool open)
{
	struct fold *fold = find(folds, id);
	if (fold) {
		fold->open = open;
		return 0;
	}
	if (index_reserve(&folds->index) || vec_reserve(&folds->rows, folds->rows.nr + 1))
		return -ENOMEM;
	index_add(&folds->index, hash_u64(id), (uint32_t)folds->rows.nr);
	folds->rows.items[folds->rows.nr++] = (struct fold){id, open};
	return 0;
}

bool folds_open(struct folds *folds, uint64_t id, double percent)
{
	const struct fold *fold = find(folds, id);
	if (fold)
		return fold->open;
	if (folds->rest != FOLDS_AUTOMATIC)
		return folds->rest == FOLDS_OPEN;
	if (percent < open_percent)
		return false;
	/* Out of memory: it is decided again at the next refresh. */
	return folds_set(folds, id, true) == 0;
}
