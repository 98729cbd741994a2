/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_CALL_TIMES_H
#define CTOP_FLIGHT_CALL_TIMES_H

/*
 * How long calls of a function take, by samples where it begins and where it returns. Of each thread the innermost CALLS_DEEP calls that
 * have not returned are known. Where a sample was lost, or a call was left by longjmp(), a return may be taken for that of another call of
 * the thread: then a time is too long.
 */

#include <stdbool.h>
#include <stdint.h>

enum { CALLS_DEEP = 16, CALLS_THREADS = 1024 };

/* All zero: none. A thread takes the place of another one that has the same remainder. */
struct call_times {
	struct thread_calls {
		uint32_t task, nr;
		uint64_t began_ns[CALLS_DEEP];
	} threads[CALLS_THREADS];
};

void call_times_enter(struct call_times *times, uint32_t task, uint64_t ns);
/* False: it is not known when the call began. */
bool call_times_leave(struct call_times *times, uint32_t task, uint64_t ns, uint64_t *took_ns);

#endif
