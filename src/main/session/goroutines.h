/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_GOROUTINES_H
#define CTOP_SESSION_GOROUTINES_H

/*
 * What the goroutines of Go's programs wait for, and where: rounds of looks at their descriptors. A goroutine that is seen parked has the time since
 * the look before, as in any sampling; its stack is read once for each wait. Told through the ring that threads' waits are told through. Knows no threads: what
 * these wait is another sum.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/store/wait_ring.h>

struct broker;
struct goroutines;
struct looker;
struct session_stats;
struct spending;

struct goroutines *goroutines_new(struct broker *broker, struct looker *looker,
				  struct wait_ring *ring);
void goroutines_free(struct goroutines *goroutines); /* NULL is fine */

/* A process of the profile. */
void goroutines_note(struct goroutines *goroutines, int32_t pid);
/* What is due, a part of it. */
void goroutines_serve(struct goroutines *goroutines, const struct spending *spending,
		      uint64_t now_ns);
/* When something is due. */
uint64_t goroutines_due_ns(const struct goroutines *goroutines, uint64_t now_ns);
/* Nothing from before counts: it was not sampled. */
void goroutines_begin(struct goroutines *goroutines, uint64_t now_ns);
/* Stacks that were told are known to nobody any more. */
void goroutines_forget_stacks(struct goroutines *goroutines);
/* Waits end then: what has not been told yet is to be, one look more included, ... */
void goroutines_end(struct goroutines *goroutines, uint64_t end_ns);
/* ... as far as there is room. True: all is. is_over: nobody reads it any more, and what is left is counted as untold. */
bool goroutines_tell_last(struct goroutines *goroutines, bool is_over);
/* What was not shown, and why. */
void goroutines_add_counts(const struct goroutines *goroutines, struct session_stats *stats);

#endif
