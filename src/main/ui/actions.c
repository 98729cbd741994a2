/* SPDX-License-Identifier: MIT */
/* What keys do, beyond moving in a view. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/base_name.h>

#include "ui_internal.h"

enum { SCROLL_COLS = 8 };
/* Of a function in the line of filters. */
enum { LABEL_COLS = 32 };

/* ---- find and filter ---- */

/* Among the rows that are hidden, too: then they are not any more. */
static bool find_anywhere(struct ui *ui, struct view *view, int step, bool with_selected)
{
	struct model *model = &ui->model;
	if (view_find(view, model, ui->found, step, with_selected))
		return true;
	if (ui->current != VIEW_TOP || model->shows_callers)
		return false;
	model->shows_callers = view->stale = true;
	if (!view_refresh(view, model) && view_find(view, model, ui->found, step, with_selected))
		return true;
	model->shows_callers = false;
	view->stale = true;
	return false;
}

static void find(struct ui *ui, int step, bool with_selected)
{
	struct view *view = ui_view(ui);
	if (!ui->found[0]) {
		ui_tell(ui, "nothing to find yet: / asks for a name");
	} else if (view && !find_anywhere(ui, view, step, with_selected)) {
		ui_tell(ui, "not found: ");
		text_add_safe(&ui->message, ui->found);
	}
}

static void ask(struct ui *ui, enum prompt_use use)
{
	ui->asking = use;
	ui->prompt.text[0] = '\0';
}

static void filter_by_text(struct ui *ui)
{
	struct text label = {0};
	if (!ui->prompt.text[0])
		return;
	text_add(&label, "~");
	text_add_safe(&label, ui->prompt.text);
	model_zoom(&ui->model,
		   (struct selection_criterion){.what = SELECTION_TEXT, .text = ui->prompt.text},
		   text_string(&label));
	text_release(&label);
}

static void suggest_name(struct ui *ui)
{
	ui->host.suggest_name(ui->host.context, ui->prompt.text, sizeof(ui->prompt.text));
}

/* What is shown when the name is given is what is written. */
static void export(struct ui *ui)
{
	struct text excerpt = {0};
	model_describe(&ui->model, &excerpt);
	ui_tell(ui, "");
	ui->host.export(ui->host.context, ui->model.selection, text_string(&excerpt),
			ui->prompt.text, &ui->message);
	text_release(&excerpt);
}

void ui_answer(struct ui *ui, int key)
{
	if (ui->asking == PROMPT_EXPORT && key == KEY_TAB) {
		suggest_name(ui);
		return;
	}
	enum prompt_state state = prompt_key(&ui->prompt, key);
	enum prompt_use use = ui->asking;
	if (state == PROMPT_NO_KEY) /* what was typed is not lost by it */
		return;
	if (state != PROMPT_OPEN)
		ui->asking = PROMPT_NONE;
	if (state == PROMPT_GIVEN_UP)
		return;
	if (use == PROMPT_FILTER && state == PROMPT_DONE)
		filter_by_text(ui);
	if (use == PROMPT_EXPORT && state == PROMPT_DONE && ui->prompt.text[0]) {
		export(ui);
	}
	if (use == PROMPT_FIND) {
		/* While it is typed, the selection already goes there. */
		memcpy(ui->found, ui->prompt.text, sizeof(ui->found));
		if (ui->found[0])
			find(ui, 1, true);
	}
}

/* ---- zooms on the selected row ---- */

/* False: no process is selected. */
static bool zoom_process(struct ui *ui, bool drop)
{
	struct view *view = ui_view(ui);
	struct selection_criterion criterion = {.what = SELECTION_PROCESS, .drop = drop};
	struct text label = {0};
	if (!view || !view->ops->process_at || view->selected >= view->nr_rows)
		return false;
	const char *comm = view->ops->process_at(view, view->selected, &criterion.number);
	if (!comm)
		return false;
	text_addf(&label, "%sprocess=%d ", drop ? "without " : "", criterion.number);
	text_add_safe(&label, comm);
	model_zoom(&ui->model, criterion, text_string(&label));
	text_release(&label);
	return true;
}

static void zoom_row(struct ui *ui, bool drop)
{
	struct function_id function;
	struct text label = {0};
	if (zoom_process(ui, drop))
		return;
	if (!ui_selected_function(ui, &function)) {
		ui_tell(ui, "no function is selected");
		return;
	}
	text_add(&label, drop ? "without " : "in ");
	text_add(&label, model_fit_name(&ui->model, function, LABEL_COLS));
	model_zoom(&ui->model,
		   (struct selection_criterion){
			   .what = SELECTION_FUNCTION, .drop = drop, .function = function},
		   text_string(&label));
	text_release(&label);
}

static void zoom_subtree(struct ui *ui)
{
	struct view *view = ui_view(ui);
	struct text label = {0};
	if (!view || !view->ops->subtree_at || view->selected >= view->nr_rows) {
		ui_tell(ui, "the tree and the flame graph have subtrees");
		return;
	}
	text_addf(&label, "below %s", ui_selected_text(ui));
	model_zoom(&ui->model,
		   (struct selection_criterion){.what = SELECTION_SUBTREE,
						.id = view->ops->subtree_at(view, view->selected)},
		   text_string(&label));
	text_release(&label);
}

static void zoom_on_module(struct ui *ui, const char *module)
{
	struct text label = {0};
	text_add(&label, "module=");
	text_add_safe(&label, base_name(module));
	model_zoom(&ui->model,
		   (struct selection_criterion){.what = SELECTION_MODULE, .text = module},
		   text_string(&label));
	text_release(&label);
}

/* The module that is a row of its own; NULL: none is. */
static const char *selected_module(struct ui *ui)
{
	const struct view *view = ui_view(ui);
	if (!view || !view->ops->module_at || view->selected >= view->nr_rows)
		return NULL;
	return view->ops->module_at(view, &ui->model, view->selected);
}

static void zoom_module(struct ui *ui)
{
	struct function_id function;
	const char *module = selected_module(ui);
	if (!module && ui_selected_function(ui, &function))
		module = history_function_module(ui->model.history, function);
	if (module)
		zoom_on_module(ui, module);
	else
		ui_tell(ui, "no function is selected");
}

static void zoom_thread(struct ui *ui)
{
	if (zoom_process(ui, false))
		return;
	ui_show(ui, VIEW_THREADS);
	ui_tell(ui, "which thread? Enter shows it alone");
}

static enum ui_wish go_back(struct ui *ui)
{
	if (ui->current == VIEW_PICKER || ui->current == VIEW_REFUSAL)
		return UI_WISH_QUIT;
	if (ui->current == VIEW_TIMELINE && model_drop_range(&ui->model))
		return UI_WISH_NONE;
	if (ui_is_beside(ui->current))
		ui_show(ui, ui->beneath);
	else if ((int)ui->current >= NR_VIEWS)
		ui_show(ui, ui->before);
	else if (model_zoom_out(&ui->model))
		return UI_WISH_NONE;
	else if (model_unread(&ui->model))
		model_set_read(&ui->model);
	else
		ui_tell(ui, "no filter to undo; q quits");
	return UI_WISH_NONE;
}

/* ---- the selected row ---- */

static void show_sandwich(struct ui *ui)
{
	struct function_id function;
	if (ui_selected_function(ui, &function))
		model_set_centre(&ui->model, function);
	ui_show(ui, VIEW_SANDWICH);
}

/* The row's function; while that view is shown, back to where it came from. */
static void show_code(struct ui *ui)
{
	struct function_id function;
	if (ui->current == VIEW_CODE) {
		ui_show(ui, ui->before);
		return;
	}
	if (ui_selected_function(ui, &function)) {
		ui->model.code_of = function;
		ui->model.has_code_of = true;
	}
	if (ui->views[VIEW_CODE])
		ui->views[VIEW_CODE]->stale = true;
	ui_show(ui, VIEW_CODE);
}

static void enter(struct ui *ui)
{
	const char *module = selected_module(ui);
	if (module) {
		zoom_on_module(ui, module);
		ui->model.grouping = GROUPING_INLINE;
		ui_show(ui, VIEW_TOP);
	} else if (!zoom_process(ui, false)) {
		show_sandwich(ui);
	}
}

static enum ui_wish copy(struct ui *ui)
{
	struct view *view = ui_view(ui);
	const char *text = ui_selected_text(ui);
	if (*text && view->ops->copied_at) {
		const char *copied = view->ops->copied_at(view, &ui->model, view->selected);
		text = *copied ? copied : ui_selected_text(ui);
	}
	if (!*text)
		return UI_WISH_NONE;
	text_clear(&ui->copied);
	text_add(&ui->copied, text);
	if (ui->copied.failed) {
		model_failed(&ui->model, -ENOMEM);
		return UI_WISH_NONE;
	}
	ui_tell(ui, "copied: ");
	text_add(&ui->message, text_string(&ui->copied));
	return UI_WISH_COPY;
}

/* ---- how things are shown ---- */

static void next_least(struct ui *ui)
{
	static const double steps[] = {0, 0.1, 0.5, 1, 5};
	enum { NR_STEPS = sizeof(steps) / sizeof(*steps) };
	size_t i = 0;
	while (i < NR_STEPS && steps[i] <= ui->model.least_percent)
		i++;
	ui->model.least_percent = steps[i % NR_STEPS];
	ui_tell(ui, "");
	text_addf(&ui->message, "rows below %g%% are hidden", ui->model.least_percent);
}

static void next_names(struct ui *ui)
{
	static const char *const told[] = {
		[NAME_FULL] = "names in full",
		[NAME_NO_ARGUMENTS] = "names without arguments",
		[NAME_COLLAPSED] = "names without template arguments",
	};
	enum name_level level = ui->model.names;
	ui->model.names = level == NAME_COLLAPSED ? NAME_FULL : level + 1;
	ui_tell(ui, told[ui->model.names]);
}

static void toggle_processes(struct ui *ui)
{
	if (!model_toggle_processes(&ui->model))
		ui_tell(ui, "only one subtree is shown: Esc undoes that first");
	else
		ui_tell(ui, ui->model.wants_processes ? "a row for each process"
						      : "the stacks of all processes together");
}

static void next_grouping(struct ui *ui)
{
	struct model *model = &ui->model;
	if (changes_known(model)) {
		ui_tell(ui, "two profiles are compared by function");
		return;
	}
	model->grouping = (enum grouping)((model->grouping + 1) % NR_GROUPINGS);
	ui_tell(ui, "rows by ");
	text_add(&ui->message, model->grouping == GROUPING_INLINE ? "function"
			       : model->grouping == GROUPING_FUNCTION
				       ? "called function: what was inlined is part of it"
				       : grouping_name(model->grouping));
}

static void reset(struct ui *ui)
{
	int result = model_reset(&ui->model);
	if (result == -ENODATA)
		ui_tell(ui, "no more samples will come: nothing to reset");
	else if (result)
		model_failed(&ui->model, result);
	else
		ui_tell(ui, "reset: earlier samples are not shown any more");
}

static void sample_less(struct ui *ui)
{
	ui_tell(ui, "");
	if (ui->host.lower)
		ui->host.lower(ui->host.context, &ui->message);
}

/* What the header tells is of the event shown. */
static void next_event(struct ui *ui)
{
	struct model *model = &ui->model;
	if (!model->nr_events) {
		ui_tell(ui, "no event has come yet");
		return;
	}
	bool several = model_next_event(model);
	ui_tell(ui, several ? "" : "the only event: ");
	if (several)
		text_addf(&ui->message, "event %u of %u: ", model->event + 1, model->nr_events);
	text_add_safe(&ui->message, history_event_name(model->history, model->event));
	ui->host.facts(ui->host.context, model->event, &model->facts);
}

static void next_time(struct ui *ui)
{
	static const char *const said[NR_TIMES_SHOWN] = {
		"computing", "waiting", "wall: computing and waiting",
		"parked goroutines: beside what threads do",
		"wakeups: where those were who ended waits of 1 ms and more"};
	struct model *model = &ui->model;
	const char *why = "";
	ui_tell(ui, model_next_time(model, &why) ? said[model->time] : why);
	ui->host.facts(ui->host.context, model_event_shown(model), &model->facts);
}

static void scroll_names(struct model *model, enum action action)
{
	if (action == ACTION_SCROLL_RIGHT)
		model->scroll += SCROLL_COLS;
	else
		model->scroll -= model->scroll < SCROLL_COLS ? model->scroll : SCROLL_COLS;
}

static void cycle_view(struct ui *ui, int step)
{
	struct function_id function;
	int next = ((int)ui->current + step + NR_VIEWS) % NR_VIEWS;
	if (next == VIEW_SANDWICH && !ui->model.has_centre && ui_selected_function(ui, &function))
		model_set_centre(&ui->model, function);
	ui_show(ui, (enum view_kind)next);
}

static enum ui_wish toggle_mouse(struct ui *ui)
{
	ui->mouse = !ui->mouse;
	ui_tell(ui, ui->mouse ? "the mouse chooses rows, scrolls, and draws ranges in the "
				"timeline; m gives it back"
			      : "the mouse is the terminal's again");
	return UI_WISH_MOUSE;
}

static void ask_export(struct ui *ui)
{
	ask(ui, PROMPT_EXPORT);
	suggest_name(ui);
}

/* ---- all ---- */

/* Settings of the model: they take effect at once. */
static bool act_on_model(struct ui *ui, enum action action)
{
	struct model *model = &ui->model;
	switch ((int)action) {
	case ACTION_PAUSE:
		model_pause(model, !model->paused);
		break;
	case ACTION_WINDOW:
		model_next_window(model);
		break;
	case ACTION_SHORTER:
		model_change_window(model, -1);
		break;
	case ACTION_LONGER:
		model_change_window(model, 1);
		break;
	case ACTION_RESET:
		reset(ui);
		break;
	case ACTION_LOWER:
		sample_less(ui);
		break;
	case ACTION_LEAST:
		next_least(ui);
		break;
	case ACTION_NAMES:
		next_names(ui);
		break;
	case ACTION_GROUP:
		next_grouping(ui);
		break;
	case ACTION_PROCESSES:
		toggle_processes(ui);
		break;
	case ACTION_CALLERS_TOO:
		model->shows_callers = !model->shows_callers;
		ui_tell(ui, model->shows_callers ? "functions with self 0.0, too"
						 : "functions with self 0.0 are hidden");
		break;
	case ACTION_RELATIVE:
		model->of_all = !model->of_all;
		ui_tell(ui, model->of_all ? "percent of all samples in the window"
					  : "percent of the samples that pass the filters");
		break;
	case ACTION_SCROLL_LEFT:
	case ACTION_SCROLL_RIGHT:
		scroll_names(model, action);
		break;
	case ACTION_EVENT:
		next_event(ui);
		break;
	case ACTION_TIME:
		next_time(ui);
		break;
	case ACTION_ZOOM_KERNEL:
		model_cycle_kernel(model);
		break;
	default:
		return false;
	}
	model->changed = true;
	return true;
}

static bool act_on_row(struct ui *ui, enum action action)
{
	switch ((int)action) {
	case ACTION_FIND:
		ask(ui, PROMPT_FIND);
		break;
	case ACTION_FIND_NEXT:
		find(ui, 1, false);
		break;
	case ACTION_FIND_PREVIOUS:
		find(ui, -1, false);
		break;
	case ACTION_FILTER:
		ask(ui, PROMPT_FILTER);
		break;
	case ACTION_ZOOM_THREAD:
		zoom_thread(ui);
		break;
	case ACTION_ZOOM_MODULE:
		zoom_module(ui);
		break;
	case ACTION_FOCUS:
	case ACTION_DROP:
		zoom_row(ui, action == ACTION_DROP);
		break;
	case ACTION_FOCUS_SUBTREE:
		zoom_subtree(ui);
		break;
	case ACTION_ENTER:
		enter(ui);
		break;
	case ACTION_SANDWICH:
	case ACTION_VIEW_SANDWICH:
		show_sandwich(ui);
		break;
	case ACTION_CODE:
	case ACTION_VIEW_CODE:
		show_code(ui);
		break;
	case ACTION_EXPORT:
		ask_export(ui);
		break;
	default:
		return false;
	}
	return true;
}

enum ui_wish ui_act(struct ui *ui, enum action action)
{
	struct view *view = ui_view(ui);
	if (view && view_act(view, &ui->model, action))
		return ui->model.picked.nr ? UI_WISH_PROFILE : UI_WISH_NONE;
	if (act_on_model(ui, action) || act_on_row(ui, action))
		return UI_WISH_NONE;
	switch ((int)action) {
	case ACTION_VIEW_TOP:
	case ACTION_VIEW_TREE:
	case ACTION_VIEW_CALLERS:
	case ACTION_VIEW_FLAME:
	case ACTION_VIEW_THREADS:
		ui_show(ui, (enum view_kind)(action - ACTION_VIEW_TOP));
		break;
	case ACTION_VIEW_CALLS:
		ui_show(ui, ui->current == VIEW_CALLS ? ui->before : VIEW_CALLS);
		break;
	case ACTION_VIEW_MODULES:
		ui_show(ui, ui->current == VIEW_MODULES ? ui->before : VIEW_MODULES);
		break;
	case ACTION_VIEW_TIMELINE:
		ui_show(ui, ui->current == VIEW_TIMELINE ? ui->before : VIEW_TIMELINE);
		break;
	case ACTION_NEXT_VIEW:
		cycle_view(ui, 1);
		break;
	case ACTION_PREVIOUS_VIEW:
		cycle_view(ui, -1);
		break;
	case ACTION_HELP:
		ui_show(ui, ui->current == VIEW_HELP ? ui->beneath : VIEW_HELP);
		break;
	case ACTION_INFO:
		ui_show(ui, ui->current == VIEW_INFO ? ui->beneath : VIEW_INFO);
		break;
	case ACTION_BACK:
		return go_back(ui);
	case ACTION_COPY:
		return copy(ui);
	case ACTION_MOUSE:
		return toggle_mouse(ui);
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
