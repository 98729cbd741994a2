/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_LONG_WAITS_H
#define CTOP_FLIGHT_LONG_WAITS_H

/*
 * Waits that last long at a function: of each thread the stack that its last sample of waiting had. Stacks and names are the children's and
 * untrusted. Main only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/options/trigger.h>
#include <ctop/session/session.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

enum { LONG_WAITS_THREADS = 1024 };

/* All zero: none. A thread takes the place of another one that has the same remainder. */
struct long_waits {
	struct tables_reader reader;
	const struct symbols *symbols; /* of the epoch; borrowed */
	struct waiting_thread {
		int32_t tid; /* 0: nobody */
		struct node_id node;
		struct frame_id leaf;
		uint64_t until_ns;   /* up to when the sample says that it waited */
		uint64_t decided_ns; /* when the wait began that was looked at; 0: none was */
	} threads[LONG_WAITS_THREADS];
};

/* What was known before is forgotten: stacks are rows of the epoch's tables. */
void long_waits_begin_epoch(struct long_waits *waits, const struct tables *tables,
			    const struct symbols *symbols);
/* Any sample; those that are of no wait are passed over. */
void long_waits_take(struct long_waits *waits, const struct sample *sample);
/* A wait that is longer than trigger->for_ns by now, of its kinds and at its function: each once, when its names have come. False: there is none. */
bool long_waits_find(struct long_waits *waits, const struct session *session,
		     const struct trigger *trigger, uint64_t now_ns,
		     struct session_long_wait *wait);

#endif
