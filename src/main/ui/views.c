/* SPDX-License-Identifier: MIT */
#include <ctop/views/views.h>

#include "ui_internal.h"

static struct view *new_view(const struct ui *ui, enum view_kind kind)
{
	switch (kind) {
	case VIEW_TOP:
		return top_view_new();
	case VIEW_TREE:
		return tree_view_new();
	case VIEW_CALLERS:
		return callers_view_new();
	case VIEW_SANDWICH:
		return sandwich_view_new();
	case VIEW_FLAME:
		return flame_view_new();
	case VIEW_THREADS:
		return threads_view_new();
	case VIEW_PICKER:
		return picker_view_new();
	case VIEW_INFO:
		return info_view_new();
	case VIEW_HELP:
		return help_view_new(ui->beneath);
	case VIEW_CALLS:
		return calls_view_new();
	case VIEW_MODULES:
		return modules_view_new();
	case VIEW_TIMELINE:
		return timeline_view_new();
	case VIEW_CODE:
		return code_view_new();
	case VIEW_REFUSAL:
		return refusal_view_new();
	case NR_ALL_VIEWS:
		break;
	}
	return NULL;
}

struct view *ui_view(struct ui *ui)
{
	struct view **view = &ui->views[ui->current];
	if (!*view)
		*view = new_view(ui, ui->current);
	return *view;
}

bool ui_is_beside(enum view_kind kind)
{
	return kind == VIEW_HELP || kind == VIEW_INFO;
}

void ui_show(struct ui *ui, enum view_kind kind)
{
	if (ui->current == kind)
		return;
	struct view **help = &ui->views[VIEW_HELP];
	if (ui->current == VIEW_HELP && *help) {
		/* The next one may be about another view. */
		(*help)->ops->free(*help);
		*help = NULL;
	}
	if ((int)ui->current < NR_VIEWS)
		ui->before = ui->current;
	if (!ui_is_beside(ui->current))
		ui->beneath = ui->current;
	ui->current = kind;
}

bool ui_selected_function(struct ui *ui, struct function_id *function)
{
	struct view *view = ui_view(ui);
	return view && view->ops->function_at && view->selected < view->nr_rows &&
	       view->ops->function_at(view, view->selected, function);
}

const char *ui_selected_text(struct ui *ui)
{
	struct view *view = ui_view(ui);
	if (!view || !view->ops->text_at || view->selected >= view->nr_rows)
		return "";
	return view->ops->text_at(view, &ui->model, view->selected);
}

void ui_hush(struct ui *ui)
{
	text_clear(&ui->message);
	ui->fallback_until_ns = 0;
}

void ui_tell(struct ui *ui, const char *message)
{
	ui_hush(ui);
	text_add(&ui->message, message);
	ui->dirty = true;
}
