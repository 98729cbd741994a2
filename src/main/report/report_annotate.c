/* SPDX-License-Identifier: MIT */
/* A function's code as text. */
#include "report_annotate.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/function_name.h>
#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>

enum { NAME_COLS = 80, FILE_COLS = 40, NUMBERS_COLS = 23, FILES_SHOWN_MAX = 16 };

static const char *text_at(const struct listing *listing, uint32_t at)
{
	return listing->strings + at;
}

/* "prog.c", "prog.c (newer than the program)", "prog.c: not found". */
static void add_file(const struct listing *listing, const struct listing_file *listed,
		     const struct source_file *file, int64_t written_ns, struct text *out)
{
	const char *place = file ? source_file_place(file) : NULL;
	const char *problem = file ? source_file_problem(file) : "not looked for";
	const char *path = text_at(listing, listed->path);
	const char *directory = text_at(listing, listed->directory);
	/* As --source-dir takes it. */
	if (!place && path[0] != '/' && directory[0]) {
		text_add_safe(out, directory);
		text_add(out, "/");
	}
	text_add_safe(out, place ? place : path);
	if (problem)
		text_addf(out, ": %s", problem);
	else if (file && source_file_written_ns(file) > written_ns)
		text_add(out, " (newer than the program: lines may be others)");
}

static void add_files(const struct listing *listing, struct source_file *const *files,
		      int64_t written_ns, struct text *out)
{
	const uint32_t nr = listing->answer.nr_files;
	bool is_one_missing = false;
	for (uint32_t i = 0; i < nr && i < FILES_SHOWN_MAX; i++) {
		struct text line = {0};
		is_one_missing |= files[i] && !source_file_place(files[i]);
		add_file(listing, &listing->files[i], files[i], written_ns, &line);
		label_line_add(out, i ? "" : "source", text_string(&line), 0);
		text_release(&line);
	}
	if (nr > FILES_SHOWN_MAX) {
		struct text line = {0};
		text_addf(&line, "and %u more files", nr - FILES_SHOWN_MAX);
		label_line_add(out, "", text_string(&line), 0);
		text_release(&line);
	}
	if (is_one_missing)
		label_line_add(out, "", "--source-dir OLD=NEW says where those are", 0);
	if (!nr)
		label_line_add(out, "source", "no debug information says which", 0);
}

static uint64_t inlined_samples(const struct annotation *annotation)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < annotation->listing->answer.nr_rows; i++)
		if (annotation->rows[i].inlined.index)
			samples += annotation->rows[i].samples;
	return samples;
}

static void add_counts(const struct annotation *annotation, uint64_t whole, struct text *out)
{
	const uint64_t inlined = inlined_samples(annotation);
	struct text line = {0};
	add_grouped(&line, annotation->samples);
	text_add(&line, " in its code, ");
	add_percent(&line, annotation->weight, whole);
	text_add(&line, "% of all");
	if (inlined) {
		text_add(&line, "; ");
		add_grouped(&line, inlined);
		text_add(&line, " of them in functions inlined there");
	}
	if (annotation->outside_samples) {
		text_add(&line, "; ");
		add_grouped(&line, annotation->outside_samples);
		text_add(&line, " at addresses that are not listed");
	}
	label_line_add(out, "samples", text_string(&line), 0);
	text_release(&line);
}

/* The source's line, or which it is, where that is another than that of the instruction before. */
static void add_source(const struct listing *listing, uint32_t at, struct source_file *const *files,
		       struct text *out)
{
	const struct listing_row *row = &listing->rows[at];
	const struct listing_row *before = at ? row - 1 : NULL;
	const bool is_same_file = before && before->file == row->file;
	if (!row->file || !row->line || (is_same_file && before->line == row->line))
		return;
	const struct source_file *file = files[row->file - 1];
	const char *path = text_at(listing, listing->files[row->file - 1].path);
	const char *slash = strrchr(path, '/');
	struct text name = {0};
	text_add_safe(&name, slash && slash[1] ? slash + 1 : path);
	text_addf(out, "%*s", NUMBERS_COLS, "");
	name_add_elided(out, text_string(&name), FILE_COLS);
	text_addf(out, ":%" PRIu32 "  ", row->line);
	text_release(&name);
	if (file && out->size < REPORT_ANNOTATE_BYTES_MAX)
		source_file_add_line(file, row->line, out);
	text_add(out, "\n");
}

static void add_numbers(const struct annotation *annotation, uint32_t at, struct text *out)
{
	static const char *const marks[] = {
		[HEAT_NONE] = "  ", [HEAT_SOME] = "* ", [HEAT_HOT] = "**"};
	const struct annotated *row = &annotation->rows[at];
	struct text digits = {0};
	if (!row->samples) {
		text_addf(out, "%*s", NUMBERS_COLS, "");
		return;
	}
	add_grouped(&digits, row->samples);
	text_addf(out, "%6.2f %s %11s  ",
		  annotation->weight ? 100.0 * (double)row->weight / (double)annotation->weight
				     : 0.0,
		  marks[annotation_heat(annotation, at)], text_string(&digits));
	out->failed |= digits.failed;
	text_release(&digits);
}

static void add_instruction(const struct history *history, const struct annotation *annotation,
			    uint32_t at, struct text *out)
{
	const struct listing *listing = annotation->listing;
	const struct listing_row *row = &listing->rows[at];
	const struct annotated *annotated = &annotation->rows[at];
	add_numbers(annotation, at, out);
	text_addf(out, "%8" PRIx64 ": %c ", row->address, annotated->nr_jumps ? '>' : ' ');
	text_add_safe(out, text_at(listing, row->text));
	if (row->target_name) {
		text_add(out, "  # ");
		name_add_fit(out, text_at(listing, row->target_name), NAME_FULL, NAME_COLS);
	} else if (row->kind == LISTING_JUMP &&
		   listing_row_at(listing, row->target) != UINT32_MAX) {
		text_add(out, row->target <= row->address ? "  ^" : "  v");
	}
	if (annotated->inlined.index) {
		text_add(out, "  # in ");
		name_add_fit(out, history_function_marked_name(history, annotated->inlined),
			     NAME_FULL, NAME_COLS);
	}
	text_add(out, "\n");
}

void report_annotate_add(const struct history *history, const struct annotation *annotation,
			 const struct code *code, struct source_file *const *files, uint64_t whole,
			 struct text *out)
{
	const struct listing *listing = annotation->listing;
	const struct listing_answer *answer = &listing->answer;
	struct text line = {0};
	text_addf(&line, "0x%" PRIx64 " to 0x%" PRIx64 ", ", answer->start, answer->end);
	add_grouped(&line, answer->nr_rows);
	text_addf(&line, " instructions%s", answer->is_cut ? ": it goes on, and is cut here" : "");
	label_line_add(out, "code", text_string(&line), 0);
	text_release(&line);
	add_counts(annotation, whole, out);
	add_files(listing, files, code->written_ns, out);
	text_add(out, "\n CODE%        SAMPLES   ADDRESS    INSTRUCTION\n");
	for (uint32_t i = 0; i < answer->nr_rows; i++) {
		add_source(listing, i, files, out);
		add_instruction(history, annotation, i, out);
	}
}
