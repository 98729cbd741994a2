/* SPDX-License-Identifier: MIT */
/* What a disassembler left, which is a claim. */
#include <ctop/files/listing.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool has_right_shape(const struct listing_answer *answer)
{
	return !answer->error && answer->nr_rows <= LISTING_ROWS_MAX &&
	       answer->nr_files <= LISTING_FILES_MAX && answer->nr_calls <= LISTING_CALLS_MAX &&
	       answer->nr_names <= LISTING_NAMES_MAX && answer->string_bytes &&
	       answer->string_bytes <= LISTING_STRINGS_MAX && answer->end >= answer->start;
}

static bool is_row_right(const struct listing *listing, uint32_t at, uint64_t from)
{
	const struct listing_answer *answer = &listing->answer;
	const struct listing_row *row = &listing->rows[at];
	return row->address >= from && row->address < answer->end && row->size &&
	       row->size <= answer->end - row->address && row->text < answer->string_bytes &&
	       row->target_name < answer->string_bytes && row->file <= answer->nr_files &&
	       row->kind < NR_LISTING_KINDS && row->call <= answer->nr_calls;
}

/* Texts of rows lie side by side: many that share one would make megabytes into terabytes of output. */
static bool is_text_right(const struct listing *listing, uint32_t at, size_t most, size_t *left)
{
	const size_t bytes = at ? strnlen(listing->strings + at, most) + 1 : 0;
	if (bytes > most || bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

static bool are_calls_right(const struct listing *listing)
{
	const struct listing_answer *answer = &listing->answer;
	for (uint32_t i = 0; i < answer->nr_calls; i++) {
		const struct listing_call *call = &listing->calls[i];
		if (call->outer > i || call->function > answer->nr_names ||
		    call->file > answer->nr_names || call->depth > LISTING_DEPTH_MAX ||
		    call->depth != 1 + (call->outer ? listing->calls[call->outer - 1].depth : 0))
			return false;
	}
	return true;
}

static bool makes_sense(const struct listing *listing)
{
	const struct listing_answer *answer = &listing->answer;
	uint64_t from = answer->start;
	size_t left = answer->string_bytes;
	for (uint32_t i = 0; i < answer->nr_rows; i++) {
		const struct listing_row *row = &listing->rows[i];
		if (!is_row_right(listing, i, from) ||
		    !is_text_right(listing, row->text, LISTING_TEXT_MAX, &left) ||
		    !is_text_right(listing, row->target_name, LISTING_TEXT_MAX, &left))
			return false;
		from = row->address + row->size;
	}
	for (uint32_t i = 0; i < answer->nr_names; i++)
		if (listing->names[i] >= answer->string_bytes ||
		    !is_text_right(listing, listing->names[i], LISTING_NAME_MAX, &left))
			return false;
	for (uint32_t i = 0; i < answer->nr_files; i++) {
		const struct listing_file *file = &listing->files[i];
		if (file->path >= answer->string_bytes || file->directory >= answer->string_bytes ||
		    !is_text_right(listing, file->path, LISTING_PATH_MAX, &left) ||
		    !is_text_right(listing, file->directory, LISTING_PATH_MAX, &left))
			return false;
	}
	return are_calls_right(listing);
}

int listing_take(const struct listing_answer *answer, void *memory, struct listing **listing)
{
	struct listing *taken = calloc(1, sizeof(*taken));
	char *bytes = memory;
	*listing = NULL;
	if (!taken) {
		munmap(memory, LISTING_BYTES);
		return -ENOMEM;
	}
	*taken = (struct listing){
		.answer = *answer,
		.rows = memory,
		.files = (struct listing_file *)(void *)(bytes + LISTING_FILES_AT),
		.calls = (struct listing_call *)(void *)(bytes + LISTING_CALLS_AT),
		.names = (uint32_t *)(void *)(bytes + LISTING_NAMES_AT),
		.strings = bytes + LISTING_STRINGS_AT,
		.memory = memory,
	};
	if (has_right_shape(answer)) {
		taken->strings[0] = taken->strings[answer->string_bytes - 1] = '\0';
		*listing = makes_sense(taken) ? taken : NULL;
	}
	if (*listing)
		return 0;
	listing_free(taken);
	return -EIO;
}

void listing_free(struct listing *listing)
{
	if (!listing)
		return;
	munmap(listing->memory, LISTING_BYTES);
	free(listing);
}
