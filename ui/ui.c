/* SPDX-License-Identifier: MIT */
#include <ctop/ui/ui.h>

#include <ctop/ui/theme.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "header.h"
#include "prompt.h"
#include "view.h"

enum prompt_use { PROMPT_NONE, PROMPT_FIND, PROMPT_FILTER };

struct ui {
	struct ui_options options;
	struct ui_host host;
	struct model model;
	struct cells cells;
	struct view *views[NR_ALL_VIEWS]; /* made when they are first shown */
	enum view_kind current, before;	  /* before: where Esc leads back to */
	enum prompt_use asking;
	struct prompt prompt;
	char found[sizeof(((struct prompt *)0)->text)]; /* what n looks for */
	struct text message;
	struct text copied;
	bool mouse, dirty;
	int failure; /* -errno of a refresh */
};

struct ui *ui_new(const struct ui_options *options, const struct ui_host *host,
		  struct history *history)
{
	struct ui *ui = calloc(1, sizeof(*ui));
	if (!ui)
		return NULL;
	ui->options = *options;
	ui->host = *host;
	ui->current = options->view;
	ui->model = (struct model){
		.host = &ui->host,
		.history = history,
		.ascii = options->ascii,
		.glyphs = theme_glyphs(options->ascii),
		.least_percent = options->least_percent,
	};
	ui->cells.ascii = options->ascii;
	ui->dirty = true;
	return ui;
}

void ui_free(struct ui *ui)
{
	if (!ui)
		return;
	for (size_t i = 0; i < NR_ALL_VIEWS; i++)
		if (ui->views[i])
			ui->views[i]->ops->free(ui->views[i]);
	model_release(&ui->model);
	cells_release(&ui->cells);
	text_release(&ui->message);
	text_release(&ui->copied);
	free(ui);
}

/* ---- views ---- */

static struct view *new_view(const struct ui *ui, enum view_kind kind)
{
	switch (kind) {
	case VIEW_TOP:
		return top_view_new();
	case VIEW_TREE:
		return tree_view_new();
	case VIEW_PICKER:
		return picker_view_new();
	case VIEW_HELP:
		return help_view_new(ui->before);
	case VIEW_CALLERS:
	case VIEW_SANDWICH:
	case VIEW_FLAME:
	case VIEW_THREADS:
	case NR_ALL_VIEWS:
		break;
	}
	return NULL;
}

/* The view on the screen; NULL: out of memory. */
static struct view *current_view(struct ui *ui)
{
	struct view **view = &ui->views[ui->current];
	if (!*view)
		*view = new_view(ui, ui->current);
	return *view;
}

static void close_help(struct ui *ui)
{
	if (ui->views[VIEW_HELP])
		ui->views[VIEW_HELP]->ops->free(ui->views[VIEW_HELP]);
	ui->views[VIEW_HELP] = NULL;
}

static void show(struct ui *ui, enum view_kind kind)
{
	if (ui->current == kind)
		return;
	if (ui->current == VIEW_HELP)
		close_help(ui);
	else
		ui->before = ui->current;
	ui->current = kind;
}

void ui_tell(struct ui *ui, const char *message)
{
	text_clear(&ui->message);
	text_add(&ui->message, message);
	ui->dirty = true;
}

/* ---- what comes in ---- */

int ui_resize(struct ui *ui, int rows, int cols)
{
	ui->dirty = true;
	return cells_resize(&ui->cells, rows > 1 ? rows : 1, cols > 1 ? cols : 1);
}

int ui_refresh(struct ui *ui, uint64_t now_ns)
{
	ui->host.facts(ui->host.context, &ui->model.facts);
	int result = model_refresh(&ui->model, now_ns);
	ui->dirty = true;
	return result;
}

static const char *selected_text(struct ui *ui)
{
	struct view *view = current_view(ui);
	if (!view || !view->ops->text_at || view->selected >= view->nr_rows)
		return "";
	return view->ops->text_at(view, &ui->model, view->selected);
}

/* ---- finding ---- */

static void find(struct ui *ui, int step, bool with_selected)
{
	struct view *view = current_view(ui);
	if (!ui->found[0])
		ui_tell(ui, "nothing to find yet: / asks for a name");
	else if (view && !view_find(view, &ui->model, ui->found, step, with_selected)) {
		text_clear(&ui->message);
		text_add(&ui->message, "not found: ");
		text_add_safe(&ui->message, ui->found);
	}
}

static void ask(struct ui *ui, enum prompt_use use)
{
	ui->asking = use;
	ui->prompt.text[0] = '\0';
}

static void answer(struct ui *ui, int key)
{
	enum prompt_state state = prompt_key(&ui->prompt, key);
	enum prompt_use use = ui->asking;
	if (state == PROMPT_NO_KEY || state == PROMPT_GIVEN_UP) {
		ui->asking = PROMPT_NONE;
		return;
	}
	if (state == PROMPT_DONE)
		ui->asking = PROMPT_NONE;
	if (use == PROMPT_FIND) {
		/* While it is typed, the selection already goes there. */
		memcpy(ui->found, ui->prompt.text, sizeof(ui->found));
		if (ui->found[0])
			find(ui, 1, true);
	}
}

/* ---- actions ---- */

static void cycle_view(struct ui *ui, int step)
{
	int next = ((int)ui->current + step + NR_VIEWS) % NR_VIEWS;
	show(ui, (enum view_kind)next);
}

static void next_least(struct ui *ui)
{
	static const double steps[] = {0, 0.1, 0.5, 1, 5};
	enum { NR_STEPS = sizeof(steps) / sizeof(*steps) };
	size_t i = 0;
	while (i < NR_STEPS && steps[i] <= ui->model.least_percent)
		i++;
	ui->model.least_percent = steps[i % NR_STEPS];
	ui->model.generation++;
	text_clear(&ui->message);
	text_addf(&ui->message, "rows below %g%% are hidden", ui->model.least_percent);
}

static enum ui_wish copy(struct ui *ui)
{
	const char *text = selected_text(ui);
	if (!*text)
		return UI_WISH_NONE;
	text_clear(&ui->copied);
	text_add(&ui->copied, text);
	text_clear(&ui->message);
	text_addf(&ui->message, "copied: %s", text_string(&ui->copied));
	return UI_WISH_COPY;
}

static enum ui_wish go_back(struct ui *ui)
{
	if (ui->current == VIEW_PICKER)
		return UI_WISH_QUIT;
	if (ui->current == VIEW_HELP)
		show(ui, ui->before);
	return UI_WISH_NONE;
}

static enum ui_wish act(struct ui *ui, enum action action)
{
	enum { SCROLL_COLS = 8 };
	struct model *model = &ui->model;
	struct view *view = current_view(ui);
	if (view && view_act(view, model, action))
		return model->picked_pid ? UI_WISH_PROFILE : UI_WISH_NONE;
	switch ((int)action) {
	case ACTION_VIEW_TOP:
	case ACTION_VIEW_TREE:
	case ACTION_VIEW_CALLERS:
	case ACTION_VIEW_SANDWICH:
	case ACTION_VIEW_FLAME:
	case ACTION_VIEW_THREADS:
		show(ui, (enum view_kind)(action - ACTION_VIEW_TOP));
		break;
	case ACTION_NEXT_VIEW:
		cycle_view(ui, 1);
		break;
	case ACTION_PREVIOUS_VIEW:
		cycle_view(ui, -1);
		break;
	case ACTION_HELP:
		show(ui, ui->current == VIEW_HELP ? ui->before : VIEW_HELP);
		break;
	case ACTION_FIND:
		ask(ui, PROMPT_FIND);
		break;
	case ACTION_FIND_NEXT:
		find(ui, 1, false);
		break;
	case ACTION_FIND_PREVIOUS:
		find(ui, -1, false);
		break;
	case ACTION_BACK:
		return go_back(ui);
	case ACTION_PAUSE:
		model_pause(model, !model->paused);
		if (!model->paused)
			ui->failure = model_refresh(model, model->now_ns);
		break;
	case ACTION_LEAST:
		next_least(ui);
		break;
	case ACTION_SCROLL_LEFT:
		model->scroll -= model->scroll < SCROLL_COLS ? model->scroll : SCROLL_COLS;
		break;
	case ACTION_SCROLL_RIGHT:
		model->scroll += SCROLL_COLS;
		break;
	case ACTION_COPY:
		return copy(ui);
	case ACTION_MOUSE:
		ui->mouse = !ui->mouse;
		ui_tell(ui, ui->mouse ? "the mouse chooses rows and scrolls; m gives it back"
				      : "the mouse is the terminal's again");
		return UI_WISH_MOUSE;
	case ACTION_REPAINT:
		return UI_WISH_REPAINT;
	case ACTION_SUSPEND:
		return UI_WISH_SUSPEND;
	case ACTION_QUIT:
		return UI_WISH_QUIT;
	default:
		break;
	}
	return UI_WISH_NONE;
}

enum ui_wish ui_key(struct ui *ui, int key)
{
	ui->dirty = true;
	text_clear(&ui->message);
	if (ui->asking) {
		answer(ui, key);
		return UI_WISH_NONE;
	}
	enum action action = keys_action(key, ui->current);
	if (action)
		return act(ui, action);
	struct view *view = current_view(ui);
	if (view && view->ops->type && view->ops->type(view, &ui->model, key))
		return UI_WISH_NONE;
	ui_tell(ui, "that key does nothing here; ? lists those that do");
	return UI_WISH_NONE;
}

/* ---- drawing ---- */

/* Keys of use in this view, from the left, as many as fit. */
static void draw_bar(const struct ui *ui, struct cells *cells, int row)
{
	int col = 0;
	for (size_t i = 0; i < nr_key_rows; i++) {
		const struct key_row *key = &key_rows[i];
		if (!key->bar || !(key->views & VIEW_BIT(ui->current)))
			continue;
		struct text label = {0};
		text_add_bytes(&label, key->label, strcspn(key->label, " "));
		int cols = (int)(text_cols(text_string(&label)) + 1 + strlen(key->bar) + 2);
		if (col + cols <= cells->cols + 2) {
			col += cells_put(cells, row, col, cols, ROLE_KEY, text_string(&label));
			col += cells_putf(cells, row, col, cols, ROLE_TEXT, ":%s", key->bar) + 2;
		}
		text_release(&label);
	}
}

static void draw_status(struct ui *ui, struct cells *cells, int row)
{
	struct view *view = current_view(ui);
	if (view && view->ops->draw_status)
		view->ops->draw_status(view, &ui->model, cells, row);
	else if (ui->asking == PROMPT_FIND)
		prompt_draw(&ui->prompt, cells, row, "find: ");
	else if (ui->asking == PROMPT_FILTER)
		prompt_draw(&ui->prompt, cells, row, "filter: ");
	else if (ui->message.size)
		cells_put_cut(cells, row, 0, cells->cols, ROLE_TITLE, text_string(&ui->message));
	else
		cells_put_cut(cells, row, 0, cells->cols, ROLE_TEXT, selected_text(ui));
}

/* Small screens give up what is least needed: the bar, the status line, the tabs, the header. */
static struct area draw_frame(struct ui *ui)
{
	struct cells *cells = &ui->cells;
	struct area body = cells_area(cells);
	bool is_picker = ui->current == VIEW_PICKER;
	bool has_header = cells->rows >= 5, has_tabs = cells->rows >= 8 && !is_picker;
	if (has_header && is_picker) {
		cells_put(cells, 0, 0, cells->cols, ROLE_TITLE,
			  "ctop: which process? Type to filter, Enter profiles, Esc leaves");
		body.row++;
		body.rows--;
	} else if (has_header) {
		header_draw(&ui->model, cells);
		body.row += HEADER_ROWS;
		body.rows -= HEADER_ROWS;
	}
	if (has_tabs) {
		header_draw_tabs(ui->current == VIEW_HELP ? ui->before : ui->current, cells,
				 body.row);
		body.row++;
		body.rows--;
	}
	if (cells->rows >= 10)
		draw_bar(ui, cells, body.row + --body.rows);
	if (cells->rows >= 3)
		body.rows--;
	return body;
}

bool ui_dirty(const struct ui *ui)
{
	return ui->dirty;
}

const struct cells *ui_draw(struct ui *ui)
{
	struct cells *cells = &ui->cells;
	struct view *view = current_view(ui);
	ui->dirty = false;
	cells_clear(cells);
	struct area body = draw_frame(ui);
	bool is_profile = (int)ui->current < NR_VIEWS;
	if (!view || view_refresh(view, &ui->model))
		cells_put(cells, body.row, 0, cells->cols, ROLE_BAD, "out of memory!");
	else if (is_profile && !ui->model.totals.samples)
		header_draw_empty(&ui->model, cells, body);
	else
		view_draw(view, &ui->model, cells, body);
	if (body.row + body.rows < cells->rows)
		draw_status(ui, cells, body.row + body.rows);
	return cells;
}

bool ui_mouse(const struct ui *ui)
{
	return ui->mouse;
}

const char *ui_copied(const struct ui *ui)
{
	return text_string(&ui->copied);
}

int32_t ui_picked(const struct ui *ui)
{
	return ui->model.picked_pid;
}
