/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_SHOWN_H
#define CTOP_TIME_SHOWN_H

/* Which time weights are of: a closed list, as --time and the interface have it. */

#include <stdbool.h>

enum time_shown {
	TIME_SHOWN_CPU,	 /* what was sampled: computing, of clocks */
	TIME_SHOWN_WAIT, /* the event of waits */
	TIME_SHOWN_WALL, /* both */
	TIME_SHOWN_GOROUTINES, /* the event of what goroutines wait, which are on no thread: beside the others */
	TIME_SHOWN_WAKEUPS, /* the event of waits that ended, at the stacks of who ended them: beside the others, too */
	NR_TIMES_SHOWN
};

#define TIME_SHOWN_WORDS "cpu wait wall goroutines wakeups"
/* The names of the events of waits, and of what ended them, whose weights are ns. */
#define WAIT_EVENT   "wait"
#define WAKEUP_EVENT "wakeup"

/* The name of a time, as --time has it. */
const char *time_shown_name(enum time_shown time);
/* The event of a time that has one of its own; NULL: it has none. */
const char *time_shown_event(enum time_shown time);
/* Whose event is a sum of its own, which is added to no other. */
static inline bool time_is_apart(enum time_shown time)
{
	return time == TIME_SHOWN_GOROUTINES || time == TIME_SHOWN_WAKEUPS;
}

#endif
