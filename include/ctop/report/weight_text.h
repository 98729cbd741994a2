/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_WEIGHT_TEXT_H
#define CTOP_REPORT_WEIGHT_TEXT_H

/* What the samples of an event stand for, in words. */

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/system/cpu_times.h>

/* "130 k faults in 73 samples". Nothing of no sample. */
void weight_text_add_sum(uint64_t weight, uint64_t samples, enum weight_unit unit,
			 struct text *text);
/*
 * The same; behind it what the kernel counted where that is something else, and that few samples carry most of it where
 * they do. Nothing of no sample.
 */
void weight_text_add(const struct history *history, const struct run_facts *facts, size_t event,
		     const struct history_totals *totals, struct text *text);
/* What a clock counted of threads, what its samples stand for, and those that were lost. */
struct clock_counts {
	uint64_t counted_ns, sampled_ns, lost_ns;
	uint64_t
		fewer_ns; /* of the time, how much was sampled by longer periods than asked, as the rings filled or, */
	bool has_budget; /* with --budget, that was spent */
	struct cpu_times cpus;
};
/*
 * A task's period starts over, with none of what its maker had left: where they end before, there are nearly no samples,
 * and nothing wrong with those. NULL: no sign of that.
 */
const char *weight_text_short_tasks(const struct clock_counts *counts);

/* "; -c 9 would have given 992", where a rate was asked for and so many fewer came in these seconds. */
void weight_text_add_period(const struct history *history, const struct run_facts *facts,
			    size_t event, double seconds, struct text *text);

#endif
