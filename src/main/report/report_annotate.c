/* SPDX-License-Identifier: MIT */
/* A function's code as text. */
#include "report_annotate.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/function_name.h>
#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>

#include "report_events.h"
#include "report_internal.h"

enum { NAME_COLS = 80, FILE_COLS = 40, FILES_SHOWN_MAX = 16, CHAIN_MOST = 6 };
enum { NUMBERS_COLS = 21, SAMPLES_COLS = 11, LINE_COLS = 200 };

struct listed {
	const struct history *history;
	const struct annotation *annotation;
	struct source_file *const *files;
	struct report_events events; /* what is in them is the annotation's */
	uint32_t chain;		     /* 1 + the row whose chain was shown last; 0: none was */
	struct text *out;
};

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

static void add_no_files(const struct code *code, enum names_missing missing, bool asks_servers,
			 struct text *out)
{
	struct text line = {0};
	if (missing == NAMES_MISSING_LINES) {
		label_line_add(out, "source", names_missing_text(missing), 0);
		return;
	}
	text_add(&line, "no debug information says which");
	if (code->fetch_problem)
		text_addf(&line, ", and %s", code->fetch_problem);
	else if (!asks_servers && code->program.size)
		text_add(&line, "; --debuginfod asks servers for it");
	label_line_add(out, "source", text_string(&line), 0);
	text_release(&line);
}

static void add_files(const struct code *code, struct source_file *const *files,
		      enum names_missing missing, bool asks_servers, struct text *out)
{
	const struct listing *listing = code->listing;
	const uint32_t nr = listing->answer.nr_files;
	bool is_one_missing = false;
	for (uint32_t i = 0; i < nr && i < FILES_SHOWN_MAX; i++) {
		struct text line = {0};
		is_one_missing |= files[i] && source_file_is_not_found(files[i]);
		add_file(listing, &listing->files[i], files[i], code->written_ns, &line);
		label_line_add(out, i ? "" : "source", text_string(&line), 0);
		text_release(&line);
	}
	if (listing->is_of_profile)
		label_line_add(out, "", "lines are those of instructions that were in stacks", 0);
	if (nr > FILES_SHOWN_MAX) {
		struct text line = {0};
		text_addf(&line, "and %u more files", nr - FILES_SHOWN_MAX);
		label_line_add(out, "", text_string(&line), 0);
		text_release(&line);
	}
	if (is_one_missing)
		label_line_add(out, "",
			       asks_servers ? "--source-dir OLD=NEW says where those are"
					    : "--source-dir OLD=NEW says where those are; "
					      "--debuginfod asks servers for them",
			       0);
	if (listing->answer.lacks_calls)
		label_line_add(out, "inlined", "so many functions that some are not shown", 0);
	if (listing->answer.lacks_unit)
		label_line_add(out, "inlined",
			       "functions are in a .dwo file that is not here: at most those at "
			       "samples are shown",
			       0);
	if (!nr)
		add_no_files(code, missing, asks_servers, out);
}

static uint64_t inlined_samples(const struct annotation *annotation)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < annotation->listing->answer.nr_rows; i++)
		if (annotation_is_inlined(annotation, i))
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

/* ---- numbers ---- */

/* mark: in two columns. row: of the events. */
static void add_numbers(struct listed *listed, uint64_t samples, uint64_t weight, const char *mark,
			size_t row)
{
	const struct annotation *annotation = listed->annotation;
	struct text digits = {0};
	struct text *out = listed->out;
	add_grouped(&digits, samples);
	report_add_share(out, weight, annotation->weight);
	text_addf(out, " %s ", mark);
	report_add_blanks(out, digits.size < SAMPLES_COLS ? SAMPLES_COLS - digits.size : 0);
	text_add(out, text_string(&digits));
	report_events_add_row(&listed->events, row, out);
	out->failed |= digits.failed;
	text_release(&digits);
}

static void add_no_numbers(const struct listed *listed)
{
	report_add_blanks(listed->out, NUMBERS_COLS);
	report_events_add_nothing(&listed->events, listed->out);
}

static void add_instruction_numbers(struct listed *listed, uint32_t at)
{
	static const char *const marks[] = {
		[HEAT_NONE] = "  ", [HEAT_SOME] = "* ", [HEAT_HOT] = "**"};
	const struct annotation *annotation = listed->annotation;
	const struct annotated *row = &annotation->rows[at];
	if (row->samples ||
	    (annotation->events.nr && event_columns_have_samples(&annotation->events, at)))
		add_numbers(listed, row->samples, row->weight,
			    marks[annotation_heat(annotation, at)], at);
	else
		add_no_numbers(listed);
}

/* ---- rows ---- */

/* The source's line, or which it is, where that is another than that of the instruction before. */
static void add_source(struct listed *listed, uint32_t at)
{
	const struct annotation *annotation = listed->annotation;
	const struct listing *listing = annotation->listing;
	const struct listing_row *row = &listing->rows[at];
	struct text *out = listed->out;
	if (!listing_begins_block(listing, at))
		return;
	const struct source_file *file = listed->files[row->file - 1];
	const char *path = text_at(listing, listing->files[row->file - 1].path);
	const struct annotated_line *line = annotation_line_at(annotation, at);
	struct text name = {0};
	text_add_safe(&name, base_name(path));
	if (line)
		add_numbers(listed, line->samples, line->weight, "  ",
			    (size_t)listing->answer.nr_rows + annotation->rows[at].line - 1);
	else
		add_no_numbers(listed);
	text_add(out, "  ");
	name_add_elided(out, text_string(&name), FILE_COLS);
	text_addf(out, ":%" PRIu32 "  ", row->line);
	text_release(&name);
	if (file && out->size < REPORT_ANNOTATE_BYTES_MAX)
		source_file_add_line(file, row->line, out);
	text_add(out, "\n");
}

/* Where another chain of inlined functions begins than the one that was shown last. */
static void add_chain(struct listed *listed, uint32_t at)
{
	const struct annotation *annotation = listed->annotation;
	if (!annotation_is_inlined(annotation, at) ||
	    listed->out->size >= REPORT_ANNOTATE_BYTES_MAX ||
	    (listed->chain &&
	     annotation_is_inlined_alike(annotation, listed->history, listed->chain - 1, at)))
		return;
	listed->chain = at + 1;
	add_no_numbers(listed);
	text_add(listed->out, "  inlined: ");
	annotation_add_chain(annotation, listed->history, at, CHAIN_MOST, listed->out);
	text_add(listed->out, "\n");
}

static void add_instruction(struct listed *listed, uint32_t at)
{
	const struct annotation *annotation = listed->annotation;
	struct text *out = listed->out;
	const struct listing *listing = annotation->listing;
	const struct listing_row *row = &listing->rows[at];
	const struct annotated *annotated = &annotation->rows[at];
	add_instruction_numbers(listed, at);
	text_addf(out, "  %8" PRIx64 ": %c ", row->address, annotated->nr_jumps ? '>' : ' ');
	text_add_safe(out, text_at(listing, row->text));
	if (row->target_name) {
		text_add(out, "  # ");
		name_add_fit(out, text_at(listing, row->target_name), NAME_FULL, NAME_COLS);
	} else if (row->kind == LISTING_JUMP &&
		   listing_row_at(listing, row->target) != UINT32_MAX) {
		text_add(out, row->target <= row->address ? "  ^" : "  v");
	}
	const char *inlined = annotation_inlined_name(annotation, listed->history, at);
	if (inlined) {
		text_add(out, "  # in ");
		name_add_fit(out, inlined, NAME_FULL, NAME_COLS);
		text_add(out, " (inlined)");
	}
	text_add(out, "\n");
}

void report_annotate_add(const struct history *history, uint32_t module,
			 const struct annotation *annotation, const struct code *code,
			 struct source_file *const *files, uint64_t whole,
			 const struct options *options, struct text *out)
{
	struct listed listed = {
		.history = history,
		.annotation = annotation,
		.files = files,
		.events.of = annotation->events,
		.out = out,
	};
	const struct listing *listing = annotation->listing;
	const struct listing_answer *answer = &listing->answer;
	struct text line = {0};
	text_addf(&line, "0x%" PRIx64 " to 0x%" PRIx64 ", ", answer->start, answer->end);
	add_grouped(&line, answer->nr_rows);
	text_addf(&line, " instructions%s", answer->is_cut ? ": it goes on, and is cut here" : "");
	label_line_add(out, "code", text_string(&line), 0);
	text_release(&line);
	if (code->kept) {
		struct text kept = {0};
		text_add_safe(&kept, code->kept);
		label_line_add(out, "", text_string(&kept), 0);
		text_release(&kept);
	}
	add_counts(annotation, whole, out);
	add_files(code, files, history_module(history, module).names.missing, options->debuginfod,
		  out);
	report_events_fit(&listed.events, history,
			  options->names_full ? 0
			  : options->columns  ? options->columns
					      : LINE_COLS,
			  NUMBERS_COLS + ROOM_COLS_LEAST);
	text_add(out, "\n CODE%        SAMPLES");
	report_events_add_heading(&listed.events, history, out);
	text_add(out, "   ADDRESS    INSTRUCTION\n");
	for (uint32_t i = 0; i < answer->nr_rows; i++) {
		add_source(&listed, i);
		add_chain(&listed, i);
		add_instruction(&listed, i);
	}
	out->failed |= listed.events.text.failed;
	text_release(&listed.events.text);
}
