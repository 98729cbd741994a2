/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/wait_facts.h>

#include <inttypes.h>
#include <stdio.h>

#include "rows.h"

enum { KEY_BYTES = 32, ROW_BYTES = 128 + WAIT_OBJECT_TEXT_BYTES };

static const char *key_of(char key[KEY_BYTES], size_t number)
{
	snprintf(key, KEY_BYTES, WAIT_FACTS_KEY "%zu", number);
	return key;
}

int wait_facts_add(const struct wait_sum *sums, size_t nr, const struct metadata_sink *sink)
{
	char key[KEY_BYTES], row[ROW_BYTES];
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct wait_object *object = &sums[i].object;
		snprintf(row, sizeof(row),
			 "%" PRIu64 " %" PRIu64 " %d %" PRId32 " %" PRIu64 " %" PRId32 " %s",
			 sums[i].ns, sums[i].nr_threads, (int)object->kind, object->pid,
			 object->address, object->holder, object->text);
		result = sink->add(sink->context, key_of(key, i), row);
	}
	return result;
}

static bool parse(const char *row, struct wait_sum *sum)
{
	uint64_t kind, pid, holder;
	*sum = (struct wait_sum){0};
	if (!take_number(&row, UINT64_MAX, &sum->ns) ||
	    !take_number(&row, UINT64_MAX, &sum->nr_threads) ||
	    !take_number(&row, WAIT_ON_PROCESS, &kind) || !take_number(&row, INT32_MAX, &pid) ||
	    !take_number(&row, UINT64_MAX, &sum->object.address) ||
	    !take_number(&row, INT32_MAX, &holder))
		return false;
	sum->object.kind = (enum wait_object_kind)kind;
	sum->object.pid = (int32_t)pid;
	sum->object.holder = (int32_t)holder;
	snprintf(sum->object.text, sizeof(sum->object.text), "%s", row);
	return true;
}

size_t wait_facts_read(const struct history *history, struct wait_sum sums[WAIT_SUMS_TOLD])
{
	char key[KEY_BYTES];
	size_t nr = 0;
	for (size_t i = 0; i < WAIT_SUMS_TOLD; i++) {
		const char *row = history_info(history, key_of(key, i));
		if (!row)
			break;
		if (parse(row, &sums[nr]))
			nr++;
	}
	return nr;
}
