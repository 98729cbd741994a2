/* SPDX-License-Identifier: MIT */
#include "call_times.h"

#include <string.h>

static struct thread_calls *calls_of(struct call_times *times, uint32_t task)
{
	return &times->threads[task % CALLS_THREADS];
}

void call_times_enter(struct call_times *times, uint32_t task, uint64_t ns)
{
	struct thread_calls *calls = calls_of(times, task);
	if (calls->task != task)
		*calls = (struct thread_calls){.task = task};
	/* The outermost are forgotten: what calls itself so deep takes long by its innermost calls, too. */
	if (calls->nr == CALLS_DEEP)
		memmove(calls->began_ns, calls->began_ns + 1,
			--calls->nr * sizeof(*calls->began_ns));
	calls->began_ns[calls->nr++] = ns;
}

bool call_times_leave(struct call_times *times, uint32_t task, uint64_t ns, uint64_t *took_ns)
{
	struct thread_calls *calls = calls_of(times, task);
	if (calls->task != task || !calls->nr)
		return false;
	const uint64_t began_ns = calls->began_ns[--calls->nr];
	*took_ns = ns > began_ns ? ns - began_ns : 0;
	return true;
}
