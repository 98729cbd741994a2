/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_HISTORY_CONSUMER_H
#define CTOP_REPORT_HISTORY_CONSUMER_H

/* A session's samples into a history, live or from a file. */

#include <ctop/history/history.h>
#include <ctop/session/session.h>

struct session_consumer history_consumer(struct history *history);
/* What its threads do into the history's timeline, too. Before session_start(). */
void history_follow_threads(struct history *history, struct session *session);

#endif
