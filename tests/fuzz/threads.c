/* SPDX-License-Identifier: MIT */
/*
 * What a recording says of its threads' time: the values of `threads.0`, `threads.1`, ..., a zero byte between two. What is read makes
 * sense, and is the same when it is written and read again.
 */
#include <ctop/base/text.h>
#include <ctop/metadata/thread_facts.h>

#include "fuzz.h"

enum { ROWS_MAX = 8, ROW_BYTES = 8192 };

static size_t count_lines(const char *row)
{
	size_t nr = 0;
	for (const char *at = row; *at; at += strcspn(at, "\n"), at += *at == '\n')
		nr++;
	return nr;
}

static void check(const struct thread_times *thread)
{
	uint64_t sum = 0;
	REQUIRE(thread->pid >= 0 && thread->tid >= 0);
	REQUIRE(strnlen(thread->name, sizeof(thread->name)) < sizeof(thread->name));
	REQUIRE(!strchr(thread->name, '\n'));
	for (int kind = 0; kind < NR_TIME_KINDS; kind++)
		if (__builtin_add_overflow(sum, thread->ns[kind], &sum))
			sum = UINT64_MAX;
	REQUIRE(thread->observed_ns == sum);
}

static void check_again(struct thread_facts *facts)
{
	struct history *history = history_new();
	const struct metadata_sink sink = metadata_to_history(history);
	struct thread_facts again = {0};
	REQUIRE(thread_facts_add(facts->items, facts->nr, &sink) == 0);
	REQUIRE(thread_facts_read(history, &again) == 0);
	REQUIRE(again.nr == facts->nr);
	for (size_t i = 0; i < facts->nr; i++)
		REQUIRE(!memcmp(&again.items[i], &facts->items[i], sizeof(*facts->items)));
	thread_facts_sort(&again);
	for (size_t i = 1; i < again.nr; i++)
		REQUIRE(again.items[i - 1].pid <= again.items[i].pid);
	thread_facts_release(&again);
	history_free(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct history *history = history_new();
	struct thread_facts facts = {0};
	struct thread_times all = {0};
	char row[ROW_BYTES + 1], key[32];
	size_t nr_lines = 0;
	REQUIRE(history);
	for (unsigned i = 0; i < ROWS_MAX && size; i++) {
		const size_t most = size < ROW_BYTES ? size : ROW_BYTES;
		const size_t length = strnlen((const char *)bytes, most);
		memcpy(row, bytes, length);
		row[length] = '\0';
		nr_lines += count_lines(row);
		snprintf(key, sizeof(key), THREAD_FACTS_KEY "%u", i);
		REQUIRE(history_set_info(history, key, row) == 0);
		bytes += length + (length < size);
		size -= length + (length < size);
	}
	REQUIRE(thread_facts_read(history, &facts) == 0);
	REQUIRE(facts.nr <= nr_lines);
	for (size_t i = 0; i < facts.nr; i++) {
		check(&facts.items[i]);
		thread_facts_sum(&all, &facts.items[i]);
		REQUIRE(all.observed_ns >= facts.items[i].observed_ns);
	}
	check_again(&facts);
	thread_facts_release(&facts);
	history_free(history);
	return 0;
}
