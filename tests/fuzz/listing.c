/* SPDX-License-Identifier: MIT */
/*
 * What a fallen disassembler leaves: numbers of rows, files, calls, names and bytes of strings, then the answer's start and end, rows, files, calls,
 * names, strings. What
 * main accepts can be walked, and every sample is counted once.
 */
#include <ctop/annotate/annotation.h>
#include <ctop/files/listing.h>

#include "fuzz.h"

static void check_texts(const struct listing *listing)
{
	const struct listing_answer *answer = &listing->answer;
	size_t bytes = 0;
	for (uint32_t i = 0; i < answer->nr_rows; i++) {
		bytes += strlen(listing->strings + listing->rows[i].text);
		bytes += strlen(listing->strings + listing->rows[i].target_name);
		REQUIRE(listing->rows[i].file <= answer->nr_files);
	}
	for (uint32_t i = 0; i < answer->nr_files; i++)
		bytes += strlen(listing->strings + listing->files[i].path) +
			 strlen(listing->strings + listing->files[i].directory);
	REQUIRE(bytes <= answer->string_bytes);
}

/* Each is in one before it: they have an end, and as many as they say. */
static void check_chains(const struct annotation *annotation)
{
	const struct listing *listing = annotation->listing;
	struct annotated_call calls[HISTORY_INLINED_MAX];
	for (uint32_t i = 0; i < listing->answer.nr_rows; i++) {
		if (!listing->rows[i].call)
			continue;
		const size_t nr = annotation_chain(annotation, NULL, i, calls);
		REQUIRE(nr >= 1 && nr <= LISTING_DEPTH_MAX);
		for (size_t at = 0; at < nr; at++)
			REQUIRE(strlen(calls[at].function) < LISTING_NAME_MAX &&
				strlen(calls[at].file) < LISTING_NAME_MAX);
	}
}

static void check_samples(const struct listing *listing)
{
	struct selection_address items[64];
	struct selection_code code = {.items = items, .nr = 64};
	struct annotation annotation;
	uint64_t samples = 0, on_lines = 0;
	uint32_t nr_placed = 0;
	for (size_t i = 0; i < code.nr; i++)
		items[i] = (struct selection_address){
			.address = listing->answer.start - 8 + i, .samples = i + 1, .weight = 1};
	REQUIRE(annotation_make(&annotation, listing, NULL, &code, 0, 0) == 0);
	check_chains(&annotation);
	for (uint32_t i = 0; i < listing->answer.nr_rows; i++) {
		const struct annotated_line *line = annotation_line_at(&annotation, i);
		samples += annotation.rows[i].samples;
		if (listing->rows[i].file && listing->rows[i].line)
			on_lines += annotation.rows[i].samples;
		if (line)
			on_lines -= line->samples;
		nr_placed += line != NULL;
	}
	/* Those of a line stand in one place. */
	REQUIRE(!on_lines && nr_placed <= annotation.nr_lines);
	REQUIRE(samples + annotation.outside_samples == annotation.samples &&
		annotation.samples == 64 * 65 / 2);
	annotation_release(&annotation);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	struct listing *listing;
	struct listing_answer answer = {0};
	answer.nr_rows = input_u16(&input);
	answer.nr_files = input_u8(&input);
	answer.nr_calls = input_u8(&input);
	answer.nr_names = input_u8(&input);
	answer.string_bytes = input_u16(&input);
	input_take(&input, &answer.start, sizeof(answer.start));
	input_take(&input, &answer.end, sizeof(answer.end));
	char *memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	input_take(&input, memory, answer.nr_rows * sizeof(struct listing_row));
	input_take(&input, memory + LISTING_FILES_AT,
		   answer.nr_files * sizeof(struct listing_file));
	input_take(&input, memory + LISTING_CALLS_AT,
		   answer.nr_calls * sizeof(struct listing_call));
	input_take(&input, memory + LISTING_NAMES_AT, answer.nr_names * sizeof(uint32_t));
	input_take(&input, memory + LISTING_STRINGS_AT, answer.string_bytes);
	if (listing_take(&answer, memory, &listing))
		return 0;
	check_texts(listing);
	check_samples(listing);
	listing_free(listing);
	return 0;
}
