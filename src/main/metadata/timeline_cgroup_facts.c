/* SPDX-License-Identifier: MIT */
#include "timeline_cgroup_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

/* Of threads in a string of the recording; a path stands before them. */
enum { ROW_BYTES = 4000, ROWS_MOST = 2048 };
#define NAME TIMELINE_FACTS_KEY "cgroups"

/* ---- written ---- */

struct writing {
	const struct timeline *timeline;
	struct rows_writer rows;
	size_t most;
};

static bool is_full(const struct writing *writing)
{
	return writing->rows.bytes > writing->most || writing->rows.nr >= ROWS_MOST;
}

/* From a thread on, those that are in it; returns the next one. */
static size_t add_threads(struct writing *writing, uint32_t cgroup, size_t from)
{
	const size_t nr = timeline_nr_threads(writing->timeline);
	/* Behind the path, however long that is. */
	const size_t most = writing->rows.row.size + ROW_BYTES;
	size_t i = from;
	for (; i < nr && writing->rows.row.size < most; i++) {
		const struct timeline_thread *thread = timeline_thread(writing->timeline, i);
		if (thread->cgroup == cgroup && thread->has_stretches)
			text_addf(&writing->rows.row, "%" PRId32 " %" PRId32 " %" PRIu64 " ",
				  thread->pid, thread->tid, thread->began_ns);
	}
	return i;
}

static int add_cgroup(struct writing *writing, uint32_t cgroup)
{
	const size_t nr = timeline_nr_threads(writing->timeline);
	size_t thread = 0;
	int result = 0;
	while (!result && thread < nr && !is_full(writing)) {
		text_clear(&writing->rows.row);
		text_addf(&writing->rows.row, "%s\n", timeline_cgroup(writing->timeline, cgroup));
		const size_t bytes = writing->rows.row.size;
		thread = add_threads(writing, cgroup, thread);
		if (writing->rows.row.size > bytes || writing->rows.row.failed)
			result = rows_end(&writing->rows);
	}
	return result;
}

int timeline_cgroup_facts_add(const struct timeline *timeline, unsigned nr_sources,
			      const struct metadata_sink *sink)
{
	struct writing writing = {.timeline = timeline,
				  .rows = {.name = NAME, .sink = sink},
				  .most = TIMELINE_CGROUP_FACTS_BYTES / nr_sources};
	int result = 0;
	for (uint32_t cgroup = 1; !result && timeline_cgroup(timeline, cgroup)[0]; cgroup++)
		result = add_cgroup(&writing, cgroup);
	text_release(&writing.rows.row);
	return result;
}

/* ---- read ---- */

static void read_row(const struct rows_source *source, const char *at)
{
	struct timeline *timeline = source->timeline;
	struct text path = {0};
	const size_t bytes = strcspn(at, "\n");
	int32_t pid, tid;
	uint64_t began_ns;
	text_add_bytes(&path, at, bytes);
	at += bytes + (at[bytes] == '\n');
	while (!path.failed && bytes && take_id(&at, &pid) && take_id(&at, &tid) &&
	       take_number(&at, UINT64_MAX, &began_ns) && rows_shift(source, &began_ns)) {
		const size_t row = timeline_find_thread(timeline, pid, tid, began_ns);
		if (row != SIZE_MAX && timeline_thread(timeline, row)->began_ns == began_ns)
			timeline_set_cgroup(timeline, row, text_string(&path));
	}
	text_release(&path);
}

void timeline_cgroup_facts_read(const struct rows_source *source)
{
	const char *at;
	for (size_t i = 0; i < ROWS_MOST && (at = rows_of_source(source, NAME, i)); i++)
		read_row(source, at);
}
