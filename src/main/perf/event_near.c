/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64 };

struct search {
	const char *name;
	size_t size;
	char *best;
	size_t best_bytes, best_distance;
};

/* Levenshtein's distance between names; names of more than NAME_MAX_BYTES are far from everything. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1], nr_b = strlen(b);
	if (strlen(a) > NAME_MAX_BYTES || nr_b > NAME_MAX_BYTES)
		return NAME_MAX_BYTES;
	for (size_t j = 0; j <= nr_b; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nr_b; j++) {
			size_t above = row[j];
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[nr_b];
}

static void consider(void *context, enum event_kind kind, const char *name, const char *description)
{
	(void)description;
	if (kind == EVENT_PROBE)
		return;
	struct search *search = context;
	size_t size = strlen(name);
	/* Names whose lengths differ by more than that are further apart, too. */
	size_t apart = size > search->size ? size - search->size : search->size - size;
	/* An unfinished name means the one that it begins. */
	bool begins = search->size >= 3 && strncmp(search->name, name, search->size) == 0;
	if (!begins && apart >= search->best_distance)
		return;
	size_t d = begins ? 1 : distance(search->name, name);
	if (d < search->best_distance) {
		search->best_distance = d;
		snprintf(search->best, search->best_bytes, "%s", name);
	}
}

void near_name(const char *name, char *nearest, size_t size)
{
	size_t name_size = strlen(name);
	struct search search = {
		.name = name,
		.size = name_size,
		.best = nearest,
		.best_bytes = size,
		/* More than a third of the letters wrong is no typing mistake. */
		.best_distance = (name_size < 9 ? name_size / 3 : 3) + 1,
	};
	const struct catalog_reader reader = {&search, consider};
	nearest[0] = '\0';
	catalog_read(&reader);
}
