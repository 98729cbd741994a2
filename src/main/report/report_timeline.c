/* SPDX-License-Identifier: MIT */
#include "report_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/among.h>
#include <ctop/base/clock.h>
#include <ctop/history/timeline.h>

enum { LABEL_COLS = 64, CELLS_LEAST = 20, CELLS_MOST = 400, CELLS_USUAL = 60, NAME_COLS = 15 };

struct chart {
	const struct timeline *timeline;
	const struct options *options;
	uint64_t from_ns, to_ns;
	bool is_part;
	struct timeline_cell *cells;
	size_t nr_cells;
	struct text *out;
};

/* Filters that are of samples alone say nothing of threads. */
static bool passes(const struct chart *chart, const struct timeline_thread *thread)
{
	const struct options *options = chart->options;
	return among(thread->pid, options->filter_pids.items, options->filter_pids.nr) &&
	       among(thread->tid, options->filter_tids.items, options->filter_tids.nr) &&
	       (!options->comm || !strcmp(thread->name, options->comm)) &&
	       thread->until_ns >= chart->from_ns && thread->began_ns <= chart->to_ns;
}

/* Of a part by its tiles: about. */
static void find_times(const struct chart *chart, size_t row, uint64_t ns[NR_THREAD_STATES])
{
	const struct timeline_thread *thread = timeline_thread(chart->timeline, row);
	memcpy(ns, thread->ns, NR_THREAD_STATES * sizeof(*ns));
	if (!chart->is_part)
		return;
	const uint64_t from_ns =
		thread->began_ns > chart->from_ns ? thread->began_ns : chart->from_ns;
	const uint64_t to_ns = thread->until_ns < chart->to_ns ? thread->until_ns : chart->to_ns;
	const double span = to_ns > from_ns ? (double)(to_ns - from_ns) : 0;
	struct timeline_cell cell;
	timeline_cells(chart->timeline, &row, 1, from_ns, (uint64_t)span + 1, NULL, 0, &cell, 1);
	for (int state = 0; state < THREAD_UNKNOWN; state++)
		ns[state] = (uint64_t)(span * cell.share[state] / 255);
}

static void add_row(const struct chart *chart, size_t row)
{
	const struct timeline_thread *thread = timeline_thread(chart->timeline, row);
	const uint64_t cell_ns = (chart->to_ns - chart->from_ns) / chart->nr_cells + 1;
	uint64_t ns[NR_THREAD_STATES];
	struct text name = {0};
	find_times(chart, row, ns);
	for (int state = 0; state < THREAD_UNKNOWN; state++)
		text_addf(chart->out, "%11.3f", (double)ns[state] / (double)NS_PER_SECOND);
	timeline_add_run(thread, &name);
	text_add_safe(&name, thread->name);
	text_addf(chart->out, "  %8" PRId32 "  %s", thread->tid, text_string(&name));
	for (size_t cols = text_cols(text_string(&name)); cols < NAME_COLS; cols++)
		text_add(chart->out, " ");
	text_release(&name);
	text_add(chart->out, "  |");
	timeline_cells(chart->timeline, &row, 1, chart->from_ns, cell_ns, NULL, 0, chart->cells,
		       chart->nr_cells);
	for (size_t i = 0; i < chart->nr_cells; i++) {
		const char letter = timeline_letter(&chart->cells[i]);
		text_add_bytes(chart->out, &letter, 1);
	}
	text_add(chart->out, "|\n");
}

/* ---- what happened to them ---- */

static void add_seconds(const struct chart *chart, bool is_known, uint64_t time_ns)
{
	const uint64_t first_ns = timeline_first_ns(chart->timeline);
	if (is_known)
		text_addf(chart->out, "%11.3f",
			  time_ns > first_ns ? (double)(time_ns - first_ns) / (double)NS_PER_SECOND
					     : 0);
	else
		text_addf(chart->out, "%11s", "-");
}

static void add_count(const struct chart *chart, uint64_t nr, bool is_least)
{
	text_addf(chart->out, "%*" PRIu64 "%s", is_least ? 11 : 12, nr, is_least ? "+" : "");
}

static void add_events(const struct chart *chart, size_t row)
{
	const struct timeline_thread *thread = timeline_thread(chart->timeline, row);
	struct text creator = {0};
	add_seconds(chart, thread->is_created, thread->began_ns);
	if (thread->started_ns)
		text_addf(chart->out, "%13.3f",
			  (double)(thread->started_ns - thread->began_ns) / (double)NS_PER_MS);
	else
		text_addf(chart->out, "%13s", "-");
	add_seconds(chart, thread->has_ended, thread->until_ns);
	add_count(chart, thread->nr_preemptions, thread->lacks_events);
	add_count(chart, thread->nr_migrations, thread->lacks_events);
	text_addf(chart->out, "  %8" PRId32 "  ", thread->tid);
	timeline_add_run(thread, chart->out);
	text_add_safe(chart->out, thread->name);
	if (thread->is_created) {
		timeline_add_creator(chart->timeline, thread, &creator);
		text_add(chart->out, ", by ");
		text_add_safe(chart->out, text_string(&creator));
	}
	text_add(chart->out, "\n");
	chart->out->failed |= creator.failed;
	text_release(&creator);
}

/* Of threads that are known by samples alone nobody told. */
static void add_all_events(const struct chart *chart, const size_t *rows, size_t nr)
{
	bool has_head = false, is_least = false;
	for (size_t i = 0; i < nr; i++) {
		const struct timeline_thread *thread = timeline_thread(chart->timeline, rows[i]);
		if (!thread->has_stretches)
			continue;
		if (!has_head)
			text_addf(chart->out, "\n%11s%13s%11s%12s%12s  %8s  %s\n", "created s",
				  "first CPU ms", "ended s", "preempted", "migrated", "tid",
				  "thread, and who created it");
		has_head = true;
		is_least |= thread->lacks_events;
		add_events(chart, rows[i]);
	}
	if (is_least)
		text_add(chart->out,
			 "+: at least; of some of its time there are no records of switches.\n");
}

/* ---- cgroups ---- */

struct cgroup_sum {
	size_t nr;
	uint64_t ns[NR_THREAD_STATES];
};

static void add_cgroup(const struct chart *chart, const struct cgroup_sum *sum, const char *path)
{
	for (int state = 0; state < THREAD_UNKNOWN; state++)
		text_addf(chart->out, "%11.3f", (double)sum->ns[state] / (double)NS_PER_SECOND);
	text_addf(chart->out, "  %8zu  ", sum->nr);
	text_add_safe(chart->out, path);
	text_add(chart->out, "\n");
}

/* All of the time, as each thread's sums are. Where there is one alone it says nothing more. */
static int add_cgroups(const struct chart *chart, const size_t *rows, size_t nr)
{
	uint32_t nr_cgroups = 0;
	while (timeline_cgroup(chart->timeline, nr_cgroups + 1)[0])
		nr_cgroups++;
	if (nr_cgroups < 2)
		return 0;
	struct cgroup_sum *sums = calloc(nr_cgroups + 1, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct timeline_thread *thread = timeline_thread(chart->timeline, rows[i]);
		struct cgroup_sum *sum = &sums[thread->cgroup];
		sum->nr++;
		for (int state = 0; state < NR_THREAD_STATES; state++)
			sum->ns[state] += thread->ns[state];
	}
	text_addf(chart->out, "\n%11s%11s%11s  %8s  %s\n", "CPU s", "queued s", "waited s",
		  "threads", "cgroup, of all of the time");
	for (uint32_t cgroup = 1; cgroup <= nr_cgroups; cgroup++)
		if (sums[cgroup].nr)
			add_cgroup(chart, &sums[cgroup], timeline_cgroup(chart->timeline, cgroup));
	if (sums[0].nr)
		add_cgroup(chart, &sums[0], "not known");
	free(sums);
	return 0;
}

static void add_head(const struct chart *chart)
{
	const uint64_t first_ns = timeline_first_ns(chart->timeline);
	const double cell_ns = (double)(chart->to_ns - chart->from_ns) / (double)chart->nr_cells;
	text_addf(
		chart->out,
		"from %.3f s to %.3f s, a column %.3f ms; # computing, + some, q run queue, "
		"? unknown,\nwaiting for l(ock) i(o) p(oll) s(leep) c(hild) f(ault) o(ther), - not "
		"seen\n",
		(double)(chart->from_ns - first_ns) / (double)NS_PER_SECOND,
		(double)(chart->to_ns - first_ns) / (double)NS_PER_SECOND,
		cell_ns / (double)NS_PER_MS);
	const double tile_ns = (double)timeline_tile_ns(chart->timeline);
	if (timeline_nr_coarser(chart->timeline) && tile_ns > cell_ns)
		text_addf(chart->out,
			  "What is shorter than %.0f ms is put together: there was no "
			  "room for more.\n",
			  tile_ns / (double)NS_PER_MS);
	if (timeline_nr_forgotten(chart->timeline))
		text_addf(chart->out,
			  "%" PRIu64 " threads are not shown: there was no room for "
			  "more.\n",
			  timeline_nr_forgotten(chart->timeline));
	text_addf(chart->out, "\n%11s%11s%11s  %8s  %s\n", chart->is_part ? "CPU s ~" : "CPU s",
		  chart->is_part ? "queued s ~" : "queued s",
		  chart->is_part ? "waited s ~" : "waited s", "tid", "thread");
}

/* Clocks of different machines and starts have nothing in common but the time of day. */
static void add_runs(const struct chart *chart, const size_t *rows)
{
	if (timeline_thread(chart->timeline, rows[0])->run)
		text_add(chart->out, "\nBefore names: of which recording. Times are those of the "
				     "machines' clocks; a "
				     "recording that does not know the\ntime of day follows the "
				     "one before it.\n");
}

/* Of marks alone what lies between them is not known. */
static void add_source(const struct chart *chart, const size_t *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (timeline_thread(chart->timeline, rows[i])->has_stretches)
			return;
	text_add(chart->out, "\nStates are as samples tell, about: there are no records of "
			     "switches here.\n");
}

static void choose_time(struct chart *chart)
{
	const uint64_t first_ns = timeline_first_ns(chart->timeline);
	const struct options *options = chart->options;
	chart->from_ns = first_ns + (uint64_t)(options->from_seconds * (double)NS_PER_SECOND);
	chart->to_ns = timeline_last_ns(chart->timeline);
	if (options->to_seconds > 0 &&
	    first_ns + (uint64_t)(options->to_seconds * (double)NS_PER_SECOND) < chart->to_ns)
		chart->to_ns = first_ns + (uint64_t)(options->to_seconds * (double)NS_PER_SECOND);
	chart->is_part = options->from_seconds > 0 || options->to_seconds > 0;
	const uint64_t cols = options->columns;
	chart->nr_cells = cols > LABEL_COLS + CELLS_LEAST ? cols - LABEL_COLS
			  : cols			  ? CELLS_LEAST
							  : CELLS_USUAL;
	chart->nr_cells = chart->nr_cells < CELLS_MOST ? chart->nr_cells : CELLS_MOST;
}

int report_timeline_add(struct history *history, const struct options *options, struct text *out)
{
	struct chart chart = {
		.timeline = history_timeline(history), .options = options, .out = out};
	const size_t nr_threads = chart.timeline ? timeline_nr_threads(chart.timeline) : 0;
	if (!nr_threads) {
		text_add(out, "Nothing is known of what threads did.\n");
		return 0;
	}
	choose_time(&chart);
	size_t *rows = calloc(nr_threads, sizeof(*rows)), nr = 0;
	chart.cells = calloc(chart.nr_cells, sizeof(*chart.cells));
	int result = rows && chart.cells ? 0 : -ENOMEM;
	for (size_t i = 0; !result && i < nr_threads; i++)
		if (passes(&chart, timeline_thread(chart.timeline, i)))
			rows[nr++] = i;
	if (!result && chart.from_ns < chart.to_ns && nr) {
		qsort_r(rows, nr, sizeof(*rows), timeline_compare_rows,
			(void *)(uintptr_t)chart.timeline);
		add_head(&chart);
		for (size_t i = 0; i < nr; i++)
			add_row(&chart, rows[i]);
		add_runs(&chart, rows);
		add_source(&chart, rows, nr);
		add_all_events(&chart, rows, nr);
		result = add_cgroups(&chart, rows, nr);
	} else if (!result) {
		text_add(out, "No thread was there then, or none passes the filters.\n");
	}
	free(rows);
	free(chart.cells);
	return result;
}
