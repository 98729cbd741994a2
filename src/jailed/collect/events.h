/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_EVENTS_H
#define CTOP_COLLECT_EVENTS_H

/* The events that are sampled, and the ids by which a sample says which one it is of. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/index.h>
#include <ctop/ipc/protocol.h>

struct event_id {
	uint64_t id;
	uint32_t event;
	int32_t tid; /* -1: the whole CPU */
	int32_t cpu;
	uint32_t set;
	uint32_t first; /* row of the same event in the first set */
	/* Of the first set's row, for all of them: */
	bool doubled; /* the thread has inherited the same: this one is not counted */
	uint32_t
		seen_switch; /* the last switch of sets behind which the new one was sampled; 0: none */
};

struct events {
	struct {
		struct message_event *items;
		size_t nr, capacity;
	} named;
	struct {
		struct event_id *items;
		size_t nr, capacity;
	} ids;
	struct index ids_index;
	struct index own;    /* events that a thread has by itself: rows of ids */
	bool formats_differ; /* of the samples of some events: they are without a period */
	bool any_paced;
};

void events_release(struct events *events);

/* 0 or -ENOMEM. */
int events_add(struct events *events, const struct message_event *event);
int events_add_ids(struct events *events, const struct message_ids *ids);
/* An event of a file, whose number is its id. 0 or -ENOMEM. */
int events_add_of_file(struct events *events, const struct message_event *event);

/* NULL: no id of ours. */
struct event_id *events_find(const struct events *events, uint64_t id);
/* The thread's own event of this kind on this CPU; NULL: it has none. */
struct event_id *events_find_own(const struct events *events, int32_t tid,
				 const struct event_id *like);

#endif
