/* SPDX-License-Identifier: MIT */
/* Which cgroup each thread is in, as it was when somebody asked. Few paths, each kept once. */
#include "timeline_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

/* Of the timeline's bytes, for paths. */
enum { CGROUPS_SHARE = 16, CGROUPS_MOST = 1024 };
/* Who was created is asked for so often; those in between are where their creators are. */
#define ASKED_APART_NS (10 * NS_PER_MS)

static uint32_t find_or_add(struct timeline *timeline, const char *path)
{
	const size_t bytes = strlen(path) + 1;
	for (size_t i = 0; i < timeline->cgroups.nr; i++)
		if (!strcmp(timeline->cgroups.items[i], path))
			return (uint32_t)i + 1;
	if (timeline->cgroups.nr >= CGROUPS_MOST ||
	    timeline->cgroup_bytes + bytes > timeline->bytes_most / CGROUPS_SHARE ||
	    vec_reserve(&timeline->cgroups, timeline->cgroups.nr + 1))
		return 0;
	char *copy = strdup(path);
	if (!copy)
		return 0;
	timeline->cgroups.items[timeline->cgroups.nr++] = copy;
	timeline->cgroup_bytes += bytes;
	return (uint32_t)timeline->cgroups.nr;
}

static uint32_t creators(struct timeline *timeline, const struct timeline_thread *thread)
{
	const size_t row = thread->is_created
				   ? timeline_find_thread(timeline, thread->creator_pid,
							  thread->creator_tid, thread->began_ns)
				   : SIZE_MAX;
	return row == SIZE_MAX ? 0 : timeline->rows.items[row].thread.cgroup;
}

/* Where nobody has to be asked. */
static bool is_plain(struct timeline *timeline, size_t row)
{
	struct timeline_thread *thread = &timeline->rows.items[row].thread;
	const struct timeline_thread *before = row ? &timeline->rows.items[row - 1].thread : NULL;
	const bool is_same_process =
		thread->is_created ? thread->creator_pid == thread->pid
				   : before && before->pid == thread->pid && !before->has_ended;
	const bool is_soon =
		thread->is_created && thread->began_ns < timeline->asked_ns + ASKED_APART_NS;
	if (!is_same_process && !is_soon && !thread->has_ended)
		return false;
	thread->cgroup = is_same_process && !thread->is_created ? before->cgroup
								: creators(timeline, thread);
	return thread->cgroup || thread->has_ended;
}

size_t timeline_next_unasked(struct timeline *timeline)
{
	for (; timeline->nr_asked < timeline->rows.nr; timeline->nr_asked++)
		if (!timeline->rows.items[timeline->nr_asked].thread.cgroup &&
		    !is_plain(timeline, timeline->nr_asked))
			return timeline->nr_asked++;
	return SIZE_MAX;
}

void timeline_set_cgroup(struct timeline *timeline, size_t row, const char *path)
{
	struct timeline_thread *thread = &timeline->rows.items[row].thread;
	thread->cgroup = path && path[0] ? find_or_add(timeline, path) : creators(timeline, thread);
	if (thread->began_ns > timeline->asked_ns)
		timeline->asked_ns = thread->began_ns;
}

const char *timeline_cgroup(const struct timeline *timeline, uint32_t cgroup)
{
	return cgroup && cgroup <= timeline->cgroups.nr ? timeline->cgroups.items[cgroup - 1] : "";
}
