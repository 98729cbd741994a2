/* SPDX-License-Identifier: MIT */
/* Lines and names of targets that a profile knows, for a listing that has none. */
#include <ctop/annotate/annotation.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/index.h>

/* Instructions between two of one line that were in no stack: compilers seldom put more of another's there. */
enum { GAP_MAX = 8 };

struct filling {
	struct listing *listing;
	struct history_place *places; /* of the module, by where their functions begin */
	size_t nr_places;
	struct index files; /* by name: rows of the listing's */
};

/* ---- texts ---- */

/* 0: there is no room for it. */
static uint32_t add_string(struct listing *listing, const char *text, size_t most)
{
	struct listing_answer *answer = &listing->answer;
	const size_t bytes = strlen(text) + 1;
	if (bytes == 1 || bytes > most || bytes > LISTING_STRINGS_MAX - answer->string_bytes)
		return 0;
	const uint32_t at = answer->string_bytes;
	memcpy(listing->strings + at, text, bytes);
	answer->string_bytes += (uint32_t)bytes;
	return at;
}

/* 1 + row of files; 0: it has no name, or there is no room. */
static uint32_t find_file(struct filling *filling, const char *path)
{
	struct listing *listing = filling->listing;
	struct listing_answer *answer = &listing->answer;
	const uint64_t hash = hash_bytes(path, strlen(path));
	struct index_probe probe = index_find(&filling->files, hash);
	uint32_t row;
	while (index_next(&filling->files, &probe, &row))
		if (!strcmp(listing->strings + listing->files[row].path, path))
			return row + 1;
	if (answer->nr_files == LISTING_FILES_MAX || index_reserve(&filling->files))
		return 0;
	const uint32_t at = add_string(listing, path, LISTING_PATH_MAX);
	if (!at)
		return 0;
	listing->files[answer->nr_files] = (struct listing_file){.path = at};
	index_add(&filling->files, hash, answer->nr_files);
	return ++answer->nr_files;
}

/* ---- lines ---- */

static void add_line(struct filling *filling, const struct history_place *place)
{
	struct listing *listing = filling->listing;
	const uint32_t at = listing_row_at(listing, place->address + listing->answer.bias);
	if (!place->line || at == UINT32_MAX || listing->rows[at].file)
		return;
	listing->rows[at].file = find_file(filling, place->file);
	listing->rows[at].line = listing->rows[at].file ? place->line : 0;
}

static void fill_gaps(struct listing *listing)
{
	struct listing_row *rows = listing->rows;
	uint32_t last = UINT32_MAX;
	for (uint32_t i = 0; i < listing->answer.nr_rows; i++) {
		if (!rows[i].file)
			continue;
		if (last != UINT32_MAX && i - last <= GAP_MAX + 1 &&
		    rows[i].file == rows[last].file && rows[i].line == rows[last].line)
			for (uint32_t gap = last + 1; gap < i; gap++) {
				rows[gap].file = rows[i].file;
				rows[gap].line = rows[i].line;
			}
		last = i;
	}
}

/* ---- names of what is called ---- */

static int compare(const void *a, const void *b)
{
	const struct history_place *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->function.index > right->function.index) -
	       (left->function.index < right->function.index);
}

/* The function that begins at an address; index 0: none is known, or several, that were there one after the other. */
static struct function_id starting_at(const struct filling *filling, uint64_t start)
{
	size_t low = 0, high = filling->nr_places;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (filling->places[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	struct function_id found = {0};
	for (; low < filling->nr_places && filling->places[low].start == start; low++) {
		const struct history_place *place = &filling->places[low];
		if (!place->has_start || place->function.index == found.index)
			continue;
		if (found.index)
			return (struct function_id){0};
		found = place->function;
	}
	return found;
}

static void name_targets(const struct filling *filling, const struct history *history)
{
	struct listing *listing = filling->listing;
	const struct listing_answer *answer = &listing->answer;
	for (uint32_t i = 0; i < answer->nr_rows; i++) {
		struct listing_row *row = &listing->rows[i];
		if (!row->target || row->target_name ||
		    (row->target >= answer->start && row->target < answer->end))
			continue;
		const struct function_id target = starting_at(filling, row->target - answer->bias);
		if (target.index && history_function_named(history, target))
			row->target_name = add_string(
				listing, history_function_name(history, target), LISTING_TEXT_MAX);
	}
}

/* Of the same start another function may have been: generated code is overwritten. */
int listing_take_from_profile(struct listing *listing, struct history *history, uint32_t module,
			      uint64_t start, struct function_id function)
{
	struct filling filling = {.listing = listing};
	if (listing->answer.nr_files)
		return 0;
	int result = history_places(history, module, &filling.places, &filling.nr_places);
	if (result)
		return result;
	qsort(filling.places, filling.nr_places, sizeof(*filling.places), compare);
	for (size_t i = 0; i < filling.nr_places; i++) {
		const struct history_place *place = &filling.places[i];
		if (place->has_start && place->start == start &&
		    place->function.index == function.index)
			add_line(&filling, place);
	}
	fill_gaps(listing);
	name_targets(&filling, history);
	listing->is_of_profile = listing->answer.nr_files > 0;
	index_release(&filling.files);
	free(filling.places);
	return 0;
}

int64_t profile_began_ns(const struct history *history)
{
	const char *text = history_info(history, "start_wall_ns");
	const long long ns = text ? strtoll(text, NULL, 10) : 0;
	return ns > 0 ? ns : INT64_MAX;
}
