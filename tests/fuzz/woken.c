/* SPDX-License-Identifier: MIT */
/*
 * What a recording says of who woke whom: the values of `woken.0`, `woken.1`, ..., a zero byte between two. What is read makes
 * sense, and is the same when it is written and read again.
 */
#include <ctop/metadata/woken_facts.h>

#include "fuzz.h"

enum { ROWS_MOST = 300, ROW_BYTES = 1024 };

static void check(const struct waking_sum *sum)
{
	REQUIRE(sum->pid >= 0 && sum->tid >= 0 && sum->waker_pid >= 0);
	REQUIRE(sum->waker_tid >= 0 || sum->waker_tid == WAKER_UNTOLD);
	REQUIRE(memchr(sum->name, 0, sizeof(sum->name)) && !strchr(sum->name, '\n'));
	REQUIRE(memchr(sum->waker_name, 0, sizeof(sum->waker_name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct waking_sum sums[WAKING_SUMS_TOLD], again[WAKING_SUMS_TOLD];
	struct history *history = history_new(), *other = history_new();
	const struct metadata_sink sink = metadata_to_history(other);
	char row[ROW_BYTES + 1], key[32];
	REQUIRE(history && other);
	for (unsigned i = 0; i < ROWS_MOST && size; i++) {
		const size_t length =
			strnlen((const char *)bytes, size < ROW_BYTES ? size : ROW_BYTES);
		memcpy(row, bytes, length);
		row[length] = '\0';
		snprintf(key, sizeof(key), WOKEN_FACTS_KEY "%u", i);
		REQUIRE(history_set_info(history, key, row) == 0);
		bytes += length + (length < size);
		size -= length + (length < size);
	}
	const size_t nr = woken_facts_read(history, sums);
	REQUIRE(nr <= WAKING_SUMS_TOLD);
	for (size_t i = 0; i < nr; i++)
		check(&sums[i]);
	REQUIRE(woken_facts_add(sums, nr, &sink) == 0);
	REQUIRE(woken_facts_read(other, again) == nr);
	for (size_t i = 0; i < nr; i++)
		REQUIRE(sums[i].ns == again[i].ns && sums[i].nr == again[i].nr &&
			sums[i].pid == again[i].pid && sums[i].tid == again[i].tid &&
			sums[i].waker_pid == again[i].waker_pid &&
			sums[i].waker_tid == again[i].waker_tid &&
			!strcmp(sums[i].name, again[i].name) &&
			!strcmp(sums[i].waker_name, again[i].waker_name));
	history_free(history);
	history_free(other);
	return 0;
}
