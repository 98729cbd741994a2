/* SPDX-License-Identifier: MIT */
#include "thread_pane.h"

#include <stdlib.h>

#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>

#include "thread_text.h"

/* The command line, and what it waits for, take no more rows than these. */
enum { COMMAND_ROWS = 3, NOW_ROWS = 5, PERCENT_COLS = 7, WAKERS_SHOWN = 2, WAKER_ROWS = 3 };

struct filler {
	struct model *model;
	struct cells *cells;
	struct area left; /* what is not filled yet */
};

static bool is_full(const struct filler *filler)
{
	return filler->left.rows <= 0;
}

static void take(struct filler *filler, int rows)
{
	filler->left.row += rows;
	filler->left.rows -= rows;
}

static void put_wrapped(struct filler *filler, enum role role, const char *text, int most)
{
	struct area area = filler->left;
	if (is_full(filler) || !text[0])
		return;
	if (area.rows > most)
		area.rows = most;
	take(filler, cells_put_wrapped(filler->cells, area, role, text));
}

/* The row of one call, the leaf first. */
static void put_call(struct filler *filler, const struct selection_node *node, uint64_t whole)
{
	const struct area *left = &filler->left;
	const double percent = whole ? 100.0 * (double)node->cost.total_weight / (double)whole : 0;
	const bool is_kernel = model_node_is_kernel(filler->model, node);
	cells_putf(filler->cells, left->row, left->col, PERCENT_COLS,
		   model_percent_role(filler->model, percent), "%5.1f", percent);
	const int room = left->cols - PERCENT_COLS;
	cells_put_cut(filler->cells, left->row, left->col + PERCENT_COLS, room,
		      is_kernel ? ROLE_KERNEL : ROLE_TEXT,
		      model_fit_node_name(filler->model, node, room));
	take(filler, 1);
}

static void put_title(struct filler *filler, const char *title)
{
	take(filler, 1);
	if (is_full(filler))
		return;
	const struct area line = {filler->left.row, filler->left.col, 1, filler->left.cols};
	cells_put(filler->cells, line.row, line.col, line.cols, ROLE_TITLE, title);
	cells_mark(filler->cells, line, CELL_UNDERLINE);
	take(filler, 1);
}

/* Where it was, innermost first, in as many rows as are its share. */
static void put_waker(struct filler *filler, const struct selection_waker *waker)
{
	struct text text = {0};
	text_addf(&text, "%5.1f  ", 100.0 * (double)waker->weight / (double)waker->all_weight);
	text_add_safe(&text, history_function_name(filler->model->history, waker->waker));
	for (size_t i = 0; i < waker->nr_callers; i++) {
		text_add(&text, i ? " < " : " in ");
		text_add_safe(&text,
			      history_function_name(filler->model->history, waker->callers[i]));
	}
	put_wrapped(filler, ROLE_TEXT, text_string(&text), WAKER_ROWS);
	text_release(&text);
}

static void put_wakers(struct filler *filler, const struct selection_task *task)
{
	const struct model *model = filler->model;
	const uint32_t event = model->time_events[TIME_SHOWN_WAKEUPS];
	struct selection_waker wakers[WAKERS_SHOWN];
	size_t nr = 0;
	if (event == UINT32_MAX)
		return;
	if (selection_wakers(model->selection, task, event, wakers, WAKERS_SHOWN, &nr))
		put_wrapped(filler, ROLE_BAD, "out of memory!", 1);
	if (nr)
		put_title(filler, "    %  LONG WAITS ENDED BY, callers behind <");
	for (size_t i = 0; i < nr; i++)
		put_waker(filler, &wakers[i]);
}

static void put_stack(struct filler *filler, const struct selection_task *task)
{
	struct selection_nodes stack = {0};
	if (selection_hot_stack(filler->model->selection, task, &stack)) {
		put_wrapped(filler, ROLE_BAD, "out of memory!", 1);
	} else if (stack.nr) {
		put_title(filler, "    %  HOTTEST STACK, callers below");
		for (size_t i = stack.nr; i-- > 0 && !is_full(filler);)
			put_call(filler, &stack.items[i], task->weight);
	}
	free(stack.items);
}

void thread_pane_draw(const struct thread_pane *thread, struct model *model, struct cells *cells,
		      struct area area)
{
	struct filler filler = {model, cells, area};
	struct text now = {0};
	for (int row = area.row; row < area.row + area.rows; row++)
		cells_put(cells, row, area.col, 1, ROLE_DIM, model->glyphs->vertical);
	filler.left.col += 2;
	filler.left.cols -= 2;
	put_wrapped(&filler, ROLE_TITLE, thread->title, 1);
	put_wrapped(&filler, ROLE_MODULE, thread->command, COMMAND_ROWS);
	if (thread->now)
		thread_text_explain(thread->now, &now);
	put_wrapped(&filler, ROLE_TEXT, text_string(&now), NOW_ROWS);
	text_clear(&now);
	if (thread->times)
		thread_text_add_times(thread->times, &now);
	put_wrapped(&filler, ROLE_TEXT, text_string(&now), 2);
	text_release(&now);
	put_wakers(&filler, thread->task);
	if (thread->task->samples)
		put_stack(&filler, thread->task);
}
