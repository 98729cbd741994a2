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

/* SIZE_MAX: it was there before, or nothing is known of who created it. */
static size_t creator_of(struct timeline *timeline, const struct timeline_thread *thread)
{
	return thread->is_created ? timeline_find_thread(timeline, thread->creator_pid,
							 thread->creator_tid, thread->began_ns)
				  : SIZE_MAX;
}

/* The row that tells where a thread is, so that nobody has to be asked; SIZE_MAX: there is none. */
static size_t teller_of(struct timeline *timeline, size_t row)
{
	const struct timeline_thread *thread = &timeline->rows.items[row].thread;
	const struct timeline_thread *before = row ? &timeline->rows.items[row - 1].thread : NULL;
	const bool is_beside =
		!thread->is_created && before && before->pid == thread->pid && !before->has_ended;
	const bool is_soon = thread->began_ns < timeline->asked_ns + ASKED_APART_NS;
	if (is_beside)
		return row - 1;
	return thread->creator_pid == thread->pid || is_soon || thread->has_ended
		       ? creator_of(timeline, thread)
		       : SIZE_MAX;
}

size_t timeline_next_unasked(struct timeline *timeline)
{
	while (timeline->nr_asked < timeline->rows.nr) {
		const size_t row = timeline->nr_asked++;
		struct timeline_thread *thread = &timeline->rows.items[row].thread;
		const size_t teller = thread->cgroup ? row : teller_of(timeline, row);
		if (teller != SIZE_MAX)
			thread->cgroup = timeline->rows.items[teller].thread.cgroup;
		else if (!thread->has_ended)
			return row;
	}
	return SIZE_MAX;
}

void timeline_set_cgroup(struct timeline *timeline, size_t row, const char *path)
{
	struct timeline_thread *thread = &timeline->rows.items[row].thread;
	const size_t creator = path && path[0] ? SIZE_MAX : creator_of(timeline, thread);
	if (path && path[0])
		thread->cgroup = find_or_add(timeline, path);
	else if (creator != SIZE_MAX)
		thread->cgroup = timeline->rows.items[creator].thread.cgroup;
	if (thread->began_ns > timeline->asked_ns)
		timeline->asked_ns = thread->began_ns;
}

const char *timeline_cgroup(const struct timeline *timeline, uint32_t cgroup)
{
	return cgroup && cgroup <= timeline->cgroups.nr ? timeline->cgroups.items[cgroup - 1] : "";
}
