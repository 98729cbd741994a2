/* SPDX-License-Identifier: MIT */
#include <ctop/screen/model.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

static const uint32_t windows[] = {SELECTION_SINCE_START, 2, 5, 10, 30, 60, 300};
enum { NR_WINDOWS = sizeof(windows) / sizeof(*windows), WINDOW_10_S = 3 };

uint32_t model_window_s(const struct model *model)
{
	return windows[model->window];
}

int model_init(struct model *model)
{
	for (enum time_shown time = 0; time < NR_TIMES_SHOWN; time++)
		model->time_events[time] = UINT32_MAX;
	if (!model->history)
		return 0;
	model->selection = selection_new(model->history);
	if (!model->selection)
		return -ENOMEM;
	selection_take_by_parts(model->selection);
	return 0;
}

void model_release(struct model *model)
{
	while (model_zoom_out(model))
		;
	selection_free(model->selection);
	changes_release(&model->changes);
	free(model->picked.items);
	text_release(&model->name);
	text_release(&model->told);
	text_release(&model->chain);
	text_release(&model->read);
}

/* ---- refreshing ---- */

static bool grows(const struct model *model)
{
	return model->facts.state == UI_LIVE || model->facts.state == UI_OFF;
}

/* What has come to its end ends with its last sample: its last seconds stay to be seen. */
static uint64_t window_end(const struct model *model)
{
	if (model->paused)
		return model->end_ns;
	return grows(model) ? model->now_ns : model->all.last_ns;
}

const struct zoom *model_range(const struct model *model)
{
	for (size_t i = 0; i < model->nr_zooms; i++)
		if (model->zooms[i].is_range)
			return &model->zooms[i];
	return NULL;
}

static int apply_filters(struct model *model)
{
	struct selection_criterion criteria[SELECTION_CRITERIA_MAX];
	criteria[0] = (struct selection_criterion){.what = SELECTION_EVENT,
						   .waits = model->time == TIME_SHOWN_WALL,
						   .number = (int32_t)model_event_shown(model)};
	int result;
	do {
		const struct zoom *range = model_range(model);
		size_t nr = 1;
		for (size_t i = 0; i < model->nr_zooms; i++)
			if (!model->zooms[i].is_range)
				criteria[nr++] = model->zooms[i].criterion;
		selection_set_range(model->selection, range ? range->from_ns : 0,
				    range ? range->to_ns : 0);
		result = selection_set_filter(model->selection, criteria, nr);
		/* What it described is not there any more, or never was: the filters before it hold. */
	} while (result && result != -ENOMEM && model_zoom_out(model));
	return result;
}

/*
 * It is shown. What was sampled before stays: a process may execute again and again, faster than anybody looks, and its
 * time is spent all the same.
 */
static void follow_exec(struct model *model)
{
	if (model->facts.execs == model->execs || model->paused)
		return;
	model->execs = model->facts.execs;
	model->exec_ns = model->now_ns;
}

/* A subtree in force is one of the tree as it is: until it is taken back, that stays. */
static int follow_processes(struct model *model)
{
	bool wanted = model->processes_chosen ? model->wants_processes : model->facts.nr_cpus > 0;
	int result = selection_set_by_process(model->selection, wanted);
	if (!result)
		model->by_process = wanted;
	return result == -EBUSY ? 0 : result;
}

static void find_events(struct model *model)
{
	model->nr_events = (uint32_t)history_nr_events(model->history);
	for (enum time_shown time = 0; time < NR_TIMES_SHOWN; time++) {
		model->time_events[time] = UINT32_MAX;
		for (uint32_t i = 0; i < history_nr_events(model->history); i++)
			if (history_is_of_time(model->history, i, time))
				model->time_events[time] = i;
		/* Behind all others: they are none that are sampled. */
		model->nr_events -= model->time_events[time] != UINT32_MAX;
	}
	for (uint32_t i = 0; model->first_event && i < model->nr_events; i++) {
		if (strcmp(model->first_event, history_event_name(model->history, i)) != 0 &&
		    strcmp(model->first_event, history_event_asked(model->history, i)) != 0)
			continue;
		model->event = i;
		model->first_event = NULL;
	}
}

/*
 * What comes in a pause is of the seconds behind it, what comes after a reset of those after it. Of a file it is not
 * known when something was lost: the count is of the whole run.
 */
static void count_losses(struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	const struct losses_count count = {
		.lost = facts->lost,
		.dropped = facts->dropped,
		.samples = model->all.samples_before,
		.throttled = facts->throttled,
	};
	uint64_t now_s = model->now_ns / NS_PER_SECOND, end_s = model->end_ns / NS_PER_SECOND;
	uint64_t paused_s = model->paused_ns / NS_PER_SECOND, seconds = model_window_s(model);
	uint64_t from_s = seconds && end_s + 1 > seconds ? end_s + 1 - seconds : 0;
	if (facts->state == UI_FILE || facts->state == UI_LOADING) {
		model->in_window = count;
		return;
	}
	if (model->paused && now_s <= paused_s)
		now_s = paused_s + 1;
	if (now_s < model->begun_s)
		now_s = model->begun_s;
	if (from_s < model->begun_s)
		from_s = model->begun_s;
	losses_note(&model->losses, now_s, count);
	model->in_window = losses_between(&model->losses, from_s, model->paused ? paused_s : now_s);
}

int model_refresh(struct model *model, uint64_t now_ns)
{
	model->now_ns = now_ns;
	model->generation++;
	if (!model->history)
		return 0;
	follow_exec(model);
	/* The run's facts; names are the selection's business. */
	int result = history_update_some_names(model->history, 0);
	if (result > 0)
		result = 0;
	model->all = history_totals(model->history);
	find_events(model);
	model->end_ns = window_end(model);
	if (model->host->mark_times && !model->paused)
		model->host->mark_times(model->host->context, model_window_s(model));
	if (!result)
		result = selection_set_seconds(model->selection, model_window_s(model));
	if (!result)
		result = follow_processes(model);
	if (!result)
		result = apply_filters(model);
	if (!result)
		result = selection_refresh(model->selection, model->end_ns);
	if (!result && selection_trend(model->selection, MODEL_TREND_SECONDS, model->trend))
		memset(model->trend, 0, sizeof(model->trend));
	model->totals = selection_totals(model->selection);
	count_losses(model);
	if (model->changed)
		model->hold_until_ns = 0; /* rows of another question */
	model->changed = false;
	return result;
}

bool model_advance(struct model *model)
{
	/* What fails now shows in the refresh. */
	return model->selection && selection_advance(model->selection) > 0;
}

/* ---- time ---- */

void model_pause(struct model *model, bool paused)
{
	model->paused = paused;
	model->paused_ns = model->now_ns;
	model->samples_at_pause = model->all.samples;
}

void model_next_window(struct model *model)
{
	model->window = model->window ? 0 : WINDOW_10_S;
}

void model_change_window(struct model *model, int step)
{
	unsigned at = model->window;
	if (step < 0) /* since the start is the longest */
		model->window = at == 0 ? NR_WINDOWS - 1 : at > 1 ? at - 1 : 1;
	else if (at)
		model->window = (at + 1) % NR_WINDOWS;
}

int model_reset(struct model *model)
{
	if (!grows(model))
		return -ENODATA;
	int result = selection_restart(model->selection);
	if (result)
		return result;
	model->window = 0;
	model->paused = false; /* what is frozen was before */
	model->begun_s = model->now_ns / NS_PER_SECOND + 1;
	model->began_ns = history_totals(model->history).last_ns;
	return 0;
}

/* Seconds of the window that were forgotten: none, unless samples came before those that are held. */
static bool is_cut(const struct model *model, uint64_t held_ns)
{
	uint64_t wanted_ns = model_window_s(model) * NS_PER_SECOND;
	uint64_t first_ns = model->began_ns ? model->began_ns : model->all.first_ns;
	return wanted_ns && held_ns + NS_PER_SECOND < wanted_ns && model->totals.from_ns &&
	       model->totals.from_ns > first_ns;
}

void model_add_window(const struct model *model, struct text *out)
{
	static const char *const names[NR_WINDOWS] = {
		"all", "last 2 s", "last 5 s", "last 10 s", "last 30 s", "last 60 s", "last 5 min",
	};
	uint64_t held_ns = model->totals.to_ns - model->totals.from_ns;
	const struct zoom *range = model_range(model);
	if (range) {
		text_addf(out, "range %.3f s",
			  (double)(range->to_ns - range->from_ns) / (double)NS_PER_SECOND);
		return;
	}
	text_add(out, names[model->window]);
	if (is_cut(model, held_ns))
		text_addf(out, ", %u s held!", (unsigned)(held_ns / NS_PER_SECOND));
}

void model_describe(const struct model *model, struct text *out)
{
	const struct selection_totals *totals = &model->totals;
	double seconds = (double)(totals->to_ns - totals->from_ns) / (double)NS_PER_SECOND;
	text_addf(out, "%s%.*f s", model_window_s(model) && !model_range(model) ? "the last " : "",
		  model_range(model) ? 3 : 1, seconds);
	if (model->time || model->nr_events > 1) {
		text_add(out, ", ");
		text_add_safe(out, history_event_name(model->history, model_event_shown(model)));
	}
	if (model->time == TIME_SHOWN_WALL)
		text_add(out, " + waiting");
	for (size_t i = 0; i < model->nr_zooms; i++)
		text_addf(out, "%s%s", i ? " > " : ", filter ", model->zooms[i].label);
	if (model->nr_zooms && totals->all_weight)
		text_addf(out, ", %.1f%% of the %s",
			  100.0 * (double)totals->weight / (double)totals->all_weight,
			  model_unit(model));
}

/* ---- filters ---- */

/* ---- what went wrong ---- */

/* Among the lines that were read. */
static bool was_read(const struct model *model, const char *line, size_t size)
{
	for (const char *at = text_string(&model->read); *at; at += strcspn(at, "\n") + 1)
		if (strcspn(at, "\n") == size && !memcmp(at, line, size))
			return true;
	return false;
}

const char *model_unread(const struct model *model)
{
	const char *at = model->facts.notices;
	while (at && *at) {
		size_t size = strcspn(at, "\n");
		if (!was_read(model, at, size))
			return at;
		at += size + (at[size] == '\n');
	}
	return NULL;
}

void model_set_read(struct model *model)
{
	if (!model_unread(model))
		return;
	text_clear(&model->read);
	text_add(&model->read, model->facts.notices);
}

void model_failed(struct model *model, int result)
{
	if (!model->failure)
		model->failure = result;
}

void model_zoom(struct model *model, struct selection_criterion criterion, const char *label)
{
	if (model->nr_zooms == MODEL_ZOOMS_MAX) {
		model_failed(model, -E2BIG);
		return;
	}
	struct zoom *zoom = &model->zooms[model->nr_zooms];
	*zoom = (struct zoom){.criterion = criterion};
	if (criterion.text) {
		zoom->text = strdup(criterion.text);
		if (!zoom->text) {
			model_failed(model, -ENOMEM);
			return;
		}
		zoom->criterion.text = zoom->text;
	}
	/* Cut between characters; the mark of it is the line's business. */
	size_t size = text_fit(label, sizeof(zoom->label) / 4);
	memcpy(zoom->label, label, size < sizeof(zoom->label) ? size : 0);
	model->nr_zooms++;
	model->changed = true;
}

bool model_zoom_out(struct model *model)
{
	if (!model->nr_zooms)
		return false;
	free(model->zooms[--model->nr_zooms].text);
	model->changed = true;
	return true;
}

static void remove_zoom(struct model *model, size_t at)
{
	free(model->zooms[at].text);
	model->nr_zooms--;
	memmove(&model->zooms[at], &model->zooms[at + 1],
		(model->nr_zooms - at) * sizeof(*model->zooms));
	model->changed = true;
}

bool model_drop_range(struct model *model)
{
	const struct zoom *range = model_range(model);
	if (range)
		remove_zoom(model, (size_t)(range - model->zooms));
	return range != NULL;
}

void model_set_range(struct model *model, uint64_t from_ns, uint64_t to_ns, const char *label)
{
	model_drop_range(model);
	const size_t nr = model->nr_zooms;
	model_zoom(model, (struct selection_criterion){.what = SELECTION_TEXT}, label);
	if (model->nr_zooms == nr)
		return;
	model->zooms[nr].is_range = true;
	model->zooms[nr].from_ns = from_ns;
	model->zooms[nr].to_ns = to_ns;
}

void model_tell(struct model *model, const char *message)
{
	text_clear(&model->told);
	text_add(&model->told, message);
}

static struct zoom *kernel_zoom(struct model *model)
{
	for (size_t i = 0; i < model->nr_zooms; i++)
		if (model->zooms[i].criterion.what == SELECTION_KERNEL)
			return &model->zooms[i];
	return NULL;
}

void model_cycle_kernel(struct model *model)
{
	struct zoom *zoom = kernel_zoom(model);
	if (!zoom) {
		model_zoom(model,
			   (struct selection_criterion){.what = SELECTION_KERNEL, .drop = true},
			   "user");
	} else if (zoom->criterion.drop) {
		zoom->criterion.drop = false;
		snprintf(zoom->label, sizeof(zoom->label), "kernel");
	} else {
		memmove(zoom, zoom + 1,
			(size_t)(&model->zooms[--model->nr_zooms] - zoom) * sizeof(*zoom));
	}
}

bool model_next_event(struct model *model)
{
	if (model->nr_events < 2)
		return false;
	model->event = (model->event + 1) % model->nr_events;
	model->changed = true;
	return true;
}

uint32_t model_event_shown(const struct model *model)
{
	const uint32_t event = model->time_events[model->time];
	return event != UINT32_MAX ? event : model->event;
}

static bool has_time(const struct model *model, enum time_shown time)
{
	/* Nothing but time adds up with time. */
	if (time == TIME_SHOWN_WALL)
		return history_event_unit(model->history, model->event) == WEIGHT_NS;
	return time == TIME_SHOWN_CPU || model->time_events[time] != UINT32_MAX;
}

bool model_next_time(struct model *model, const char **why)
{
	if (changes_known(model)) {
		*why = "one time is compared: choose it with ctop diff --time";
		return false;
	}
	if (!has_time(model, TIME_SHOWN_WAIT)) {
		*why = grows(model)
			       ? "no wait was seen yet; where whole CPUs are sampled none is "
				 "looked for"
			       : "no waits in this recording: make it with ctop record --time wall";
		return false;
	}
	do
		model->time = (model->time + 1) % NR_TIMES_SHOWN;
	while (!has_time(model, model->time));
	model->changed = true;
	return true;
}

static bool has_subtree(const struct model *model)
{
	for (size_t i = 0; i < model->nr_zooms; i++)
		if (model->zooms[i].criterion.what == SELECTION_SUBTREE)
			return true;
	return false;
}

bool model_toggle_processes(struct model *model)
{
	if (has_subtree(model))
		return false;
	model->wants_processes = !model->by_process;
	model->processes_chosen = model->changed = true;
	return true;
}

void model_set_centre(struct model *model, struct function_id function)
{
	model->centre = function;
	model->has_centre = true;
	model->changed = true;
}

/* ---- names ---- */

static const char *show_marked(struct model *model, const char *mark, const char *name,
			       enum name_level level, int cols)
{
	text_clear(&model->name);
	text_add(&model->name, mark);
	cols -= cols ? (int)strlen(mark) : 0;
	name_add_fit(&model->name, name, level, cols < 0 ? 1 : (size_t)cols);
	return text_string(&model->name);
}

/* cols 0: as wide as it is. */
static const char *show_name(struct model *model, struct function_id function,
			     enum name_level level, int cols)
{
	const char *mark = history_function_kernel(model->history, function)	? "[k] "
			   : history_function_inlined(model->history, function) ? "[i] "
										: "";
	return show_marked(model, mark, history_function_name(model->history, function), level,
			   cols);
}

/* Columns that names are made to fit: whoever wants them whole scrolls. */
static int fit_cols(const struct model *model, int cols)
{
	bool whole = model->names == NAME_FULL || model->scroll;
	return whole ? 0 : cols > 0 ? cols : 1;
}

const char *model_full_name(struct model *model, struct function_id function)
{
	return show_name(model, function, NAME_FULL, 0);
}

const char *model_fit_name(struct model *model, struct function_id function, int cols)
{
	return show_name(model, function, model->names, fit_cols(model, cols));
}

const char *model_fit_inlined(struct model *model, const char *name, int cols)
{
	return show_marked(model, "[i] ", name, model->names, fit_cols(model, cols));
}

const char *model_module(struct model *model, struct function_id function)
{
	const char *path = history_function_module(model->history, function);
	text_clear(&model->name);
	text_add_safe(&model->name, base_name(path));
	return text_string(&model->name);
}

static const char *show_node(struct model *model, const struct selection_node *node,
			     enum name_level level, int cols)
{
	if (!node->comm && !node->label)
		return show_name(model, node->function, level, cols);
	struct text whole = {0};
	text_clear(&model->name);
	text_add_safe(&whole, !node->comm ? node->label : node->comm[0] ? node->comm : "[unknown]");
	if (node->comm)
		text_addf(&whole, " %d", node->pid);
	name_add_elided(&model->name, text_string(&whole), cols ? (size_t)cols : SIZE_MAX);
	text_release(&whole);
	return text_string(&model->name);
}

const char *model_fit_node_name(struct model *model, const struct selection_node *node, int cols)
{
	return show_node(model, node, model->names, fit_cols(model, cols));
}

const char *model_node_full_name(struct model *model, const struct selection_node *node)
{
	return show_node(model, node, NAME_FULL, 0);
}

bool model_node_is_kernel(const struct model *model, const struct selection_node *node)
{
	return !node->label && history_function_kernel(model->history, node->function);
}

const char *model_unit(const struct model *model)
{
	enum weight_unit unit = model->facts.unit;
	return unit == WEIGHT_NS ? "time" : weight_unit_name(unit, 2);
}
