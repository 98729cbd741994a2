/* SPDX-License-Identifier: MIT */
#include <ctop/report/report.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/query/selection.h>
#include <ctop/report/numbers.h>
#include <ctop/report/report_header.h>
#include <ctop/report/runtime_notes.h>
#include <ctop/report/weight_text.h>

#include "report_internal.h"
#include "report_modules.h"
#include "report_timeline.h"
#include "report_waited.h"
#include "report_woken.h"

/* Of perf's file, or a recorder's that did not live to its end: nobody says why. */
static void tell_what_is_known(const struct report *report, const struct run_facts *facts,
			       const char *event)
{
	struct text *out = report->out;
	text_add(out, "No samples: the file has none");
	if (event) {
		text_add(out, " of ");
		text_add_safe(out, event);
	}
	text_add(out,
		 run_facts_know(facts, &facts->stats.lost)
			 ? ".\nIt says that none were lost, and not why there are none.\n"
			 : ".\nIt does not say whether any were lost, nor why there are none.\n");
}

/* Of the event that was sampled: faults, for one, need no more CPU time than they have. */
static void explain_silence(const struct report *report, const struct run_facts *facts)
{
	const struct history *history = report->history;
	const char *event = facts->event.opened;
	const uint64_t unit = facts->event.unit;
	if (!event && history_nr_events(history))
		event = history_event_name(history, 0);
	if (!run_facts_know(facts, &facts->event.unit) ||
	    !run_facts_know(facts, &facts->stats.lost)) {
		tell_what_is_known(report, facts, event);
		return;
	}
	if (!event || unit == WEIGHT_NS || unit == WEIGHT_CYCLES) {
		text_add(report->out,
			 "No samples: the target used no CPU time while it was watched (it slept "
			 "or waited),\n"
			 "or ended before the first sample. Watch it for longer, or while it "
			 "works; --time\n"
			 "wait shows where it waits.\n");
		return;
	}
	text_add(report->out, "No samples: ");
	text_add_safe(report->out, event);
	text_add(report->out,
		 " did not occur while the target was watched,\n"
		 "or not often enough for one. Watch it for longer, or take each with -c 1.\n");
}

/* There is no sample that would say what the event's numbers are. */
static bool add_short_tasks(const struct run_facts *facts, struct text *out)
{
	const bool is_clock =
		run_facts_know(facts, &facts->event.unit) && facts->event.unit == WEIGHT_NS;
	const struct clock_counts counts = {
		.counted_ns = is_clock ? facts->stats.events_counted : 0,
		.fewer_ns = facts->stats.fewer_ns,
		.has_budget = facts->stats.budget_ppm != 0,
		.cpus = facts->stats.cpus,
	};
	const char *why = facts->sampled_cpus ? NULL : weight_text_short_tasks(&counts);
	if (why)
		text_addf(out, "No samples, though the target used %.2f s of CPU time:\n%s.\n",
			  (double)counts.counted_ns / (double)NS_PER_SECOND, why);
	return why != NULL;
}

/* Of what is no part of a thread's time; NULL: it is not about that. */
static const char *nothing_of(enum time_shown time)
{
	if (time == TIME_SHOWN_GOROUTINES)
		return "No goroutine was seen parked: the target is no program of Go's, or its "
		       "goroutines were not found.\n";
	if (time == TIME_SHOWN_WAKEUPS)
		return "No wait of 1 ms and more was seen to end by a thread: that takes root, or "
		       "CAP_PERFMON and a\ntracefs to read.\n";
	return NULL;
}

/* Of threads more is known than samples tell. */
static int explain_nothing(struct report *report)
{
	const struct history_totals *totals = &report->totals;
	struct text *out = report->out;
	struct run_facts facts = {0};
	run_facts_read(report->history, FACT_RECORDED, &facts);
	if (totals->samples_before && nothing_of(report->options->time)) {
		text_add(out, nothing_of(report->options->time));
	} else if (totals->samples_before) {
		text_add(out, "No sample passes the filter, though ");
		add_grouped(out, totals->samples_before);
		text_add(out, " were recorded: loosen it.\n");
	} else if (facts.stats.lost) {
		text_add(out, "No sample arrived, and ");
		add_grouped(out, facts.stats.lost);
		text_add(out, " were lost: try a lower rate (-F) or larger rings (-m).\n");
	} else if (totals->bad_samples) {
		text_add(out, "None of the samples made sense: the recording is damaged.\n");
	} else if (!add_short_tasks(&facts, out)) {
		explain_silence(report, &facts);
	}
	if (report->options->grouping != GROUPING_THREAD &&
	    report->options->grouping != GROUPING_PROCESS)
		return 0;
	text_add(out, "\n");
	return report_list_add(report);
}

int report_text(struct history *history, const struct options *options, int32_t pid,
		struct text *out)
{
	struct report report = {.history = history,
				.selection = selection_of_all(history),
				.options = options,
				.totals = history_totals(history),
				.out = out};
	int result = 0;
	if (!report.selection)
		return -ENOMEM;
	report_header(history, &report.totals, options,
		      options->command == COMMAND_LIVE
			      ? "record, and choose with ctop report --event"
			      : "choose with --event",
		      out);
	runtime_notes_add(history, pid, options->columns, out);
	text_add(out, "\n");
	if (options->timeline)
		result = report_timeline_add(history, options, out);
	else if (!report.totals.samples)
		result = explain_nothing(&report);
	else if (options->modules)
		result = report_modules_add(history, report.selection, options,
					    report.totals.weight, out);
	else if (options->tree)
		result = report_tree_add(&report);
	else
		result = report_list_add(&report);
	if (!result && report.totals.samples && options->time == TIME_SHOWN_WAIT &&
	    !options->modules && !options->timeline)
		result = report_waited_add(&report);
	if (!result && report.totals.samples && options->time == TIME_SHOWN_WAIT &&
	    !options->modules)
		result = report_woken_add(&report);
	bool failed = out->failed || report.name.failed;
	text_release(&report.name);
	selection_free(report.selection);
	return result ? result : failed ? -ENOMEM : 0;
}
