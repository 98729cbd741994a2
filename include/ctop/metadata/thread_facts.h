/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_THREAD_FACTS_H
#define CTOP_METADATA_THREAD_FACTS_H

/* What each thread of a run did with its time, as a recording keeps it: docs/recording-format.md, `threads.N`. */

#include <stdbool.h>
#include <stddef.h>

#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/time/thread_times.h>

/* How keys of them begin. */
#define THREAD_FACTS_KEY "threads."

/* 0 or -errno. */
int thread_facts_add(const struct thread_times *threads, size_t nr,
		     const struct metadata_sink *sink);

struct thread_facts {
	struct thread_times *
		items; /* as they stand there; names are untrusted, pid 0: those that were too many */
	size_t nr, capacity;
};
/* What makes no sense is left out. All zero at first. 0 or -ENOMEM. */
int thread_facts_read(const struct history *history, struct thread_facts *facts);
/* By pid, then tid. */
void thread_facts_sort(struct thread_facts *facts);
void thread_facts_release(struct thread_facts *facts);
/* Adds one thread's times to a sum, which stops at the largest number. */
void thread_facts_sum(struct thread_times *sum, const struct thread_times *times);

#endif
