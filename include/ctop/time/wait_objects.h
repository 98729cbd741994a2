/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAIT_OBJECTS_H
#define CTOP_TIME_WAIT_OBJECTS_H

/*
 * What threads waited for, one by one: each share of waiting that is given to the stack of a look (wait_shares.h) is given to what that look found the
 * thread waiting for, too. Memory is bounded.
 */

#include <ctop/time/wait_sums.h>
#include <ctop/store/wait_ring.h>

struct wait_objects;

struct wait_objects *wait_objects_new(void); /* NULL: out of memory */
void wait_objects_free(struct wait_objects *objects);

/* A look has found the thread at another wait. Without memory what it waited for is not known. */
void wait_objects_look(struct wait_objects *objects, int32_t tid, enum wait_kind kind,
		       const struct wait_object *object);
/* A sample has: for what, a look at a wait of the same kind stands in. Its stack is the last one, or the one before. */
void wait_objects_sample(struct wait_objects *objects, int32_t tid, enum wait_kind kind,
			 enum wait_place place);
/* So long it waited there, or where the look before found it. */
void wait_objects_add(struct wait_objects *objects, int32_t tid, enum wait_place place,
		      uint64_t ns);
/* The longest first, WAIT_SUMS_TOLD at most. Borrowed until the next call. */
const struct wait_sum *wait_objects_sums(struct wait_objects *objects, size_t *nr);

#endif
