/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/woken_facts.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rows.h"

enum { KEY_BYTES = 32, ROW_BYTES = 192 };

static const char *key_of(char key[KEY_BYTES], size_t number)
{
	snprintf(key, KEY_BYTES, WOKEN_FACTS_KEY "%zu", number);
	return key;
}

int woken_facts_add(const struct waking_sum *sums, size_t nr, const struct metadata_sink *sink)
{
	char key[KEY_BYTES], row[ROW_BYTES], name[sizeof(sums->name)];
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		snprintf(name, sizeof(name), "%.15s", sums[i].name);
		for (char *at = name; (at = strchr(at, '\n')); at++)
			*at = '?'; /* the other name begins there */
		snprintf(row, sizeof(row),
			 "%" PRIu64 " %" PRIu64 " %" PRId32 " %" PRId32 " %" PRId32 " %" PRId32
			 " %s\n%.15s",
			 sums[i].ns, sums[i].nr, sums[i].pid, sums[i].tid, sums[i].waker_pid,
			 sums[i].waker_tid, name, sums[i].waker_name);
		result = sink->add(sink->context, key_of(key, i), row);
	}
	return result;
}

static bool take_waker(const char **at, int32_t *id)
{
	if (strncmp(*at, "-1 ", 3) != 0)
		return take_id(at, id);
	*at += 3;
	*id = WAKER_UNTOLD;
	return true;
}

static bool parse(const char *row, struct waking_sum *sum)
{
	*sum = (struct waking_sum){0};
	if (!take_number(&row, UINT64_MAX, &sum->ns) || !take_number(&row, UINT64_MAX, &sum->nr) ||
	    !take_id(&row, &sum->pid) || !take_id(&row, &sum->tid) ||
	    !take_id(&row, &sum->waker_pid) || !take_waker(&row, &sum->waker_tid))
		return false;
	const size_t size = strcspn(row, "\n");
	if (!row[size])
		return false;
	snprintf(sum->name, sizeof(sum->name), "%.*s", (int)(size < 15 ? size : 15), row);
	snprintf(sum->waker_name, sizeof(sum->waker_name), "%.15s", row + size + 1);
	return true;
}

size_t woken_facts_read(const struct history *history, struct waking_sum sums[WAKING_SUMS_TOLD])
{
	char key[KEY_BYTES];
	size_t nr = 0;
	for (size_t i = 0; i < WAKING_SUMS_TOLD; i++) {
		const char *row = history_info(history, key_of(key, i));
		if (!row)
			break;
		if (parse(row, &sums[nr]))
			nr++;
	}
	return nr;
}
