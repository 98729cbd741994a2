/* SPDX-License-Identifier: MIT */
#include <ctop/report/history_consumer.h>

#include <ctop/history/timeline.h>
#include <ctop/system/cgroup.h>

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
void timeline_consumer_take(void *context, const struct thread_stretch *stretch)
{
	struct timeline *timeline = context;
	char path[CGROUP_PATH_BYTES];
	size_t row;
	(void)timeline_add(timeline, stretch);
	while ((row = timeline_next_unasked(timeline)) != SIZE_MAX) {
		const bool is_told = cgroup_of(timeline_thread(timeline, row)->pid, path);
		timeline_set_cgroup(timeline, row, is_told ? path : NULL);
	}
}

void history_follow_threads(struct history *history, struct session *session)
{
	struct timeline *timeline = history_timeline(history);
	if (timeline && session_follow_threads(session, timeline_consumer_take, timeline))
		timeline_expect_stretches(timeline);
}
