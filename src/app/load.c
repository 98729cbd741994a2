/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <errno.h>
#include <stdio.h>

#include <ctop/app/stats.h>
#include <ctop/base/clock.h>

#include "infos_read.h"

/* ---- what the session hands over ---- */

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	struct load *load = context;
	/* Names of the epoch before are out of reach once the next has begun. */
	int result = history_update_names(load->history);
	load->tables = tables;
	return result ? result : history_begin_epoch(load->history, tables, symbols);
}

/*
 * Samples of different events do not add up. Events are in the tables only once
 * there are samples of them, so the first one is looked up that late.
 */
static void choose_event(struct load *load)
{
	struct tables_reader reader;
	struct event_row first, second;
	tables_reader_init(&reader, load->tables);
	tables_reader_refresh(&reader);
	load->event_chosen = true;
	/* Row 0 is "none", as in every table. */
	if (!tables_event(&reader, 1, &first) || !tables_event(&reader, 2, &second))
		return;
	snprintf(load->event, sizeof(load->event), "%s", tables_string(&reader, first.name));
	load->filter.event = load->event;
	history_set_filter(load->history, &load->filter);
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	struct load *load = context;
	if (!load->event_chosen && load->tables)
		choose_event(load);
	return history_import(load->history, samples, nr);
}

/* ---- the whole ---- */

static uint64_t ns(double seconds)
{
	return (uint64_t)(seconds * (double)NS_PER_SECOND);
}

static struct history_filter filter_of(const struct options *options)
{
	return (struct history_filter){
		.pids = options->filter_pids.items,
		.nr_pids = options->filter_pids.nr,
		.tids = options->filter_tids.items,
		.nr_tids = options->filter_tids.nr,
		.cpus = options->filter_cpus.items,
		.nr_cpus = options->filter_cpus.nr,
		.comm = options->comm,
		.event = options->event,
		.module = options->module,
		.from_ns = ns(options->from_seconds),
		.to_ns = ns(options->to_seconds),
		.kernel_only = options->kernel_only,
		.user_only = options->user_only,
	};
}

int load_open(struct load *load, const struct options *options, struct error *error)
{
	*load = (struct load){.history = history_new(), .filter = filter_of(options)};
	if (!load->history)
		return error_set(error, -ENOMEM, "out of memory");
	load->event_chosen = options->event != NULL;
	history_set_filter(load->history, &load->filter);

	const struct session_consumer consumer = {load, begin_epoch, take_samples};
	load->session = session_open_file(options->input, &consumer, error);
	if (!load->session)
		return -EINVAL;
	int result = session_start(load->session, error);
	enum session_state state = SESSION_RUNNING;
	while (!result && state != SESSION_DRAINED)
		result = session_step(load->session, -1, &state, error);
	if (!result && history_update_names(load->history))
		result = error_set(error, -ENOMEM, "out of memory");
	return result;
}

/* The history looks into tables that the session maps: it goes first. */
void load_release(struct load *load)
{
	history_free(load->history);
	session_free(load->session);
	*load = (struct load){0};
}

/* The recording's own statistics, where the history does not count for itself. */
static void add_recorded(struct session_stats *stats, const struct history *history)
{
	stats->lost = infos_number(history, "stats.lost");
	stats->late = infos_number(history, "stats.late");
	stats->throttled = infos_number(history, "stats.throttled");
	stats->dropped_overrun = infos_number(history, "stats.dropped.overrun");
	stats->opened_ns = 0;
	stats->first_stack_ns = infos_number(history, "stats.first_stack_ns");
	stats->counted = infos_number(history, "stats.counted");
	stats->dropped_disk = infos_number(history, "stats.dropped.disk");
	stats->dropped_crash = infos_number(history, "stats.dropped.crash");
	stats->dropped_damaged = infos_number(history, "stats.dropped.damaged");
	stats->dropped_double = infos_number(history, "stats.dropped.double");
	stats->ring_bytes = infos_number(history, "stats.ring_bytes");
}

int load_write_stats(struct load *load, const struct options *options, size_t output_bytes,
		     struct error *error)
{
	if (!options->stats_path)
		return 0;
	const struct history *history = load->history;
	const struct history_totals totals = history_totals(load->history);
	uint64_t duration_ns = infos_number(history, "duration_ns");
	struct stats_input input = {
		.session = session_stats(load->session),
		.frames = totals.frames,
		.unsymbolized_frames = totals.unsymbolized_frames,
		.output_bytes = output_bytes,
		.event_asked = history_info(history, "event.asked"),
		.event_opened = history_info(history, "event.opened"),
		.event_period = infos_number(history, "event.period"),
		.event_frequency_hz = infos_number(history, "event.frequency_hz"),
	};
	if (!infos_describe_event(history, options->event)) {
		input.event_asked = input.event_opened = options->event;
		input.event_period = input.event_frequency_hz = 0;
	}
	struct session_stats *stats = &input.session;
	add_recorded(stats, history);
	stats->samples = totals.samples;
	for (size_t end = 0; end < NR_STACK_ENDS; end++)
		stats->ends[end] = totals.ends[end];
	stats->start_ns = 0;
	stats->end_ns = duration_ns ? duration_ns : totals.last_ns - totals.first_ns;
	if (stats->end_ns)
		input.rate_hz =
			(double)totals.samples * (double)NS_PER_SECOND / (double)stats->end_ns;

	const char *steps_down[SAMPLER_MAX_STEPS];
	char key[32];
	for (size_t i = 0; i < SAMPLER_MAX_STEPS; i++) {
		snprintf(key, sizeof(key), "step_down.%zu", i);
		const char *step = history_info(history, key);
		if (!step)
			break;
		steps_down[input.nr_steps_down++] = step;
	}
	input.steps_down = steps_down;
	return stats_write(options->stats_path, &input, error);
}
