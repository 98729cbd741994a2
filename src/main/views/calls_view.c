/* SPDX-License-Identifier: MIT */
/* System calls by cost: what the kernel's entry calls, and who of the program called that. */
#include <stdlib.h>

#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

enum { NAME_COL = 9, NAME_COLS = 22 };

struct calls_view {
	struct view view;
	struct selection_calls rows;
	struct text text; /* scratch */
};

static struct calls_view *calls_of(struct view *view)
{
	return (struct calls_view *)view;
}

static int refresh(struct view *view, struct model *model)
{
	struct selection_calls *rows = &calls_of(view)->rows;
	int result = selection_calls(model->selection, rows);
	view->nr_rows = result ? 0 : rows->nr;
	return result;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_calls *rows = &calls_of(view)->rows;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return ((const struct calls_view *)view)->rows.items[row].function.index;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = ((const struct calls_view *)view)->rows.items[row].function;
	return true;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	return model_full_name(model, calls_of(view)->rows.items[row].function);
}

/* ---- drawing ---- */

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	(void)model;
	const int callers = line.col + NAME_COL + NAME_COLS;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, " TOTAL%  SYSTEM CALL");
	cells_put(cells, line.row, callers, line.col + line.cols - callers, ROLE_TITLE,
		  "MOST CALLED BY");
}

/* The callers by which most of it came, the program's alone: "writev < send_all < serve". */
static void add_callers(struct model *model, const struct selection_call *call, int room,
			struct text *out)
{
	for (uint32_t i = 0; i < call->nr_callers; i++) {
		text_add(out, i ? " < " : "");
		text_add(out, model_fit_name(model, call->callers[i], room));
	}
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct calls_view *calls = calls_of(view);
	const struct selection_call *call = &calls->rows.items[row];
	const double percent = model_percent(model, call->weight);
	const int callers = line.col + NAME_COL + NAME_COLS;
	const int room = line.col + line.cols - callers;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 7, model_percent_role(model, percent), "%6.1f",
		   percent);
	text_clear(&calls->text);
	text_add_safe(&calls->text,
		      selection_call_name(history_function_name(model->history, call->function)));
	cells_put_cut(cells, line.row, line.col + NAME_COL, NAME_COLS - 1, ROLE_KERNEL,
		      text_string(&calls->text));
	text_clear(&calls->text);
	add_callers(model, call, room / 2, &calls->text);
	cells_put_cut(cells, line.row, callers, room, ROLE_TEXT, text_string(&calls->text));
}

static void calls_free(struct view *view)
{
	view_release(view);
	free(calls_of(view)->rows.items);
	text_release(&calls_of(view)->text);
	free(view);
}

struct view *calls_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_CALLS,
		.refresh = refresh,
		.id_at = id_at,
		.reorder = reorder,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.text_at = text_at,
		.function_at = function_at,
		.free = calls_free,
	};
	return view_new(&ops, sizeof(struct calls_view));
}
