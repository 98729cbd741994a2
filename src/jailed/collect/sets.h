/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_SETS_H
#define CTOP_COLLECT_SETS_H

/* Which set of the events is sampled: as the rings have room, and as the rate asked for wants it. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/event_sets.h>
#include <ctop/ipc/protocol.h>

struct collector;
struct event_id;

/* How full the rings are, and what follows from it. */
struct pressure {
	uint64_t switching_since_ns, switching_until_ns;
	bool settles; /* the rings still hold what made us leave the last set */
	/* What filled them, since there was room: all, and of each event that we pace. */
	uint64_t bytes, paced_bytes[SAMPLER_MAX_EVENTS];
	double most_arrived; /* of a ring, between two looks, since it is calm */
	uint64_t calm_since_ns, calm_ns;
	uint64_t dearer_since_ns; /* 0: never, or it did not last */
	uint64_t lost;
	uint64_t looked_ns; /* the last time; 0: never */
};

/* Main switches each 20 ms at most, and a sample waits in its ring for 2 s. */
enum { SWITCHES_KEPT = 128 };

/* Which set of an event is in use. */
struct event_pace {
	uint32_t set, nr_switches; /* from 1: that to the first one */
	struct {
		uint64_t since_ns;
		uint32_t set;
	} switches[SWITCHES_KEPT]; /* the last ones, by number */
	/* Of one that we pace: */
	uint64_t since_ns; /* its samples are counted; 0: nothing has come yet */
	uint64_t calm_ns;
	uint64_t dearer_since_ns; /* 0: never */
};

struct sets {
	struct event_pace paces[SAMPLER_MAX_EVENTS];
	struct pressure pressure;
};

void sets_begin(struct collector *collector);
/* Main enables that set now, then disables the one before. */
void sets_use(struct collector *collector, const struct message_set *message);
/* There is more than one of this event's. */
bool sets_differ(const struct collector *collector, const struct event_id *event);
/* At that time an event may have been in two sets. */
bool sets_are_switching(const struct sets *sets, uint64_t time_ns);
/* After the rings were looked at: asks main for another set, where this one is not right. */
void sets_look(struct collector *collector);
/* So many events make a sample of this event's set where one makes one of the first set's; of a paced event: the period. */
uint64_t sets_fewer(const struct collector *collector, const struct event_id *event);
/* True when it is the first of the set that was in use then, since that was switched to. */
bool sets_is_first(const struct collector *collector, const struct event_id *event,
		   uint64_t time_ns);
/* A sample of this event, taken then, is in hand: those behind it are not the first. True when it was counted in the set that was in use then. */
bool sets_is_double(struct collector *collector, const struct event_id *event, uint64_t time_ns);

#endif
