/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <string.h>

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

int view_refresh(struct view *view, struct model *model)
{
	if (view->generation == model->generation && !view->stale)
		return 0;
	int result = view->ops->refresh(view, model);
	if (result)
		return result;
	view->generation = model->generation;
	view->stale = false;
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

void view_draw(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	if (view->ops->draw) {
		view->ops->draw(view, model, cells, area);
		return;
	}
	struct area line = {area.row, area.col, 1, area.cols};
	if (view->ops->draw_title && area.rows > 1) {
		view->ops->draw_title(view, model, cells, line);
		cells_mark(cells, line, CELL_UNDERLINE);
		line.row++;
	}
	view->screen_row = line.row;
	view->height = area.row + area.rows - line.row;
	scroll_to_selected(view);
	if (view->ops->prepare && view->height > 0 && view->nr_rows) {
		size_t left = view->nr_rows - view->first, height = (size_t)view->height;
		view->ops->prepare(view, model, view->first, left < height ? left : height);
	}
	for (size_t row = view->first; line.row < area.row + area.rows && row < view->nr_rows;
	     row++, line.row++) {
		view->ops->draw_row(view, model, cells, row, line);
		if (row == view->selected)
			cells_mark(cells, line, CELL_REVERSE);
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
