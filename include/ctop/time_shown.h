/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_SHOWN_H
#define CTOP_TIME_SHOWN_H

/* Which time weights are of: a closed list, as --time and the interface have it. */

enum time_shown {
	TIME_SHOWN_CPU,	 /* what was sampled: computing, of clocks */
	TIME_SHOWN_WAIT, /* the event of waits */
	TIME_SHOWN_WALL, /* both */
	TIME_SHOWN_GOROUTINES, /* the event of what goroutines wait, which are on no thread: beside the others */
	NR_TIMES_SHOWN
};

#define TIME_SHOWN_WORDS "cpu wait wall goroutines"
/* The name of the event of waits, whose weights are ns. */
#define WAIT_EVENT "wait"

#endif
