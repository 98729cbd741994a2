/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_THREAD_STRETCH_H
#define CTOP_BASE_THREAD_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/waker.h>
#include <ctop/wait_kind.h>

/* What a thread does: a closed list. */
enum thread_state {
	THREAD_COMPUTES,
	THREAD_QUEUES, /* it wants a CPU and has none */
	THREAD_WAITS,
	THREAD_UNKNOWN, /* it lived, and nobody saw what it did */
	NR_THREAD_STATES
};

/* What happens to a thread at a moment. */
enum thread_event {
	THREAD_NO_EVENT,
	THREAD_CREATED,	  /* it has not had a CPU yet */
	THREAD_PREEMPTED, /* it lost its CPU and wanted to go on; giving it up so is the same */
	THREAD_MIGRATED,  /* it got another CPU than the one that it had last */
	THREAD_CALLED, /* it was in a system call, whatever else it did then: from the call's begin to its end */
	NR_THREAD_EVENTS
};

/*
 * A thread did one thing from one moment to another, both by CLOCK_MONOTONIC. The stretches of a thread come in the order of time; what goes on
 * is told in parts. An event is a stretch of no length (but for THREAD_CALLED), which says nothing of the state.
 */
struct thread_stretch {
	int32_t pid, tid;
	const char *name; /* untrusted, borrowed; "" or NULL: not known */
	uint64_t from_ns, to_ns;
	enum thread_state state;
	enum wait_kind wait; /* of THREAD_WAITS: for what, if a look has told; */
	const char *
		call; /* ... and in which system call: "read, pipe:[4711]", safe, borrowed; "" or NULL: not known */
	bool is_woken;	   /* that it ends then, and who has ended it: */
	int32_t waker_tid; /* waker.h */
	bool begins;	   /* the first of this thread: others may have had its number */
	bool ends;	   /* nothing more comes of it */
	bool lacks_events; /* what happened meanwhile nobody has told */
	enum thread_event event;
	int32_t creator_pid, creator_tid; /* of THREAD_CREATED */
	uint32_t from_cpu, to_cpu;	  /* of THREAD_MIGRATED */
};

#endif
