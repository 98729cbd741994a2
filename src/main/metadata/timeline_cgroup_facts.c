/* SPDX-License-Identifier: MIT */
#include "timeline_cgroup_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

#include "rows.h"

/* Of threads in a string of the recording; a path stands before them. */
enum { ROW_BYTES = 4000, ROWS_MOST = 2048 };
#define NAME TIMELINE_FACTS_KEY "cgroups"

/* ---- written ---- */

struct writing {
	const struct timeline *timeline;
	struct rows_writer rows;
};

static bool is_full(const struct writing *writing)
{
	return writing->rows.bytes > TIMELINE_CGROUP_FACTS_BYTES || writing->rows.nr >= ROWS_MOST;
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

int timeline_cgroup_facts_add(const struct timeline *timeline, const struct metadata_sink *sink)
{
	struct writing writing = {.timeline = timeline, .rows = {.name = NAME, .sink = sink}};
	int result = 0;
	for (uint32_t cgroup = 1; !result && timeline_cgroup(timeline, cgroup)[0]; cgroup++)
		result = add_cgroup(&writing, cgroup);
	text_release(&writing.rows.row);
	return result;
}

/* ---- read ---- */

static void read_row(struct timeline *timeline, const char *at)
{
	struct text path = {0};
	const size_t bytes = strcspn(at, "\n");
	int32_t pid, tid;
	uint64_t began_ns;
	text_add_bytes(&path, at, bytes);
	at += bytes + (at[bytes] == '\n');
	while (!path.failed && bytes && take_id(&at, &pid) && take_id(&at, &tid) &&
	       take_number(&at, UINT64_MAX, &began_ns)) {
		const size_t row = timeline_find_thread(timeline, pid, tid, began_ns);
		if (row != SIZE_MAX && timeline_thread(timeline, row)->began_ns == began_ns)
			timeline_set_cgroup(timeline, row, text_string(&path));
	}
	text_release(&path);
}

void timeline_cgroup_facts_read(struct history *history)
{
	char key[ROWS_KEY_BYTES];
	for (size_t i = 0; i < ROWS_MOST; i++) {
		const char *at = history_info(history, rows_key(key, NAME, i));
		if (!at)
			return;
		read_row(history_timeline(history), at);
	}
}
