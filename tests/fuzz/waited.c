/* SPDX-License-Identifier: MIT */
/*
 * What a recording says its threads waited for: the values of `waited.0`, `waited.1`, ..., a zero byte between two. What is read makes
 * sense, is safe to show, and is the same when it is written and read again.
 */
#include <ctop/base/text.h>
#include <ctop/metadata/wait_facts.h>

#include "fuzz.h"

enum { ROWS_MOST = 300, ROW_BYTES = 1024 };

static void check(const struct wait_sum *sum)
{
	struct text text = {0};
	REQUIRE(sum->object.kind <= WAIT_ON_PROCESS);
	REQUIRE(sum->object.pid >= 0 && sum->object.holder >= 0);
	REQUIRE(memchr(sum->object.text, 0, sizeof(sum->object.text)));
	wait_object_add(&sum->object, &text);
	for (const char *at = text_string(&text); *at; at++)
		REQUIRE((unsigned char)*at >= ' ');
	text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct wait_sum sums[WAIT_SUMS_TOLD], again[WAIT_SUMS_TOLD];
	struct history *history = history_new(), *other = history_new();
	const struct metadata_sink sink = metadata_to_history(other);
	char row[ROW_BYTES + 1], key[32];
	REQUIRE(history && other);
	for (unsigned i = 0; i < ROWS_MOST && size; i++) {
		const size_t length =
			strnlen((const char *)bytes, size < ROW_BYTES ? size : ROW_BYTES);
		memcpy(row, bytes, length);
		row[length] = '\0';
		snprintf(key, sizeof(key), WAIT_FACTS_KEY "%u", i);
		REQUIRE(history_set_info(history, key, row) == 0);
		bytes += length + (length < size);
		size -= length + (length < size);
	}
	const size_t nr = wait_facts_read(history, sums);
	REQUIRE(nr <= WAIT_SUMS_TOLD);
	for (size_t i = 0; i < nr; i++)
		check(&sums[i]);
	REQUIRE(wait_facts_add(sums, nr, &sink) == 0);
	REQUIRE(wait_facts_read(other, again) == nr);
	for (size_t i = 0; i < nr; i++)
		REQUIRE(sums[i].ns == again[i].ns && sums[i].nr_threads == again[i].nr_threads &&
			sums[i].object.kind == again[i].object.kind &&
			wait_object_is_same(&sums[i].object, &again[i].object) &&
			!strcmp(sums[i].object.text, again[i].object.text));
	history_free(history);
	history_free(other);
	return 0;
}
