/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_HISTORY_CONSUMER_H
#define CTOP_REPORT_HISTORY_CONSUMER_H

/* A session's samples into a history, live or from a file. */

#include <ctop/base/thread_stretch.h>
#include <ctop/history/history.h>
#include <ctop/session/session.h>

struct session_consumer history_consumer(struct history *history);
/* What its threads do into the history's timeline, too. Before session_start(). */
void history_follow_threads(struct history *history, struct session *session);

/* For session_follow_threads(): what one of a live session's threads did, and which cgroup it is in, into a timeline. */
void timeline_consumer_take(void *timeline, const struct thread_stretch *stretch);

#endif
