/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_THREAD_TIMES_H
#define CTOP_TIME_THREAD_TIMES_H

/*
 * What threads did with their time while they were profiled. The kinds add up to the time observed, to the nanosecond: what
 * nobody saw is unknown.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/system/wait_kind.h>

enum time_kind {
	TIME_RUNNING,  /* on a CPU */
	TIME_RUNNABLE, /* it wanted a CPU and had none; see enum time_source */
	TIME_WAITING,  /* asleep, blocked or stopped */
	TIME_UNKNOWN,  /* records were lost, or it ended between two looks */
	NR_TIME_KINDS
};

/* Where it is known from: written into recordings. */
enum time_source {
	TIME_FROM_NOTHING,
	/* The kernel's records of switches. Runnable: preempted, or new; from waking to running is part of waiting. */
	TIME_FROM_SWITCHES,
	/* /proc/PID/task/TID/schedstat, now and then: there are no such records. Runnable: from waking on. */
	TIME_FROM_LOOKS,
	/* Of records until they cost too much (--max-overhead), of schedstat from then on. */
	TIME_FROM_BOTH,
	/* Records of switches and wakings. Runnable: from waking on. */
	TIME_FROM_WAKINGS,
	/* The same until wakings cost too much, of switches alone from then on. */
	TIME_FROM_SOME_WAKINGS,
	NR_TIME_SOURCES
};

/* Records tell of each switch. */
static inline bool time_source_has_records(enum time_source source)
{
	return source == TIME_FROM_SWITCHES || source == TIME_FROM_WAKINGS ||
	       source == TIME_FROM_SOME_WAKINGS;
}

struct thread_times {
	int32_t pid, tid; /* 0: of several */
	char name[16];	  /* untrusted; "": not known */
	uint64_t observed_ns;
	uint64_t ns[NR_TIME_KINDS];
	/* Of the waiting, for what: shared out by how often which was seen, an estimate. They come to it. */
	uint64_t wait_ns[NR_WAIT_KINDS];
};

#endif
