/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_COURSE_H
#define CTOP_SESSION_COURSE_H

/*
 * When a live session is switched on, toggled and stopped: --delay, --duration and SIGUSR1, whether it is shown in the
 * interface or not. Whoever has the loop calls course_keep() when course_due_ns() has come.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>

struct course {
	uint64_t switch_on_ns, stop_ns; /* by CLOCK_MONOTONIC; 0: never */
	unsigned nr_toggles;		/* asked for, and not done yet */
};

/* The session was started just now. */
void course_begin(struct course *course, struct session *session, const struct options *options);
/* Asks to switch sampling off if it is on, else on. From then on a delay does not count. */
void course_toggle(struct course *course);
/* The next time that something is due; UINT64_MAX: nothing is. */
uint64_t course_due_ns(const struct course *course);
/* Stops the session as soon as course_keep() is called. */
void course_stop(struct course *course);

enum course_change { COURSE_SAME, COURSE_SWITCHED, COURSE_STOPPED };
/* Does what is due. *change: SWITCHED by a toggle, or STOPPED. 0 or -errno with error. */
int course_keep(struct course *course, struct session *session, enum course_change *change,
		struct error *error);

#endif
