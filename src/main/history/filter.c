/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <string.h>

#include <ctop/base/among.h>

#include "internal.h"

void history_set_filter(struct history *history, const struct history_filter *filter)
{
	history->filter = *filter;
	history->filtered = filter->nr_pids || filter->nr_tids || filter->nr_cpus || filter->comm ||
			    filter->event || filter->first_event || filter->time ||
			    filter->module || filter->from_ns || filter->to_ns ||
			    filter->nr_labels || filter->kernel_only || filter->user_only;
}

const struct history_filter *history_filter(const struct history *history)
{
	return &history->filter;
}

bool history_is_beside(const struct history *history)
{
	return history->filter.beside;
}

uint64_t history_wait_within(uint64_t end_ns, uint64_t length_ns, uint64_t from_ns, uint64_t to_ns)
{
	const uint64_t began_ns = end_ns > length_ns ? end_ns - length_ns : 0;
	const uint64_t first_ns = began_ns > from_ns ? began_ns : from_ns;
	const uint64_t last_ns = end_ns < to_ns ? end_ns : to_ns;
	return first_ns < last_ns ? last_ns - first_ns : 0;
}

/* Of a recording that lies it may be too late. */
static uint64_t time_at(const struct history *history, uint64_t since_ns)
{
	const uint64_t most_ns = UINT64_MAX - history->origin_ns;
	return history->origin_ns + (since_ns < most_ns ? since_ns : most_ns);
}

bool history_cut_to_time(const struct history *history, uint32_t event, struct sample *sample)
{
	const struct history_filter *filter = &history->filter;
	/* Samples of several CPUs come nearly in order: one from before the first counts as taken with it. */
	const uint64_t origin_ns = history->origin_ns;
	uint64_t since_ns = sample->time_ns > origin_ns ? sample->time_ns - origin_ns : 0;
	const uint64_t to_ns = filter->to_ns ? filter->to_ns : UINT64_MAX;
	const bool ends_within = since_ns >= filter->from_ns && since_ns < to_ns;
	if (!history_is_stretch(history, event) || !sample->weight ||
	    !(filter->from_ns || filter->to_ns))
		return ends_within;
	/* What was waited before the first sample belongs to the beginning. */
	const uint64_t from_ns = filter->from_ns ? time_at(history, filter->from_ns) : 0;
	const uint64_t until_ns = time_at(history, to_ns);
	sample->weight = history_wait_within(sample->time_ns, sample->weight, from_ns, until_ns);
	if (sample->time_ns >= until_ns)
		sample->time_ns = until_ns - 1;
	return sample->weight != 0;
}

bool history_is_wait(const struct history *history, uint32_t number)
{
	return history->events.items[number].is_wait;
}

bool history_is_stretch(const struct history *history, uint32_t number)
{
	return history->events.items[number].is_stretch;
}

bool history_is_of_time(const struct history *history, uint32_t number, enum time_shown time)
{
	const char *event = time_shown_event(time);
	return event && !strcmp(history->events.items[number].name, event);
}

bool history_has_time(const struct history *history, enum time_shown time)
{
	for (uint32_t i = 0; i < history->events.nr; i++)
		if (history_is_of_time(history, i, time))
			return true;
	return false;
}

bool history_is_apart(const struct history *history, uint32_t number)
{
	return history_is_of_time(history, number, TIME_SHOWN_GOROUTINES) ||
	       history_is_of_time(history, number, TIME_SHOWN_WAKEUPS);
}

/* Of those that are no sampled events. */
static bool is_time_shown(const struct history *history, uint32_t number)
{
	const enum time_shown time = history->filter.time;
	return time_is_apart(time) ? history_is_of_time(history, number, time)
				   : time && history_is_wait(history, number);
}

static bool is_not_sampled(const struct history *history, uint32_t number)
{
	return history_is_wait(history, number) || history_is_apart(history, number);
}

bool history_counts_event(const struct history *history, uint32_t number)
{
	const struct history_filter *filter = &history->filter;
	const struct event *event = &history->events.items[number];
	if (is_not_sampled(history, number))
		return is_time_shown(history, number) ||
		       (!filter->time && filter->event && !strcmp(event->name, filter->event)) ||
		       (!filter->time && !filter->event && !filter->first_event);
	if (filter->time == TIME_SHOWN_WAIT || time_is_apart(filter->time))
		return false;
	return (!filter->event || strcmp(event->name, filter->event) == 0 ||
		strcmp(event->asked, filter->event) == 0) &&
	       !(filter->first_event && number);
}

/* Waits are of no CPU. */
static int32_t cpu_of(const struct history *history, const struct sample *sample,
		      const struct counted_stack *stack)
{
	return history->filter.nr_cpus && is_not_sampled(history, stack->event) ? -1 : sample->cpu;
}

bool history_passes(const struct history *history, const struct sample *sample,
		    const struct counted_stack *stack)
{
	const struct history_filter *filter = &history->filter;
	const struct history_task *task = &history->tasks.items[stack->task];
	const struct history_module *module =
		&history->modules.items[history->frames.items[stack->leaf].module];
	bool kernel = module->kind == MODULE_KERNEL;
	return history->labels_pass && among(task->pid, filter->pids, filter->nr_pids) &&
	       among(task->tid, filter->tids, filter->nr_tids) &&
	       among(cpu_of(history, sample, stack), filter->cpus, filter->nr_cpus) &&
	       (!filter->comm || strcmp(task->comm, filter->comm) == 0) &&
	       (filter->beside || history_counts_event(history, stack->event)) &&
	       (!filter->module || history_is_module(module, filter->module)) &&
	       !(filter->kernel_only && !kernel) && !(filter->user_only && kernel);
}

/* ---- what a filter could have named ---- */

/* The tasks begin with none and the one that folds; row 0 of the modules is code of no module. */
static size_t first_row(enum history_names which)
{
	return which == HISTORY_COMMS ? FOLDED_TASK + 1 : 0;
}

static size_t nr_rows(const struct history *history, enum history_names which)
{
	return which == HISTORY_COMMS ? history->tasks.nr : history->modules.nr;
}

bool history_has_name(const struct history *history, enum history_names which, const char *name)
{
	for (size_t row = first_row(which); row < nr_rows(history, which); row++) {
		if (which == HISTORY_COMMS) {
			if (!strcmp(history->tasks.items[row].comm, name))
				return true;
		} else if (history->modules.items[row].has_leaves &&
			   history_is_module(&history->modules.items[row], name)) {
			return true;
		}
	}
	return false;
}

static const char *name_of(const struct history *history, enum history_names which, size_t row)
{
	if (which == HISTORY_COMMS)
		return history->tasks.items[row].comm;
	const struct history_module *module = &history->modules.items[row];
	if (!module->has_leaves)
		return NULL;
	return module->kind == MODULE_NONE ? "[unknown]" : module->label;
}

size_t history_names(const struct history *history, enum history_names which, const char **names,
		     size_t most)
{
	size_t nr = 0;
	for (size_t row = first_row(which); row < nr_rows(history, which) && nr < most; row++) {
		const char *name = name_of(history, which, row);
		size_t same = 0;
		while (name && same < nr && strcmp(names[same], name) != 0)
			same++;
		if (name && same == nr)
			names[nr++] = name;
	}
	return nr;
}
