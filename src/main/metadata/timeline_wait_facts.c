/* SPDX-License-Identifier: MIT */
#include "timeline_wait_facts.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

enum { ROW_BYTES = 4000 };
#define NAME TIMELINE_FACTS_KEY "wait"

static void add_line(const struct timeline *timeline, const struct timeline_moment *wait,
		     struct text *row)
{
	text_addf(row, "%" PRId32 " %" PRIu64 " %" PRIu64 " %u ",
		  timeline_thread(timeline, wait->row)->tid, wait->time_ns, wait->to_ns,
		  number_of_wait(wait->wait));
	if (wait->is_woken)
		text_addf(row, "%" PRId32 " ", wait->waker_tid);
	text_add(row, "\n");
}

int timeline_wait_facts_add(const struct timeline *timeline, unsigned nr_sources,
			    const struct metadata_sink *sink)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	const size_t nr = timeline_longest_waits(timeline, waits);
	struct rows_writer rows = {.name = NAME, .sink = sink};
	int result = 0;
	for (size_t i = 0; !result && i < nr && i < TIMELINE_WAITS / nr_sources; i++) {
		add_line(timeline, &waits[i], &rows.row);
		if (rows.row.size >= ROW_BYTES)
			result = rows_end(&rows);
	}
	if (!result)
		result = rows_end(&rows);
	text_release(&rows.row);
	return result;
}

static bool parse(const struct rows_source *source, const char **at, struct timeline_moment *wait)
{
	int32_t tid;
	uint64_t kind;
	*wait = (struct timeline_moment){0};
	if (!take_id(at, &tid) || !take_number(at, UINT64_MAX, &wait->time_ns) ||
	    !take_number(at, UINT64_MAX, &wait->to_ns) ||
	    !take_number(at, NR_WAIT_KINDS - 1, &kind) || !rows_shift(source, &wait->time_ns) ||
	    !rows_shift(source, &wait->to_ns) || wait->time_ns >= wait->to_ns)
		return false;
	wait->wait = wait_order[kind];
	wait->is_woken = take_id(at, &wait->waker_tid);
	wait->row = timeline_row_then(source->timeline, source->run, tid, wait->time_ns);
	return wait->row != SIZE_MAX &&
	       wait->to_ns <= timeline_thread(source->timeline, wait->row)->until_ns;
}

bool timeline_wait_facts_are_there(const struct rows_source *source)
{
	return rows_of_source(source, NAME, 0) != NULL;
}

void timeline_wait_facts_read(const struct rows_source *source)
{
	struct timeline_moment wait;
	const char *at;
	size_t nr = 0;
	for (size_t i = 0; nr < TIMELINE_WAITS && (at = rows_of_source(source, NAME, i)); i++)
		while (*at && nr++ < TIMELINE_WAITS) {
			if (parse(source, &at, &wait))
				timeline_put_wait(source->timeline, &wait);
			at += strcspn(at, "\n");
			at += *at == '\n';
		}
}
