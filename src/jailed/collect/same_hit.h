/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_SAME_HIT_H
#define CTOP_COLLECT_SAME_HIT_H

/*
 * One hit of a probe or breakpoint that two sets have sampled, as both were on. It has a time of its own in each: the
 * kernel writes them one after the other.
 */

#include <stdbool.h>
#include <stdint.h>

struct collector;
struct event_id;
struct last_sample;
struct record;

/* What the machine was like at a hit, while sets are switched; 0 otherwise. */
uint64_t same_hit_state(const struct collector *collector, const struct event_id *event,
			const struct record *record);
/* True when the sample, the new set's first, is of the same hit as the event's last one in this ring. */
bool same_hit(const struct collector *collector, const struct event_id *event,
	      const struct last_sample *last, const struct last_sample *now);

#endif
