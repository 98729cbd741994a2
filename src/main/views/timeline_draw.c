/* SPDX-License-Identifier: MIT */
/* The timeline's screen: a ruler, rows of cells, what they mean, the stack under the cursor. Each state has a character of its own: colours only help. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>

#include "timeline_view.h"

enum {
	LABEL_COLS = 30, /* tid, name, computing */
	LABEL_COLS_NARROW = 17,
	NARROW_COLS = 70,
	TICK_COLS = 20,
	STACK_ROWS_LEAST = 4,
	ROWS_LEAST = 3
};
/* ---- time as text ---- */

static void add_seconds(uint64_t ns, uint64_t precision_ns, struct text *out)
{
	const int decimals = precision_ns >= NS_PER_SECOND     ? 0
			     : precision_ns >= 100 * NS_PER_MS ? 1
			     : precision_ns >= NS_PER_MS       ? 3
							       : 6;
	text_addf(out, "%.*f s", decimals, (double)ns / (double)NS_PER_SECOND);
}

void timeline_view_add_time(const struct timeline_view *timeline, uint64_t time_ns,
			    struct text *out)
{
	const uint64_t first_ns = timeline_first_ns(timeline->timeline);
	add_seconds(time_ns > first_ns ? time_ns - first_ns : 0, timeline->cell_ns, out);
}

void timeline_view_add_length(uint64_t ns, struct text *out)
{
	if (ns >= 10 * NS_PER_SECOND)
		text_addf(out, "%.1f s", (double)ns / (double)NS_PER_SECOND);
	else if (ns >= NS_PER_SECOND)
		text_addf(out, "%.2f s", (double)ns / (double)NS_PER_SECOND);
	else if (ns >= NS_PER_MS)
		text_addf(out, "%.1f ms", (double)ns / (double)NS_PER_MS);
	else
		text_addf(out, "%.1f us", (double)ns / 1000);
}

/* ---- cells ---- */

/* Each letter of timeline_letter(), in the order in which they are explained. */
static const struct look {
	char letter;
	const char *glyph; /* where the terminal speaks UTF-8 */
	enum role role;
	const char *word;
} looks[] = {
	{'#', "█", ROLE_GOOD, "computing"}, {'+', "▄", ROLE_GOOD, "some"},
	{'q', "q", ROLE_WARN, "run queue"}, {'l', "l", ROLE_HOT, "lock"},
	{'i', "i", ROLE_KERNEL, "io"},	    {'p', "p", ROLE_DIM, "poll"},
	{'s', "s", ROLE_DIM, "sleep"},	    {'c', "c", ROLE_DIM, "child"},
	{'f', "f", ROLE_KERNEL, "fault"},   {'o', "o", ROLE_DIM, "other"},
	{'-', "·", ROLE_DIM, "waiting"},    {'?', "?", ROLE_DIM, "unknown"},
	{' ', " ", ROLE_TEXT, NULL},
};
enum { NR_LOOKS = sizeof(looks) / sizeof(*looks) };

static const struct look *look_of(const struct timeline_cell *cell)
{
	const char letter = timeline_letter(cell);
	size_t i = 0;
	while (i < NR_LOOKS - 1 && looks[i].letter != letter)
		i++;
	return &looks[i];
}

static int put_look(const struct model *model, struct cells *cells, int row, int col,
		    enum role role, const struct look *look)
{
	const char ascii[] = {look->letter, '\0'};
	return cells_put(cells, row, col, 1, role, model->ascii ? ascii : look->glyph);
}

/* What the row did in the time shown: of its cells, as they are drawn. */
static double computing_percent(const struct timeline_cell *cells, int nr)
{
	uint64_t computing = 0, alive = 0;
	for (int i = 0; i < nr; i++) {
		computing += cells[i].share[THREAD_COMPUTES];
		alive += cells[i].is_alive;
	}
	return alive ? 100.0 * (double)computing / (255.0 * (double)alive) : 0;
}

static void draw_label(struct timeline_view *timeline, const struct model *model,
		       struct cells *cells, size_t at, double percent, struct area line)
{
	const struct timeline_line *of = &timeline->lines.items[at];
	const struct timeline_thread *thread =
		timeline_thread(timeline->timeline, timeline->rows.items[of->first]);
	if (at == timeline->view.selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	text_clear(&timeline->text);
	if (timeline->grouping == TIMELINE_CGROUPS) {
		const char *path = timeline_view_cgroup(timeline, of), *last = strrchr(path, '/');
		text_add_safe(&timeline->text, last && last[1] ? last + 1 : path);
	} else {
		text_addf(&timeline->text, "%7d ", of->tid == -1 ? of->pid : of->tid);
		timeline_add_run(thread, &timeline->text);
		text_add_safe(&timeline->text, thread->name);
	}
	if (of->tid == -1)
		text_addf(&timeline->text, " (%zu)", of->nr);
	const int number_cols = line.cols > LABEL_COLS_NARROW ? 6 : 0;
	cells_put_cut(cells, line.row, line.col + 1, line.cols - number_cols - 2,
		      thread->has_ended && of->tid != -1 ? ROLE_DIM : ROLE_TEXT,
		      text_string(&timeline->text));
	if (number_cols)
		cells_putf(cells, line.row, line.col + line.cols - number_cols - 1, number_cols,
			   model_percent_role(model, percent), "%5.1f%%", percent);
}

/* Where a thread begins and ends, beside its cells: of what comes before, or behind, nothing is there. */
static void draw_life(const struct timeline_view *timeline, struct cells *cells, size_t at,
		      struct area line)
{
	const struct timeline_line *of = &timeline->lines.items[at];
	const struct timeline_thread *thread =
		timeline_thread(timeline->timeline, timeline->rows.items[of->first]);
	const struct timeline_cell *items = timeline->cells.items;
	int first = 0, end = timeline->nr_cells;
	while (first < end && !items[first].is_alive)
		first++;
	while (end > first && !items[end - 1].is_alive)
		end--;
	if (of->tid == -1 || first == end)
		return;
	if (thread->is_created && first > 0)
		cells_put(cells, line.row, line.col + first - 1, 1, ROLE_DIM, "(");
	if (thread->has_ended && end < timeline->nr_cells)
		cells_put(cells, line.row, line.col + end, 1, ROLE_DIM, ")");
}

static void draw_cells(struct timeline_view *timeline, const struct model *model,
		       struct cells *cells, size_t at, struct area line)
{
	const struct timeline_cell *items = timeline->cells.items;
	for (int i = 0; i < timeline->nr_cells; i++) {
		const struct look *look = look_of(&items[i]);
		const enum role role = items[i].is_found ? ROLE_MATCH : look->role;
		put_look(model, cells, line.row, line.col + i, role, look);
		if (items[i].is_found)
			cells_mark(cells, (struct area){line.row, line.col + i, 1, 1},
				   CELL_UNDERLINE);
	}
	draw_life(timeline, cells, at, line);
	if (at == timeline->view.selected)
		cells_mark(cells, (struct area){line.row, line.col + timeline->cursor, 1, 1},
			   CELL_REVERSE);
}

static uint64_t cursor_from_ns(const struct timeline_view *timeline)
{
	return timeline->from_ns + (uint64_t)timeline->cursor * timeline->cell_ns;
}

static void draw_row(struct timeline_view *timeline, const struct model *model, struct cells *cells,
		     size_t at, struct area line, int label_cols)
{
	const struct timeline_line *of = &timeline->lines.items[at];
	const struct area label = {line.row, line.col, 1, label_cols};
	const struct area rest = {line.row, line.col + label_cols, 1, line.cols - label_cols};
	timeline_cells(timeline->timeline, &timeline->rows.items[of->first], of->nr,
		       timeline->from_ns, timeline->cell_ns, timeline->found.stacks,
		       timeline->found.nr, timeline->cells.items, (size_t)timeline->nr_cells);
	draw_label(timeline, model, cells, at,
		   computing_percent(timeline->cells.items, timeline->nr_cells), label);
	draw_cells(timeline, model, cells, at, rest);
}

/* ---- around them ---- */

static int column_of(const struct timeline_view *timeline, uint64_t time_ns)
{
	if (time_ns < timeline->from_ns)
		return -1;
	const uint64_t at = (time_ns - timeline->from_ns) / timeline->cell_ns;
	return at < (uint64_t)timeline->nr_cells ? (int)at : -1;
}

static void put_mark(const struct timeline_view *timeline, struct cells *cells, struct area line,
		     uint64_t time_ns, const char *mark)
{
	const int col = time_ns ? column_of(timeline, time_ns) : -1;
	if (col >= 0)
		cells_put(cells, line.row, line.col + col, 1, ROLE_WARN, mark);
}

/* When it is, at the columns; where the cursor and the marks are. */
static void draw_ruler(struct timeline_view *timeline, const struct model *model,
		       struct cells *cells, struct area line, int label_cols)
{
	struct area ruler = {line.row, line.col + label_cols, 1, line.cols - label_cols};
	static const char *const orders[] = {"by number", "by computing", "by waiting"};
	static const char *const groupings[NR_TIMELINE_GROUPINGS] = {"THREADS", "PROCESSES",
								     "CGROUPS"};
	const bool by_path =
		timeline->grouping == TIMELINE_CGROUPS && timeline->order == TIMELINE_BY_NUMBER;
	cells_putf(cells, line.row, line.col + 1, label_cols - 2, ROLE_TITLE, "%s %s",
		   groupings[timeline->grouping], by_path ? "by path" : orders[timeline->order]);
	for (int col = 0; col + TICK_COLS / 2 < ruler.cols; col += TICK_COLS) {
		text_clear(&timeline->text);
		text_add(&timeline->text, model->glyphs->vertical);
		timeline_view_add_time(timeline,
				       timeline->from_ns + (uint64_t)col * timeline->cell_ns,
				       &timeline->text);
		cells_put(cells, ruler.row, ruler.col + col, ruler.cols - col, ROLE_DIM,
			  text_string(&timeline->text));
	}
	put_mark(timeline, cells, ruler, timeline->mark_from_ns, "[");
	put_mark(timeline, cells, ruler, timeline->mark_to_ns, "]");
	cells_put(cells, ruler.row, ruler.col + timeline->cursor, 1, ROLE_KEY,
		  model->ascii ? "v" : "▼");
	cells_mark(cells, line, CELL_UNDERLINE);
}

/* What the characters mean; how long a column is. */
static void draw_legend(struct timeline_view *timeline, const struct model *model,
			struct cells *cells, struct area line)
{
	text_clear(&timeline->text);
	text_add(&timeline->text, "a column: ");
	timeline_view_add_length(timeline->cell_ns, &timeline->text);
	if (timeline_tile_ns(timeline->timeline) > timeline->cell_ns) {
		text_add(&timeline->text, ", known to ");
		timeline_view_add_length(timeline_tile_ns(timeline->timeline), &timeline->text);
	} else if (timeline_nr_coarser(timeline->timeline)) {
		text_add(&timeline->text, ", tiles ");
		timeline_view_add_length(timeline_tile_ns(timeline->timeline), &timeline->text);
	}
	if (timeline_nr_forgotten(timeline->timeline))
		text_addf(&timeline->text, ", %" PRIu64 " threads too many",
			  timeline_nr_forgotten(timeline->timeline));
	int col = line.col + 1;
	const int end = line.col + line.cols;
	col += cells_put_cut(cells, line.row, col, end - col, ROLE_DIM,
			     text_string(&timeline->text)) +
	       2;
	for (size_t i = 0; i < NR_LOOKS && looks[i].word; i++) {
		if (col + 2 + (int)strlen(looks[i].word) > end)
			break;
		col += put_look(model, cells, line.row, col, looks[i].role, &looks[i]) + 1;
		col += cells_put(cells, line.row, col, end - col, ROLE_DIM, looks[i].word) + 2;
	}
	static const char life[] = "( created  ) ended";
	if (col + (int)strlen(life) <= end)
		cells_put(cells, line.row, col, end - col, ROLE_DIM, life);
}

/* ---- the stack ---- */

struct stack_drawing {
	struct timeline_view *timeline;
	struct model *model;
	struct cells *cells;
	struct area area;
	uint32_t row;
};

static uint32_t row_of(void *context, size_t i)
{
	(void)i;
	return ((struct stack_drawing *)context)->row;
}

/* The leaf first, as far as there is room. */
static int draw_frames(void *context, size_t i, const struct history_stack *stack)
{
	struct stack_drawing *drawing = context;
	struct area area = drawing->area;
	(void)i;
	drawing->timeline->leaf = (struct function_id){0};
	for (size_t at = stack->nr_frames; at-- > 0;) {
		const struct history_frame *frame = &stack->frames[at];
		if (!drawing->timeline->leaf.index &&
		    !wait_is_frame(history_function_name(drawing->model->history, frame->function)))
			drawing->timeline->leaf = frame->function;
		if (area.rows <= 0)
			break;
		if (area.rows == 1 && at) {
			cells_putf(drawing->cells, area.row, area.col + 3, area.cols - 3, ROLE_DIM,
				   "%zu more callers", at + 1);
			break;
		}
		cells_put_cut(drawing->cells, area.row, area.col + 3, area.cols - 3,
			      history_function_kernel(drawing->model->history, frame->function)
				      ? ROLE_KERNEL
				      : ROLE_TEXT,
			      model_fit_name(drawing->model, frame->function, area.cols - 3));
		area.row++;
		area.rows--;
	}
	return 0;
}

/* What the cell under the cursor is, in words. */
static void add_cell(const struct timeline_cell *cell, struct text *out)
{
	const double whole = 2.55;
	if (!cell->is_alive) {
		text_add(out, "not there");
		return;
	}
	text_addf(out, "computing %.0f%%, run queue %.0f%%, waiting %.0f%%",
		  cell->share[THREAD_COMPUTES] / whole, cell->share[THREAD_QUEUES] / whole,
		  cell->share[THREAD_WAITS] / whole);
	if (cell->share[THREAD_WAITS] && cell->wait != WAIT_UNSEEN)
		text_addf(out, " (%s)", wait_kind_name((enum wait_kind)cell->wait));
}

static void add_seen(const struct timeline_view *timeline, const struct timeline_seen *seen,
		     struct text *out)
{
	const uint64_t cursor_ns = timeline->cursor_ns;
	const uint64_t tile_ns = timeline_tile_ns(timeline->timeline);
	const uint64_t exact_ns = timeline->cell_ns > tile_ns ? timeline->cell_ns : tile_ns;
	text_add(out, seen->is_wait ? "  waits at" : "  sampled");
	if (seen->time_ns + exact_ns < cursor_ns) {
		text_add(out, " ");
		timeline_view_add_length(cursor_ns - seen->time_ns, out);
		text_add(out, " before");
	} else if (seen->time_ns > cursor_ns + exact_ns) {
		text_add(out, " ");
		timeline_view_add_length(seen->time_ns - cursor_ns, out);
		text_add(out, " behind");
	}
	text_add(out, ":");
}

/* ---- what happened to it ---- */

static void add_counts(uint64_t nr_preemptions, uint64_t nr_migrations, struct text *out)
{
	const char *plural = nr_preemptions == 1 ? "" : "s";
	if (nr_preemptions)
		text_addf(out, "%" PRIu64 " preemption%s", nr_preemptions, plural);
	plural = nr_migrations == 1 ? "" : "s";
	if (nr_migrations)
		text_addf(out, "%s%" PRIu64 " migration%s", nr_preemptions ? ", " : "",
			  nr_migrations, plural);
}

/* In the cell under the cursor, and in all. */
static void add_events(const struct timeline_view *timeline, size_t row, struct text *out)
{
	const struct timeline_thread *thread = timeline_thread(timeline->timeline, row);
	const uint64_t from_ns = cursor_from_ns(timeline);
	const struct timeline_events here =
		timeline_events_in(timeline->timeline, row, from_ns, from_ns + timeline->cell_ns);
	if (here.time_ns) {
		text_add(out, "here ");
		add_counts(here.nr_preemptions, here.nr_migrations, out);
		if (here.nr_migrations)
			text_addf(out, " (CPU %" PRIu32 " -> %" PRIu32 ")", here.from_cpu,
				  here.to_cpu);
		if (here.nr_preemptions + here.nr_migrations > 1 &&
		    timeline_events_ns(timeline->timeline) > timeline->cell_ns) {
			text_add(out, " within ");
			timeline_view_add_length(timeline_events_ns(timeline->timeline), out);
		}
	}
	if (thread->nr_preemptions || thread->nr_migrations) {
		text_add(out, out->size ? "; in all " : "in all ");
		text_add(out, thread->lacks_events ? "at least " : "");
		add_counts(thread->nr_preemptions, thread->nr_migrations, out);
	}
}

/* The system call that it is, or waits, in for most of the cell. */
static void add_call(const struct timeline_view *timeline, size_t row, struct text *out)
{
	const uint64_t from_ns = cursor_from_ns(timeline);
	struct timeline_call call;
	if (!timeline_call_in(timeline->timeline, row, from_ns, from_ns + timeline->cell_ns, &call))
		return;
	text_add(out, call.is_whole ? "in " : "waits in ");
	text_add_safe(out, call.name);
	text_add(out, ": ");
	timeline_view_add_length(call.to_ns - call.from_ns, out);
	text_add(out, " from ");
	timeline_view_add_time(timeline, call.from_ns, out);
	const uint64_t nr_calls = timeline_thread(timeline->timeline, row)->nr_calls;
	if (nr_calls)
		text_addf(out, "; in all %" PRIu64 " system calls", nr_calls);
}

static void add_life(const struct timeline_view *timeline, const struct timeline_thread *thread,
		     struct text *out)
{
	struct text creator = {0};
	if (thread->is_created) {
		text_add(out, "created ");
		timeline_view_add_time(timeline, thread->began_ns, out);
		timeline_add_creator(timeline->timeline, thread, &creator);
		text_add(out, " by ");
		text_add_safe(out, text_string(&creator));
	}
	if (thread->started_ns) {
		text_add(out, ", started ");
		timeline_view_add_length(thread->started_ns - thread->began_ns, out);
		text_add(out, " later");
	}
	if (thread->has_ended) {
		text_add(out, out->size ? ", ended " : "ended ");
		timeline_view_add_time(timeline, thread->until_ns, out);
	}
	out->failed |= creator.failed;
	text_release(&creator);
}

/* One row of the area, if there is something to tell. */
static void draw_told(const struct text *text, struct cells *cells, struct area *area)
{
	if (!text->size || area->rows < 2)
		return;
	cells_put_cut(cells, area->row++, area->col + 1, area->cols - 1, ROLE_DIM,
		      text_string(text));
	area->rows--;
}

/* Of one thread; the stack has what is left. */
static void draw_events(struct timeline_view *timeline, struct cells *cells, struct area *area)
{
	const struct timeline_line *line = &timeline->lines.items[timeline->view.selected];
	const size_t row = timeline->rows.items[line->first];
	if (line->tid == -1)
		return;
	text_clear(&timeline->text);
	add_call(timeline, row, &timeline->text);
	draw_told(&timeline->text, cells, area);
	text_clear(&timeline->text);
	add_events(timeline, row, &timeline->text);
	draw_told(&timeline->text, cells, area);
	text_clear(&timeline->text);
	add_life(timeline, timeline_thread(timeline->timeline, row), &timeline->text);
	draw_told(&timeline->text, cells, area);
}

static void draw_stack(struct timeline_view *timeline, struct model *model, struct cells *cells,
		       struct area area)
{
	const struct timeline_line *line = &timeline->lines.items[timeline->view.selected];
	struct timeline_cell cell;
	struct timeline_seen seen;
	timeline->leaf = (struct function_id){0};
	timeline_cells(timeline->timeline, &timeline->rows.items[line->first], line->nr,
		       cursor_from_ns(timeline), timeline->cell_ns, NULL, 0, &cell, 1);
	const bool is_seen = timeline_view_stack(timeline, &seen);
	text_clear(&timeline->text);
	text_add(&timeline->text, "at ");
	timeline_view_add_time(timeline, timeline->cursor_ns, &timeline->text);
	text_add(&timeline->text, ": ");
	add_cell(&cell, &timeline->text);
	if (is_seen)
		add_seen(timeline, &seen, &timeline->text);
	else if (cell.is_alive)
		text_add(&timeline->text, "  no stack was seen near here");
	cells_put_cut(cells, area.row, area.col + 1, area.cols - 1, ROLE_TITLE,
		      text_string(&timeline->text));
	area.row++;
	area.rows--;
	draw_events(timeline, cells, &area);
	struct stack_drawing drawing = {timeline, model, cells, area, is_seen ? seen.stack : 0};
	if (is_seen && history_each_stack_of(model->history, 1, row_of, draw_frames, &drawing))
		model_failed(model, -ENOMEM);
}

/* ---- all ---- */

static void scroll_to_selected(struct view *view)
{
	const size_t height = view->height > 0 ? (size_t)view->height : 1;
	if (view->selected < view->first)
		view->first = view->selected;
	if (view->selected >= view->first + height)
		view->first = view->selected - height + 1;
	if (view->first + height > view->nr_rows)
		view->first = view->nr_rows > height ? view->nr_rows - height : 0;
}

static void draw_nothing(const struct timeline_view *timeline, struct cells *cells,
			 struct area area)
{
	const char *why = !timeline->timeline ? "No timeline is kept here."
			  : timeline_nr_threads(timeline->timeline)
				  ? "No thread passes the filters; Esc undoes the last."
				  : "Nothing is known of any thread yet.";
	cells_put(cells, area.row + area.rows / 3, area.col + 2, area.cols - 2, ROLE_TEXT, why);
}

void timeline_view_draw(struct view *view, struct model *model, struct cells *cells,
			struct area area)
{
	struct timeline_view *timeline = timeline_view_of(view);
	if (!view->nr_rows) {
		draw_nothing(timeline, cells, area);
		return;
	}
	const int label_cols = area.cols < NARROW_COLS ? LABEL_COLS_NARROW : LABEL_COLS;
	const int nr_cells = area.cols - label_cols;
	timeline_view_fit(timeline, nr_cells);
	if (vec_reserve(&timeline->cells, (size_t)timeline->nr_cells)) {
		cells_put(cells, area.row, area.col, area.cols, ROLE_BAD, "out of memory!");
		return;
	}
	const int stack_rows = area.rows >= 3 * STACK_ROWS_LEAST ? area.rows * 2 / 5 : 0;
	const bool has_legend = area.rows > ROWS_LEAST + stack_rows;
	view->screen_row = area.row + 1;
	view->height = area.rows - 1 - has_legend - stack_rows;
	timeline->rows_row = view->screen_row;
	timeline->cells_col = area.col + label_cols;
	scroll_to_selected(view);
	struct area line = {area.row, area.col, 1, area.cols};
	draw_ruler(timeline, model, cells, line, label_cols);
	for (size_t row = view->first; row < view->nr_rows; row++) {
		if (++line.row >= view->screen_row + view->height)
			break;
		draw_row(timeline, model, cells, row, line, label_cols);
	}
	line.row = view->screen_row + view->height;
	if (has_legend)
		draw_legend(timeline, model, cells, line);
	line.row += has_legend;
	if (stack_rows)
		draw_stack(timeline, model, cells,
			   (struct area){line.row, area.col, stack_rows, area.cols});
}
