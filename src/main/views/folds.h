/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_FOLDS_H
#define CTOP_VIEWS_FOLDS_H

/*
 * Which rows of a tree are open, by the identity of their path: it outlives refreshes,
 * sorts and filters. What nobody has decided about opens by itself where much time is spent, and stays so.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/index.h>

enum folds_rest { FOLDS_AUTOMATIC, FOLDS_OPEN, FOLDS_CLOSED };

struct fold {
	uint64_t id;
	bool open;
};

struct folds {
	struct {
		struct fold *items;
		size_t nr, capacity;
	} rows;
	struct index index;
	enum folds_rest rest; /* rows without an entry */
};

void folds_release(struct folds *folds);
/* Forgets every row's own state: all are as `rest` says. */
void folds_set_all(struct folds *folds, enum folds_rest rest);
/* 0 or -ENOMEM: the row stays as it was. */
int folds_set(struct folds *folds, uint64_t id, bool open);
/* Whether a row is open; a share of percent decides for one that is left to itself. */
bool folds_open(struct folds *folds, uint64_t id, double percent);

#endif
