/* SPDX-License-Identifier: MIT */
/* One function's instructions, each with its samples, and between them the source lines that they come from. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/function_name.h>
#include <ctop/base/vec.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "event_cells.h"

/* CODE%, SAMPLES, the arrow of a jump, ADDRESS. */
enum { SAMPLES_COL = 8, SAMPLES_COLS = 10, ARROW_COL = 19, ADDRESS_COL = 21, TEXT_COL = 32 };
/* Behind the samples; instructions need more room than names. */
enum { EVENTS_COL = SAMPLES_COL + SAMPLES_COLS, TEXT_MORE_COLS = 10 };
enum { NAME_COLS = 60, SPOTS_MAX = 64 };
enum { NARROW_COLS = 60 }; /* narrower ones have no column of samples */

/* Between a source line's place and its text. */
#define SOURCE_GAP "  "

enum row_kind { ROW_INSTRUCTION, ROW_SOURCE, ROW_CAUSE, ROW_REMEDY };

struct code_row {
	uint32_t at; /* of the listing: itself, or the first of the source line's */
	enum row_kind kind;
};

struct code_view {
	struct view view;
	struct function_id function;   /* whose rows these are */
	const struct ui_code *code;    /* the host's, as of the last refresh; NULL: none */
	const struct listing *listing; /* of it; NULL: there are only messages */
	struct {
		struct code_row *items;
		size_t nr, capacity;
	} rows;
	/* Rows with most samples, the hottest first. */
	size_t spots[SPOTS_MAX];
	size_t nr_spots, spot;	   /* spot: where H went last */
	bool is_listed;		   /* the hottest was gone to */
	size_t jump_from, jump_to; /* rows of the jump that is selected; the same: it is none */
	struct text text;	   /* scratch */
	struct event_cells events; /* what is in them is the host's */
};

static struct code_view *code_of(struct view *view)
{
	return (struct code_view *)view;
}

static const struct code_view *code_of_const(const struct view *view)
{
	return (const struct code_view *)view;
}

static const struct listing_row *instruction_of(const struct code_view *view, size_t row)
{
	return &view->listing->rows[view->rows.items[row].at];
}

/* ---- rows ---- */

static int add_row(struct code_view *view, uint32_t at, enum row_kind kind)
{
	if (vec_reserve(&view->rows, view->rows.nr + 1))
		return -ENOMEM;
	view->rows.items[view->rows.nr++] = (struct code_row){at, kind};
	return 0;
}

static int add_rows(struct code_view *view)
{
	const struct listing *listing = view->listing;
	int result = 0;
	view->rows.nr = 0;
	for (uint32_t i = 0; listing && !result && i < listing->answer.nr_rows; i++) {
		if (listing_begins_block(listing, i))
			result = add_row(view, i, ROW_SOURCE);
		if (!result)
			result = add_row(view, i, ROW_INSTRUCTION);
	}
	if (!listing && !result)
		result = add_row(view, 0, ROW_CAUSE);
	if (!listing && !result && view->code && view->code->remedy[0])
		result = add_row(view, 0, ROW_REMEDY);
	return result;
}

static uint64_t weight_at(const struct code_view *view, size_t row)
{
	const struct code_row *item = &view->rows.items[row];
	return item->kind == ROW_INSTRUCTION ? view->code->annotation->rows[item->at].weight : 0;
}

/* Kept in order while they are found. */
static void find_spots(struct code_view *view)
{
	view->nr_spots = 0;
	for (size_t row = 0; row < view->rows.nr; row++) {
		if (!weight_at(view, row))
			continue;
		size_t place = view->nr_spots;
		while (place && weight_at(view, view->spots[place - 1]) < weight_at(view, row))
			place--;
		if (place == SPOTS_MAX)
			continue;
		view->nr_spots += view->nr_spots < SPOTS_MAX;
		memmove(&view->spots[place + 1], &view->spots[place],
			(view->nr_spots - place - 1) * sizeof(*view->spots));
		view->spots[place] = row;
	}
}

/* On the middle of the screen. */
static void go_to(struct view *view, size_t row)
{
	const size_t half = view->height > 1 ? (size_t)view->height / 2 : 8;
	view_select(view, row);
	view->first = row > half ? row - half : 0;
}

static int refresh(struct view *view, struct model *model)
{
	struct code_view *code = code_of(view);
	code->code = NULL;
	if (code->function.index != model->code_of.index) {
		code->function = model->code_of;
		code->is_listed = false;
	}
	if (model->has_code_of && model->host->code)
		code->code =
			model->host->code(model->host->context, model->selection, model->code_of);
	code->listing =
		code->code && code->code->annotation ? code->code->annotation->listing : NULL;
	code->events.of = code->listing && !changes_known(model) ? code->code->annotation->events
								 : (struct event_columns){0};
	int result = add_rows(code);
	view->nr_rows = result ? 0 : code->rows.nr;
	if (result || !code->listing)
		return result;
	find_spots(code);
	if (!code->is_listed && code->nr_spots) {
		code->spot = 0;
		go_to(view, code->spots[0]);
	}
	code->is_listed = true;
	return 0;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	const struct code_row *item = &code_of_const(view)->rows.items[row];
	return (uint64_t)item->at * 4 + item->kind;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	const struct code_view *code = code_of_const(view);
	const struct code_row *item = &code->rows.items[row];
	*function = code->function;
	if (code->listing && item->kind == ROW_INSTRUCTION &&
	    code->code->annotation->rows[item->at].inlined.index)
		*function = code->code->annotation->rows[item->at].inlined;
	return true;
}

/* ---- texts ---- */

static const struct source_file *file_of(const struct code_view *view,
					 const struct listing_row *row)
{
	return row->file && view->code->files ? view->code->files[row->file - 1] : NULL;
}

static void add_source(const struct code_view *view, const struct listing_row *row,
		       struct text *out)
{
	const struct listing *listing = view->listing;
	const struct source_file *file = file_of(view, row);
	const char *path = listing->strings + listing->files[row->file - 1].path;
	text_add_safe(out, base_name(path));
	text_addf(out, ":%" PRIu32 SOURCE_GAP, row->line);
	if (file)
		source_file_add_line(file, row->line, out);
}

static void add_instruction(const struct code_view *view, struct model *model,
			    const struct listing_row *row, uint32_t at, struct text *out)
{
	const struct listing *listing = view->listing;
	const char *inlined = annotation_inlined_name(view->code->annotation, model->history, at);
	text_add_safe(out, listing->strings + row->text);
	if (row->target_name) {
		text_add(out, "  # ");
		name_add_fit(out, listing->strings + row->target_name, NAME_NO_ARGUMENTS,
			     NAME_COLS);
	} else if (row->kind == LISTING_JUMP &&
		   listing_row_at(listing, row->target) != UINT32_MAX) {
		text_add(out, row->target <= row->address ? "  ^" : "  v");
	}
	if (inlined) {
		text_add(out, "  # in ");
		text_add(out, model_fit_inlined(model, inlined, NAME_COLS));
	}
}

static bool is_fetching(const struct code_view *view)
{
	return view->code->fetching && view->code->fetching[0];
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct code_view *code = code_of(view);
	const struct code_row *item = &code->rows.items[row];
	text_clear(&code->text);
	switch (item->kind) {
	case ROW_SOURCE:
		add_source(code, instruction_of(code, row), &code->text);
		break;
	case ROW_INSTRUCTION:
		add_instruction(code, model, instruction_of(code, row), item->at, &code->text);
		break;
	case ROW_CAUSE:
		if (!model->has_code_of)
			text_add(&code->text,
				 "No function is chosen: select one in another view, and press a.");
		else if (code->code && code->code->cause[0])
			text_add_safe(&code->text, code->code->cause);
		else
			text_add(&code->text, "its code is being listed ...");
		if (code->code && !code->code->cause[0] && is_fetching(code)) {
			text_add(&code->text, " ");
			text_add(&code->text, code->code->fetching);
		}
		break;
	case ROW_REMEDY:
		text_add_safe(&code->text, code->code->remedy);
		break;
	}
	return text_string(&code->text);
}

/* ---- drawing ---- */

static size_t row_of_address(const struct code_view *view, uint64_t address)
{
	const uint32_t at = listing_row_at(view->listing, address);
	size_t low = 0, high = view->rows.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (view->rows.items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	/* Its source line may stand before it. */
	if (low < view->rows.nr && view->rows.items[low].kind == ROW_SOURCE)
		low++;
	return at == UINT32_MAX || low >= view->rows.nr ? SIZE_MAX : low;
}

/* The jump that is selected has an arrow to where it leads. */
static void find_jump(struct code_view *view)
{
	const size_t row = view->view.selected;
	view->jump_from = view->jump_to = 0;
	if (!view->listing || row >= view->rows.nr || view->rows.items[row].kind != ROW_INSTRUCTION)
		return;
	const struct listing_row *jump = instruction_of(view, row);
	const size_t to = jump->kind == LISTING_JUMP && jump->target
				  ? row_of_address(view, jump->target)
				  : SIZE_MAX;
	if (to == SIZE_MAX)
		return;
	view->jump_from = row;
	view->jump_to = to;
}

/* Where a column behind that of samples and those of other events begins. */
static int col_at(const struct code_view *view, const struct area *line, int col)
{
	return line->col + col - (line->cols < NARROW_COLS ? SAMPLES_COLS : 0) + view->events.cols;
}

/* The columns of an address: generated code and the kernel's have longer ones than a file. */
static int address_cols(const struct code_view *view)
{
	enum { LEAST = TEXT_COL - ADDRESS_COL - 1, DIGIT_BITS = 4 };
	int cols = LEAST;
	uint64_t above = view->listing ? view->listing->answer.end >> (LEAST - 1) * DIGIT_BITS : 0;
	for (; above; above >>= DIGIT_BITS)
		cols++;
	return cols;
}

static int text_col(const struct code_view *view)
{
	return ADDRESS_COL + address_cols(view) + 1;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	struct code_view *code = code_of(view);
	const int end = line.col + line.cols;
	event_cells_fit(&code->events, model,
			line.cols < NARROW_COLS ? 0 : line.cols - EVENTS_COL - TEXT_MORE_COLS);
	int col = col_at(code, &line, text_col(code));
	find_jump(code);
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE,
		  line.cols < NARROW_COLS ? "  CODE%" : "  CODE%   SAMPLES");
	event_cells_draw_title(&code->events, model, cells, line.row, line.col + EVENTS_COL);
	cells_put(cells, line.row, col_at(code, &line, ADDRESS_COL - 1), line.cols, ROLE_TITLE,
		  "ADDRESS");
	if (!code->listing || col >= end)
		return;
	col += cells_put(cells, line.row, col, end - col, ROLE_TITLE, "CODE OF ");
	cells_put_cut(cells, line.row, col, end - col, ROLE_TITLE,
		      model_fit_name(model, code->code->holder, end - col));
}

static void draw_arrow(const struct code_view *view, struct model *model, struct cells *cells,
		       size_t row, struct area line)
{
	const size_t from = view->jump_from, to = view->jump_to;
	const size_t first = from < to ? from : to, last = from < to ? to : from;
	if (first == last || row < first || row > last)
		return;
	const char *mark = row == to ? ">" : row == from ? "+" : model->glyphs->vertical;
	cells_put(cells, line.row, col_at(view, &line, ARROW_COL), 1, ROLE_LABEL, mark);
}

/* row: of the events. */
static void draw_numbers(struct code_view *view, struct model *model, struct cells *cells,
			 const struct selection_amount *own, size_t row, struct area line)
{
	const struct annotation *annotation = view->code->annotation;
	const struct event_columns *events = &view->events.of;
	if (!own->samples && !(events->nr && event_columns_have_samples(events, row)))
		return;
	const double percent =
		annotation->weight ? 100.0 * (double)own->weight / (double)annotation->weight : 0;
	const enum role role = model_percent_role(model, percent);
	cells_putf(cells, line.row, line.col + 1, 7, role, "%6.1f", percent);
	if (line.cols >= NARROW_COLS)
		cells_putf(cells, line.row, line.col + SAMPLES_COL, SAMPLES_COLS, role, "%9" PRIu64,
			   own->samples);
	event_cells_draw_row(&view->events, model, cells, line.row, line.col + EVENTS_COL, row);
}

/* Of an instruction, or in one of a line's places of all of it. */
static void draw_row_numbers(struct code_view *view, struct model *model, struct cells *cells,
			     const struct code_row *item, struct area line)
{
	const struct annotation *annotation = view->code->annotation;
	if (item->kind == ROW_INSTRUCTION) {
		const struct annotated *at = &annotation->rows[item->at];
		const struct selection_amount own = {.samples = at->samples, .weight = at->weight};
		draw_numbers(view, model, cells, &own, item->at, line);
		return;
	}
	const struct annotated_line *at = annotation_line_at(annotation, item->at);
	if (!at)
		return;
	const struct selection_amount own = {.samples = at->samples, .weight = at->weight};
	draw_numbers(view, model, cells, &own,
		     (size_t)view->listing->answer.nr_rows + annotation->rows[item->at].line - 1,
		     line);
}

/* A source line's indentation gives way where the line would be cut. */
static void squeeze(struct text *text, int room)
{
	char *indent = text->bytes ? strstr(text->bytes, SOURCE_GAP) : NULL;
	const size_t cols = text_cols(text_string(text));
	if (!indent || cols <= (size_t)room)
		return;
	indent += strlen(SOURCE_GAP);
	size_t nr = strspn(indent, " ");
	if (nr > cols - (size_t)room)
		nr = cols - (size_t)room;
	memmove(indent, indent + nr, strlen(indent + nr) + 1);
	text->size -= nr;
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct code_view *code = code_of(view);
	const struct code_row *item = &code->rows.items[row];
	const bool is_message = item->kind == ROW_CAUSE || item->kind == ROW_REMEDY;
	const int col = is_message
				? line.col + 2
				: col_at(code, &line,
					 item->kind == ROW_SOURCE ? ADDRESS_COL : text_col(code));
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	draw_arrow(code, model, cells, row, line);
	if (!is_message)
		draw_row_numbers(code, model, cells, item, line);
	if (item->kind == ROW_INSTRUCTION) {
		const struct annotated *annotated = &code->code->annotation->rows[item->at];
		cells_putf(cells, line.row, col_at(code, &line, ADDRESS_COL), address_cols(code),
			   annotated->nr_jumps ? ROLE_LABEL : ROLE_DIM, "%9" PRIx64,
			   instruction_of(code, row)->address);
	}
	const int room = line.col + line.cols - col;
	if (room <= 0)
		return;
	const char *text = text_at(view, model, row);
	if (item->kind == ROW_SOURCE)
		squeeze(&code->text, room);
	view_put_name(model, cells, line.row, col, room,
		      item->kind == ROW_SOURCE ? ROLE_DIM : ROLE_TEXT, text);
}

/* A line whose instructions stand in several places: its numbers stand in one of these. */
static void add_places(const struct code_view *view, uint32_t at, struct text *out)
{
	const struct annotation *annotation = view->code->annotation;
	const uint32_t number = annotation->rows[at].line;
	const struct annotated_line *line = number ? &annotation->lines[number - 1] : NULL;
	if (!line || line->nr_blocks < 2 || !line->weight)
		return;
	text_addf(out, ", %.1f%% of the code in %" PRIu32 " places",
		  100.0 * (double)line->weight / (double)annotation->weight, line->nr_blocks);
}

/* The chain of inlined functions at a row, in at most so many columns unless not even two of them have room in these. */
static void add_chain(const struct code_view *view, const struct model *model, uint32_t at,
		      int cols, struct text *out)
{
	enum { CHAIN_MOST = 6, CHAIN_LEAST = 2 };
	static const char label[] = "inlined: ";
	const struct annotation *annotation = view->code->annotation;
	for (size_t most = CHAIN_MOST; annotation_is_inlined(annotation, at) && most >= CHAIN_LEAST;
	     most--) {
		text_clear(out);
		text_add(out, label);
		annotation_add_chain(annotation, model->history, at, most, out);
		if (text_cols(text_string(out)) <= (size_t)cols)
			break;
	}
	text_add(out, out->size ? ": " : "");
}

/* Of a source line the first instruction of its block that is known to be of an inlined function; of an instruction itself. */
static uint32_t chain_row(const struct code_view *view, size_t row)
{
	const struct code_row *item = &view->rows.items[row];
	const struct annotation *annotation = view->code->annotation;
	const struct annotated *rows = annotation->rows;
	uint32_t at = item->at;
	while (item->kind == ROW_SOURCE && !annotation_is_inlined(annotation, at) &&
	       at + 1 < view->listing->answer.nr_rows && rows[at + 1].line == rows[item->at].line)
		at++;
	return at;
}

/* What was inlined there, which file the line is of, and what is wrong with that. */
static void draw_selected(struct view *view, struct model *model, struct cells *cells, int row)
{
	struct code_view *code = code_of(view);
	struct text line = {0};
	if (view->selected >= view->nr_rows || !code->listing)
		return;
	add_chain(code, model, chain_row(code, view->selected), cells->cols, &line);
	const struct listing_row *at = instruction_of(code, view->selected);
	const struct source_file *file = file_of(code, at);
	const char *place = file ? source_file_place(file) : NULL;
	const char *problem = file ? source_file_problem(file) : NULL;
	if (code->code->kept) {
		text_add_safe(&line, code->code->kept);
		text_add(&line, at->file ? "; " : "");
	}
	if (at->file)
		text_add_safe(&line, place ? place
					   : code->listing->strings +
						     code->listing->files[at->file - 1].path);
	if (at->line)
		text_addf(&line, ":%" PRIu32, at->line);
	if (problem)
		text_addf(&line, ": %s", problem);
	else if (place && source_file_written_ns(file) > code->code->written_ns)
		text_add(&line, " (newer than the program: lines may be others)");
	add_places(code, code->rows.items[view->selected].at, &line);
	if (is_fetching(code) && !place && !problem)
		text_addf(&line, " (%s)", code->code->fetching);
	cells_put_cut(cells, row, 0, cells->cols, ROLE_TEXT, text_string(&line));
	text_release(&line);
}

/* ---- keys ---- */

static bool next_spot(struct view *view, int step)
{
	struct code_view *code = code_of(view);
	const size_t nr = code->nr_spots;
	if (!nr)
		return true;
	/* From another row, to the hottest. */
	const bool is_there = code->spot < nr && view->selected == code->spots[code->spot];
	code->spot = is_there ? (code->spot + (step > 0 ? 1 : nr - 1)) % nr : 0;
	go_to(view, code->spots[code->spot]);
	return true;
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct code_view *code = code_of(view);
	if (action == ACTION_HOT_PATH || action == ACTION_NEXT_SPOT)
		return next_spot(view, 1);
	if (action == ACTION_PREVIOUS_SPOT)
		return next_spot(view, -1);
	find_jump(code);
	if (action != ACTION_ENTER || code->jump_from == code->jump_to)
		return false;
	(void)model;
	go_to(view, code->jump_to);
	return true;
}

static void code_free(struct view *view)
{
	view_release(view);
	free(code_of(view)->rows.items);
	text_release(&code_of(view)->text);
	text_release(&code_of(view)->events.text);
	free(view);
}

struct view *code_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_CODE,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.draw_selected = draw_selected,
		.text_at = text_at,
		.function_at = function_at,
		.act = act,
		.free = code_free,
	};
	return view_new(&ops, sizeof(struct code_view));
}
