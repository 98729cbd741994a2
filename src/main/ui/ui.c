/* SPDX-License-Identifier: MIT */
#include "ui_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/terminal/theme.h>

/* How long a fallback is told, unless a key is pressed: time to read it. */
#define FALLBACK_NS (10 * NS_PER_SECOND)

struct ui *ui_new(const struct ui_options *options, const struct ui_host *host,
		  struct history *history)
{
	struct ui *ui = calloc(1, sizeof(*ui));
	if (!ui)
		return NULL;
	ui->options = *options;
	ui->host = *host;
	ui->current = ui->before = ui->beneath = options->view;
	ui->model = (struct model){
		.host = &ui->host,
		.history = history,
		.ascii = options->ascii,
		.glyphs = theme_glyphs(options->ascii),
		.names = NAME_NO_ARGUMENTS,
		.least_percent = options->least_percent,
		.grouping = options->grouping,
		.first_event = options->event,
		.time = options->time,
		.refusal = options->refusal,
		.wanted = options->wanted,
	};
	ui->cells.ascii = ui->pane.cells.ascii = options->ascii;
	ui->dirty = true;
	if (!options->since_start)
		model_next_window(&ui->model);
	if (!model_init(&ui->model))
		return ui;
	ui_free(ui);
	return NULL;
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
	cells_release(&ui->pane.cells);
	text_release(&ui->message);
	text_release(&ui->copied);
	free(ui);
}

enum { PANE_PATHS_A_TICK = 200000, PANE_TICKS_AFTER_KEY = 2 };

/* ---- what comes in ---- */

int ui_resize(struct ui *ui, int rows, int cols)
{
	ui->dirty = true;
	ui->model.cols = cols;
	for (size_t i = 0; i < NR_ALL_VIEWS; i++)
		if (ui->views[i])
			ui->views[i]->is_prepared = false;
	if (ui->views[VIEW_REFUSAL]) /* its lines are broken where the screen ends */
		ui->views[VIEW_REFUSAL]->stale = true;
	return cells_resize(&ui->cells, rows > 1 ? rows : 1, cols > 1 ? cols : 1);
}

/* The banner goes after a while; this stays to the next key. */
static void tell_exec(struct ui *ui)
{
	ui_tell(ui, "the target now runs ");
	text_add_safe(&ui->message, ui->model.facts.target);
	text_add(&ui->message, ": r starts over");
}

/* What a word in the header is too short for. A fallback, which nobody asked for, gives the row's own words their place back. */
static void tell_news(struct ui *ui, uint64_t now_ns)
{
	const struct ui_facts *facts = &ui->model.facts;
	if (ui->fallback_until_ns && now_ns >= ui->fallback_until_ns)
		ui_hush(ui);
	if (facts->execs != ui->model.execs)
		tell_exec(ui);
	if (facts->fallback && !ui->told_fallback) {
		ui_tell(ui, "");
		text_add_safe(&ui->message, facts->fallback);
		ui->told_fallback = true;
		ui->fallback_until_ns = now_ns + FALLBACK_NS;
	}
}

/*
 * What is known of one function takes a look at all paths, some 10 ms a tick's worth of them: it is rebuilt so seldom that
 * keys and refreshes hardly meet it, and not while keys come. 0: they are few.
 */
static unsigned pane_patience(const struct ui *ui)
{
	size_t nr = ui->model.selection ? selection_nr_paths(ui->model.selection) : 0;
	return (unsigned)(nr / PANE_PATHS_A_TICK);
}

int ui_refresh(struct ui *ui, uint64_t now_ns)
{
	ui->host.facts(ui->host.context, model_event_shown(&ui->model), &ui->model.facts);
	ui->dirty = ui->pane.late = true;
	if (!ui->pane.due)
		ui->pane.wait = pane_patience(ui);
	tell_news(ui, now_ns);
	return model_refresh(&ui->model, now_ns);
}

bool ui_advance(struct ui *ui)
{
	return model_advance(&ui->model);
}

void ui_tick(struct ui *ui)
{
	if (ui->pane.wait)
		ui->pane.wait--;
}

static void click(struct ui *ui, int row, int col)
{
	struct view *view = ui_view(ui);
	if (view && view->ops->click)
		view->ops->click(view, row, col);
	if (!view || view->ops->draw || row < view->screen_row)
		return;
	size_t at = view->first + (size_t)(row - view->screen_row);
	if (row < view->screen_row + view->height && at < view->nr_rows)
		view_select(view, at);
}

static enum ui_wish take_key(struct ui *ui, int key)
{
	struct view *view = ui_view(ui);
	enum action action = keys_action(key, ui->current);
	ui->model.picked.nr = 0; /* if it is still there, it was refused */
	/* Keys may come faster than they are drawn. That rows cannot be made is reported where they are drawn. */
	if (view && key < KEY_CLICK)
		(void)view_refresh(view, &ui->model);
	if (ui->asking && key != KEY_CTRL_C) {
		ui_answer(ui, key);
		return UI_WISH_NONE;
	}
	if (key >= KEY_LET_GO) {
		view->ops->let_go(view, &ui->model, (key - KEY_LET_GO) / CLICK_COLS,
				  (key - KEY_LET_GO) % CLICK_COLS);
		return UI_WISH_NONE;
	}
	if (key >= KEY_CLICK) {
		click(ui, (key - KEY_CLICK) / CLICK_COLS, (key - KEY_CLICK) % CLICK_COLS);
		return UI_WISH_NONE;
	}
	if (action)
		return ui_act(ui, action);
	if (!view || !view->ops->type || !view->ops->type(view, &ui->model, key))
		ui_tell(ui, "that key does nothing here; ? lists those that do");
	return UI_WISH_NONE;
}

enum ui_wish ui_key(struct ui *ui, int key)
{
	const struct view *view = ui_view(ui);
	/* What a click has said stays. */
	if (key >= KEY_LET_GO && (!view || !view->ops->let_go || ui->asking))
		return UI_WISH_NONE;
	ui->dirty = ui->pane.late = true;
	if (pane_patience(ui))
		ui->pane.wait = PANE_TICKS_AFTER_KEY;
	ui_hush(ui);
	text_clear(&ui->model.told);
	enum ui_wish wish = take_key(ui, key);
	if (ui->model.told.size)
		ui_tell(ui, text_string(&ui->model.told));
	if (ui->model.changed)
		model_failed(&ui->model, model_refresh(&ui->model, ui->model.now_ns));
	if (ui->model.failure)
		ui_tell(ui, ui->model.failure == -E2BIG ? "no more filters fit: Esc undoes the last"
							: "out of memory!");
	ui->model.failure = 0;
	return wish;
}

/* ---- what the host asks ---- */

bool ui_dirty(const struct ui *ui)
{
	return ui->dirty || (ui->pane.due && !ui->pane.wait);
}

void ui_code_came(struct ui *ui)
{
	if (ui->views[VIEW_CODE])
		ui->views[VIEW_CODE]->stale = true;
	ui->dirty |= ui->current == VIEW_CODE;
}

bool ui_mouse(const struct ui *ui)
{
	return ui->mouse;
}

const char *ui_copied(const struct ui *ui)
{
	return text_string(&ui->copied);
}

const int32_t *ui_picked(const struct ui *ui, size_t *nr)
{
	*nr = ui->model.picked.nr;
	return ui->model.picked.items;
}
