/* SPDX-License-Identifier: MIT */
#include <ctop/screen/view.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So long after a move rows stay where they are: a few refreshes. */
static const uint64_t HOLD_NS = UINT64_C(2000000000);

struct view *view_new(const struct view_ops *ops, size_t size)
{
	struct view *view = calloc(1, size);
	if (view)
		*view = (struct view){.ops = ops, .stale = true};
	return view;
}

void view_select(struct view *view, size_t row)
{
	view->selected = row < view->nr_rows ? row : view->nr_rows ? view->nr_rows - 1 : 0;
	view->chosen = view->selected > 0;
	if (view->nr_rows && view->ops->id_at)
		view->selected_id = view->ops->id_at(view, view->selected);
}

/* Where the selected row has gone to; it stays on its line of the screen as far as can be. */
static void find_selected(struct view *view)
{
	size_t line = view->selected > view->first ? view->selected - view->first : 0;
	if (view->chosen && view->ops->id_at)
		for (size_t row = 0; row < view->nr_rows; row++) {
			if (view->ops->id_at(view, row) != view->selected_id)
				continue;
			view->selected = row;
			view->first = row > line ? row - line : 0;
			return;
		}
	/* Gone for now: its place is kept, and its identity, should it come back. */
	if (view->selected >= view->nr_rows)
		view->selected = view->nr_rows ? view->nr_rows - 1 : 0;
}

/* ---- the order, held while the user moves among the rows ---- */

struct place {
	uint64_t id;
	size_t row;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	return (left->id > right->id) - (left->id < right->id);
}

/* Where each row was, as its place; those that are new come last, in their own order. */
static int compare_rows(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->row > right->row) - (left->row < right->row);
}

static int hold_order(struct view *view)
{
	size_t nr = view->nr_rows, nr_before = view->nr_ordered;
	struct place *before = calloc(nr_before + 1, sizeof(*before));
	struct place *rows = calloc(nr + 1, sizeof(*rows));
	size_t *order = calloc(nr + 1, sizeof(*order));
	int result = before && rows && order ? 0 : -ENOMEM;
	if (!result) {
		for (size_t i = 0; i < nr_before; i++)
			before[i] = (struct place){view->order[i], i};
		qsort(before, nr_before, sizeof(*before), compare_places);
		for (size_t i = 0; i < nr; i++) {
			const struct place wanted = {.id = view->ops->id_at(view, i)};
			const struct place *found = bsearch(&wanted, before, nr_before,
							    sizeof(*before), compare_places);
			rows[i] = (struct place){found ? found->row : nr_before, i};
		}
		qsort(rows, nr, sizeof(*rows), compare_rows);
		for (size_t i = 0; i < nr; i++)
			order[i] = rows[i].row;
		result = view->ops->reorder(view, order);
	}
	free(before);
	free(rows);
	free(order);
	return result;
}

static int keep_order(struct view *view)
{
	uint64_t *order = reallocarray(view->order, view->nr_rows + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	view->order = order;
	view->nr_ordered = view->nr_rows;
	for (size_t i = 0; i < view->nr_rows; i++)
		order[i] = view->ops->id_at(view, i);
	return 0;
}

int view_reorder(void *items, size_t nr, size_t size, const size_t *order)
{
	char *copy = nr ? malloc(nr * size) : NULL;
	if (nr && !copy)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		memcpy(copy + i * size, (const char *)items + order[i] * size, size);
	if (nr)
		memcpy(items, copy, nr * size);
	free(copy);
	return 0;
}

void view_release(struct view *view)
{
	free(view->order);
}

int view_refresh(struct view *view, struct model *model)
{
	if (view->generation == model->generation && !view->stale)
		return 0;
	bool hold = view->ops->reorder && !view->stale && view->nr_ordered &&
		    model->now_ns < model->hold_until_ns;
	int result = view->ops->refresh(view, model);
	if (!result && hold)
		result = hold_order(view);
	if (!result && view->ops->reorder)
		result = keep_order(view);
	if (result)
		return result;
	view->generation = model->generation;
	view->stale = view->is_prepared = false;
	find_selected(view);
	return 0;
}

/* ---- drawing ---- */

static void scroll_to_selected(struct view *view)
{
	size_t height = view->height > 0 ? (size_t)view->height : 1;
	if (view->selected < view->first)
		view->first = view->selected;
	if (view->selected >= view->first + height)
		view->first = view->selected - height + 1;
	if (view->first + height > view->nr_rows)
		view->first = view->nr_rows > height ? view->nr_rows - height : 0;
}

/* What is on the screen is the same after most keys. */
static void prepare(struct view *view, struct model *model)
{
	if (!view->ops->prepare || view->height <= 0 || !view->nr_rows)
		return;
	size_t left = view->nr_rows - view->first, height = (size_t)view->height;
	size_t nr = left < height ? left : height;
	if (!view->is_prepared || view->first_prepared != view->first || view->nr_prepared != nr)
		view->ops->prepare(view, model, view->first, nr);
	view->is_prepared = true;
	view->first_prepared = view->first;
	view->nr_prepared = nr;
}

void view_draw(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	if (view->ops->draw) {
		view->ops->draw(view, model, cells, area);
		return;
	}
	struct area line = {area.row, area.col, 1, area.cols};
	const bool has_title = view->ops->draw_title && area.rows > 1;
	view->screen_row = line.row + has_title;
	view->height = area.row + area.rows - view->screen_row;
	scroll_to_selected(view);
	prepare(view, model);
	if (has_title) {
		view->ops->draw_title(view, model, cells, line);
		cells_mark(cells, line, CELL_UNDERLINE);
		line.row++;
	}
	for (size_t row = view->first; line.row < area.row + area.rows && row < view->nr_rows;
	     row++, line.row++) {
		view->ops->draw_row(view, model, cells, row, line);
		if (row == view->selected)
			cells_mark(cells, line, CELL_SELECTED);
	}
}

void view_put_name(const struct model *model, struct cells *cells, int row, int col, int room,
		   enum role role, const char *name)
{
	size_t hidden = text_cols(name) > (size_t)room ? text_fit(name, model->scroll) : 0;
	cells_put_cut(cells, row, col, room, role, name + hidden);
}

/* ---- moving ---- */

bool view_act(struct view *view, struct model *model, enum action action)
{
	size_t page = view->height > 1 ? (size_t)view->height - 1 : 1;
	size_t at = view->selected;
	if (view->ops->act && view->ops->act(view, model, action))
		return true;
	switch ((int)action) {
	case ACTION_UP:
		at -= at > 0;
		break;
	case ACTION_DOWN:
		at++;
		break;
	case ACTION_PAGE_UP:
		at = at > page ? at - page : 0;
		break;
	case ACTION_PAGE_DOWN:
		at += page;
		break;
	case ACTION_FIRST:
		at = 0;
		break;
	case ACTION_LAST:
		at = view->nr_rows;
		break;
	default:
		return false;
	}
	view_select(view, at);
	model->hold_until_ns = model->now_ns + HOLD_NS;
	return true;
}

/* ---- finding ---- */

static char lower(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

bool view_text_has(const char *text, const char *wanted)
{
	for (; *text; text++) {
		size_t i = 0;
		while (wanted[i] && lower(text[i]) == lower(wanted[i]))
			i++;
		if (!wanted[i])
			return true;
	}
	return !*wanted;
}

bool view_find(struct view *view, struct model *model, const char *wanted, int step,
	       bool with_selected)
{
	if (view->ops->find)
		return view->ops->find(view, model, wanted, step, with_selected);
	if (!view->ops->text_at)
		return false;
	for (size_t i = with_selected ? 0 : 1; i <= view->nr_rows && view->nr_rows; i++) {
		size_t away = step > 0 ? i % view->nr_rows : view->nr_rows - i % view->nr_rows;
		size_t row = (view->selected + away) % view->nr_rows;
		if (!view_text_has(view->ops->text_at(view, model, row), wanted))
			continue;
		view_select(view, row);
		view->chosen = true;
		return true;
	}
	return false;
}
