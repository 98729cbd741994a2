/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_THREADS_H
#define CTOP_REPORT_REPORT_THREADS_H

/*
 * What threads or processes did with their time, beside the rows of a list of them: seconds of computing, wanting a CPU and waiting, and what most
 * of that was for, by the account of the whole run. It has threads without samples, too.
 */

#include <ctop/metadata/thread_facts.h>
#include <ctop/options/options.h>
#include <ctop/query/groups.h>

struct report_threads {
	struct thread_facts
		facts; /* of what rows stand for, in the order of pid and tid; none: nobody knows, there are no columns */
	uint64_t observed_ns;		 /* of all of them */
	bool shows_queued, shows_mostly; /* there is room */
	size_t cols;			 /* of all columns, and the gaps in front of them */
};

/* All zero at first. Of another grouping, or of a part of the run's time, there is nothing. 0 or -ENOMEM. */
int report_threads_take(struct report_threads *threads, const struct history *history,
			const struct options *options);
/* Those that have no row yet, as the filters leave them: they are added, what waited longest first. Borrows names. 0 or -ENOMEM. */
int report_threads_add_others(const struct report_threads *threads, const struct options *options,
			      struct selection_groups *rows);
/* How much of all time that was observed a row's thread or process lived, in percent. */
double report_threads_percent(const struct report_threads *threads, const struct group *group);
/* In lines of so many columns (0: as many as it takes), of which others take so many. */
void report_threads_fit(struct report_threads *threads, size_t line_cols, size_t taken_cols);
void report_threads_add_heading(const struct report_threads *threads, struct text *out);
void report_threads_add_row(const struct report_threads *threads, const struct group *group,
			    struct text *out);
void report_threads_release(struct report_threads *threads);

#endif
