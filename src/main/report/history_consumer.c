/* SPDX-License-Identifier: MIT */
#include <ctop/report/history_consumer.h>

#include <ctop/history/timeline.h>

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	return history_begin_epoch(context, tables, symbols);
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	return history_import(context, samples, nr);
}

struct session_consumer history_consumer(struct history *history)
{
	return (struct session_consumer){history, begin_epoch, take_samples};
}

/* Without memory it says less, nothing wrong. */
static void follow(void *context, const struct thread_stretch *stretch)
{
	(void)timeline_add(context, stretch);
}

void history_follow_threads(struct history *history, struct session *session)
{
	struct timeline *timeline = history_timeline(history);
	if (timeline && session_follow_threads(session, follow, timeline))
		timeline_expect_stretches(timeline);
}
