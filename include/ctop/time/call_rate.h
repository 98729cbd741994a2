/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_CALL_RATE_H
#define CTOP_TIME_CALL_RATE_H

/* Whether system calls are so many that recording each one costs too much: figures only. */

#include <stdbool.h>
#include <stdint.h>

/* Calls in a second; each has two records. */
enum { CALL_RATE_HZ_MOST = 100000 };

enum call_rate_word {
	CALL_RATE_FINE,
	CALL_RATE_OTHERS, /* most records are of other programs' threads, which should be left out */
	CALL_RATE_TOO_MUCH,
};

/* All zero at first. */
struct call_rate {
	uint64_t second_ns;	  /* when this second began, */
	uint32_t records, others; /* and records in it, of threads that are not the target's */
	bool were_others;	  /* that was said in it already, as there were too many */
};

/* Of each record, in the order of time (CLOCK_MONOTONIC). */
enum call_rate_word call_rate_note(struct call_rate *rate, uint64_t time_ns, bool is_others);

#endif
