/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_DUPLICATES_H
#define CTOP_COLLECT_DUPLICATES_H

/* Threads that were attached twice: one of each two samples counts. */

#include <stdbool.h>
#include <stdint.h>

struct collector;
struct collector_ring;
struct event_id;
struct record;

/* By which event of those attached a thread was sampled, and by which other since then: 1 + rows of ids; 0: none. */
struct lineage {
	int32_t tid;
	uint32_t first, second;
};

enum { NR_LINEAGES = 1024 };

struct duplicates {
	uint64_t twin_events; /* a bit each: twins were seen of these */
	struct lineage lineages[NR_LINEAGES];
};

/* Takes note of a sample. True when it repeats another one and is not to be counted. Fine to call again with the same record. */
bool duplicates_take(struct collector *collector, struct collector_ring *ring,
		     struct event_id *event, const struct record *record);
/* The thread's life begins or ends. */
void duplicates_forget(struct duplicates *duplicates, int32_t tid);

#endif
