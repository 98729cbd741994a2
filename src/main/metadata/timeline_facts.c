/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/timeline_facts.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/text.h>

#include "rows.h"
#include "timeline_call_facts.h"
#include "timeline_cgroup_facts.h"
#include "timeline_event_facts.h"
#include "timeline_wait_facts.h"

/* A row of the recording; a thread may have several, and they share its table with other facts. */
enum { ROW_BYTES = 4000, ROWS_MOST = 2048, KEY_BYTES = 48, NAME_BYTES = 16 };
/* Shares are digits of base 64, a tile has three of them, and its kind of wait. */
enum { DIGIT_ZERO = '0', DIGITS = 64, DIGIT_MOST = DIGITS - 1, SHARE_MOST = 255 };
/* Of a tile, as they are written. */
enum { SHIFT_LEAST = 20, SHIFT_MOST = 62 };
/* Tiles of several states: more than all bytes have room for is damage, and would take long. */
enum { PARTS_MOST = TIMELINE_FACTS_BYTES * 4 };

#define NAME	    "timeline"
#define MISSING_KEY TIMELINE_FACTS_KEY "missing"
/* A merged recording that claims more has their first ones alone. */
enum { SOURCES_MOST = 4096 };
#define LONGEST_TILE_NS (UINT64_C(1) << 40)

/* In the order of the format. */
static const enum thread_state state_order[] = {THREAD_COMPUTES, THREAD_QUEUES, THREAD_WAITS,
						THREAD_UNKNOWN};
_Static_assert(sizeof(state_order) / sizeof(*state_order) == NR_THREAD_STATES, "each state");

/* ---- written ---- */

static unsigned shift_of(uint64_t tile_ns)
{
	return (unsigned)__builtin_ctzll(tile_ns);
}

static char digit_of(unsigned number)
{
	return (char)(DIGIT_ZERO + number);
}

static unsigned rounded(uint8_t share)
{
	const unsigned digit = ((unsigned)share * DIGIT_MOST + SHARE_MOST / 2) / SHARE_MOST;
	return digit || !share ? digit : 1;
}

static void encode_tile(const struct timeline_cell *cell, char tile[4])
{
	for (int i = 0; i < THREAD_UNKNOWN; i++)
		tile[i] = digit_of(rounded(cell->share[state_order[i]]));
	tile[3] = digit_of(cell->share[THREAD_WAITS] ? number_of_wait(cell->wait) : 0);
}

static void add_head(struct text *row, const struct timeline_thread *thread, uint64_t from_ns,
		     unsigned shift)
{
	char name[NAME_BYTES];
	snprintf(name, sizeof(name), "%.15s", thread->name);
	for (char *at = name; (at = strchr(at, '\n')); at++)
		*at = '?'; /* it ends the line here */
	text_addf(row, "%" PRId32 " %" PRId32 " %" PRIu64 " %" PRIu64 " %d %u %" PRIu64,
		  thread->pid, thread->tid, thread->began_ns, thread->until_ns, thread->has_ended,
		  shift, from_ns >> shift);
	for (size_t i = 0; i < NR_THREAD_STATES; i++)
		text_addf(row, " %" PRIu64, thread->ns[state_order[i]]);
	for (size_t i = 0; i < NR_WAIT_KINDS; i++)
		text_addf(row, " %" PRIu64, thread->wait_ns[wait_order[i]]);
	text_addf(row, " %s\n", name);
}

/* From a tile on, as many as a row has room for; returns the next one. */
static size_t add_tiles(const struct timeline *timeline, size_t thread, size_t tile,
			struct text *row)
{
	const size_t nr = timeline_nr_tiles(timeline, thread);
	while (tile < nr && row->size < ROW_BYTES) {
		char first[4], next[4];
		struct timeline_cell cell = timeline_tile(timeline, thread, tile++);
		size_t times = 1;
		encode_tile(&cell, first);
		for (; tile < nr; tile++, times++) {
			cell = timeline_tile(timeline, thread, tile);
			encode_tile(&cell, next);
			if (memcmp(first, next, sizeof(first)) != 0)
				break;
		}
		text_add_bytes(row, first, sizeof(first));
		if (times > 1)
			text_addf(row, "*%zu;", times);
	}
	return tile;
}

struct encoding {
	const struct timeline *timeline;
	const struct metadata_sink *sink; /* NULL: it is tried */
	size_t bytes, bytes_most, nr_rows, rows_most;
	struct text row;
};

/* 1: all of it; 0: there was no room for all; or -errno. */
static int encode_thread(struct encoding *encoding, size_t at)
{
	const struct timeline *timeline = encoding->timeline;
	const struct timeline_thread *thread = timeline_thread(timeline, at);
	const uint64_t tile_ns = timeline_tile_ns(timeline);
	struct text *row = &encoding->row;
	char key[KEY_BYTES];
	size_t tile = 0;
	while (tile < timeline_nr_tiles(timeline, at)) {
		if (encoding->bytes > encoding->bytes_most ||
		    encoding->nr_rows >= encoding->rows_most)
			return 0;
		text_clear(row);
		add_head(row, thread, timeline_tiles_from_ns(timeline, at) + tile * tile_ns,
			 shift_of(tile_ns));
		tile = add_tiles(timeline, at, tile, row);
		encoding->bytes += row->size;
		snprintf(key, sizeof(key), TIMELINE_FACTS_KEY "%zu", encoding->nr_rows++);
		const int result = row->failed	    ? -ENOMEM
				   : encoding->sink ? encoding->sink->add(encoding->sink->context,
									  key, text_string(row))
						    : 0;
		if (result)
			return result;
	}
	return 1;
}

/* Over within a tile: there is nothing to see of it. */
static bool is_brief(const struct timeline *timeline, const struct timeline_thread *thread)
{
	return thread->has_ended &&
	       thread->until_ns - thread->began_ns < timeline_tile_ns(timeline);
}

/* How many threads of each kind there was no room for: those that last come first. */
struct missing {
	size_t nr_lasting, nr_brief;
};

/* A thread that was known by samples alone is told by those again. */
static int encode(const struct timeline *timeline, unsigned nr_sources,
		  const struct metadata_sink *sink, struct missing *missing)
{
	struct encoding encoding = {
		.timeline = timeline,
		.sink = sink,
		.bytes_most = TIMELINE_FACTS_BYTES / nr_sources,
		.rows_most = ROWS_MOST / nr_sources,
	};
	int result = 0;
	*missing = (struct missing){0};
	for (int brief = 0; brief < 2 && result >= 0; brief++) {
		for (size_t i = 0; result >= 0 && i < timeline_nr_threads(timeline); i++) {
			const struct timeline_thread *thread = timeline_thread(timeline, i);
			if (!thread->has_stretches || is_brief(timeline, thread) != brief)
				continue;
			result = encode_thread(&encoding, i);
			*(brief ? &missing->nr_brief : &missing->nr_lasting) += result == 0;
		}
	}
	text_release(&encoding.row);
	return result < 0 ? result : 0;
}

int timeline_facts_add(struct timeline *timeline, unsigned nr_sources,
		       const struct metadata_sink *sink)
{
	char number[KEY_BYTES];
	struct missing missing;
	int result = encode(timeline, nr_sources, NULL, &missing);
	/* Of very many threads that last the heads alone are too much: the last of these are left out. */
	while (!result && missing.nr_lasting && timeline_tile_ns(timeline) < LONGEST_TILE_NS) {
		timeline_coarsen(timeline);
		result = encode(timeline, nr_sources, NULL, &missing);
	}
	if (!result)
		result = encode(timeline, nr_sources, sink, &missing);
	size_t nr_missing = missing.nr_lasting + missing.nr_brief;
	if (!result)
		result = timeline_wait_facts_add(timeline, nr_sources, sink);
	if (!result)
		result = timeline_event_facts_add(timeline, nr_sources, sink);
	if (!result)
		result = timeline_call_facts_add(timeline, nr_sources, sink);
	if (!result)
		result = timeline_cgroup_facts_add(timeline, nr_sources, sink);
	nr_missing += timeline_nr_forgotten(timeline);
	snprintf(number, sizeof(number), "%zu", nr_missing);
	return result || !nr_missing ? result : sink->add(sink->context, MISSING_KEY, number);
}

/* ---- read ---- */

struct head {
	int32_t pid, tid;
	uint64_t began_ns, until_ns, has_ended, shift, first;
	uint64_t ns[NR_THREAD_STATES], wait_ns[NR_WAIT_KINDS];
	char name[NAME_BYTES];
	uint64_t shift_ns; /* of its source */
};

/* Times of tiles are at most 2^62, so that nothing added to them overflows. */
static bool take_head(const char **at, struct head *head)
{
	bool is_good = take_id(at, &head->pid) && take_id(at, &head->tid) &&
		       take_number(at, UINT64_MAX, &head->began_ns) &&
		       take_number(at, UINT64_MAX, &head->until_ns) &&
		       take_number(at, UINT64_MAX, &head->has_ended) &&
		       take_number(at, UINT64_MAX, &head->shift) &&
		       take_number(at, UINT64_MAX, &head->first);
	for (size_t i = 0; is_good && i < NR_THREAD_STATES; i++)
		is_good = take_number(at, UINT64_MAX, &head->ns[state_order[i]]);
	for (size_t i = 0; is_good && i < NR_WAIT_KINDS; i++)
		is_good = take_number(at, UINT64_MAX, &head->wait_ns[wait_order[i]]);
	const size_t size = is_good ? strcspn(*at, "\n") : 0;
	if (!is_good || (*at)[size] != '\n' || head->began_ns > head->until_ns ||
	    head->until_ns > UINT64_C(1) << SHIFT_MOST || head->shift < SHIFT_LEAST ||
	    head->shift >= SHIFT_MOST || head->first > head->until_ns >> head->shift)
		return false;
	snprintf(head->name, sizeof(head->name), "%.*s", (int)size, *at);
	*at += size + 1;
	return true;
}

static bool take_tile(const char **at, unsigned share[THREAD_UNKNOWN], enum wait_kind *wait,
		      uint64_t *times)
{
	unsigned digits[4];
	for (int i = 0; i < 4; i++, (*at)++) {
		if (**at < DIGIT_ZERO || **at >= DIGIT_ZERO + DIGITS)
			return false;
		digits[i] = (unsigned)(**at - DIGIT_ZERO);
	}
	for (int i = 0; i < THREAD_UNKNOWN; i++)
		share[state_order[i]] = digits[i];
	*wait = digits[3] < NR_WAIT_KINDS ? wait_order[digits[3]] : WAIT_UNSEEN;
	*times = 1;
	if (**at != '*')
		return true;
	char *end;
	errno = 0;
	*times = strtoull(*at + 1, &end, 10);
	*at = end + 1;
	return !errno && *end == ';' && *times;
}

static int add_part(struct timeline *timeline, const struct head *head, enum thread_state state,
		    enum wait_kind wait, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = from_ns > head->began_ns ? from_ns : head->began_ns;
	to_ns = to_ns < head->until_ns ? to_ns : head->until_ns;
	const struct thread_stretch stretch = {
		.pid = head->pid,
		.tid = head->tid,
		.name = head->name,
		.from_ns = from_ns + head->shift_ns,
		.to_ns = to_ns + head->shift_ns,
		.state = state,
		.wait = state == THREAD_WAITS ? wait : WAIT_UNSEEN,
	};
	return from_ns < to_ns ? timeline_add(timeline, &stretch) : 0;
}

/* When in a tile a thread did what is not known: it waits last, so that a wait which goes on in the next tile is one. */
static int add_parts(struct timeline *timeline, const struct head *head, uint64_t from_ns,
		     const unsigned share[THREAD_UNKNOWN], enum wait_kind wait)
{
	const uint64_t tile_ns = UINT64_C(1) << head->shift;
	unsigned sum = 0;
	int result = 0;
	for (int i = 0; i < THREAD_UNKNOWN; i++)
		sum += share[i];
	sum = sum > DIGIT_MOST ? sum : DIGIT_MOST;
	uint64_t at_ns = from_ns;
	for (int i = 0; !result && i < THREAD_UNKNOWN; i++) {
		const uint64_t part_ns = (uint64_t)((double)tile_ns * share[state_order[i]] / sum);
		result = add_part(timeline, head, state_order[i], wait, at_ns, at_ns + part_ns);
		at_ns += part_ns;
	}
	return result;
}

/* Of one state alone: a wait of many tiles is one wait. -1: of none, or several. */
static int only_state(const unsigned share[THREAD_UNKNOWN])
{
	for (int i = 0; i < THREAD_UNKNOWN; i++)
		if (share[i] == DIGIT_MOST)
			return i;
	return -1;
}

/* number: the first one; behind the last one, then. parts: how many of several states there may still be. */
static int read_tiles(struct timeline *timeline, const struct head *head, const char *at,
		      uint64_t *number_of, size_t *parts)
{
	const uint64_t tile_ns = UINT64_C(1) << head->shift;
	const uint64_t end = (head->until_ns >> head->shift) + 1;
	uint64_t number = *number_of, times;
	unsigned share[THREAD_UNKNOWN];
	enum wait_kind wait;
	int result = 0;
	while (!result && *at && number < end && take_tile(&at, share, &wait, &times)) {
		times = times < end - number ? times : end - number;
		const int state = only_state(share);
		if (state >= 0)
			result = add_part(timeline, head, (enum thread_state)state, wait,
					  number * tile_ns, (number + times) * tile_ns);
		else if (share[0] + share[1] + share[2])
			for (uint64_t i = 0; !result && i < times && *parts; i++, --*parts)
				result = add_parts(timeline, head, (number + i) * tile_ns, share,
						   wait);
		number += times;
	}
	*number_of = number;
	return result;
}

static int end_thread(struct timeline *timeline, const struct head *head)
{
	const struct thread_stretch stretch = {
		.pid = head->pid,
		.tid = head->tid,
		.from_ns = head->until_ns + head->shift_ns,
		.to_ns = head->until_ns + head->shift_ns,
		.state = THREAD_UNKNOWN,
		.ends = head->has_ended != 0,
	};
	timeline_set_sums(timeline, head->pid, head->tid, head->ns, head->wait_ns);
	return timeline_add(timeline, &stretch);
}

static bool can_be_moved(const struct rows_source *source, const struct head *head)
{
	uint64_t began_ns = head->began_ns, until_ns = head->until_ns;
	return rows_shift(source, &began_ns) && rows_shift(source, &until_ns) &&
	       began_ns <= until_ns;
}

static uint64_t number_of(const struct history *history, const char *key)
{
	const char *text = history_info(history, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static int read_threads(const struct rows_source *source, size_t *parts)
{
	struct timeline *timeline = source->timeline;
	struct head head, last = {0};
	char key[KEY_BYTES];
	uint64_t number = 0;
	int result = 0;
	for (size_t i = 0; !result && i < ROWS_MOST; i++) {
		const char *at = rows_of_source(source, NAME, i);
		if (!at)
			break;
		head = (struct head){.shift_ns = source->shift_ns};
		if (!take_head(&at, &head) || !can_be_moved(source, &head))
			continue;
		const bool is_next = !last.until_ns || head.pid != last.pid ||
				     head.tid != last.tid || head.began_ns != last.began_ns ||
				     head.shift != last.shift;
		if (!is_next && head.first < number)
			continue; /* it was told already */
		if (is_next && last.until_ns)
			result = end_thread(timeline, &last);
		/* Nothing is known better than it was recorded. */
		while (!last.until_ns && timeline_tile_ns(timeline) < UINT64_C(1) << head.shift)
			timeline_coarsen(timeline);
		if (!result && is_next)
			result = timeline_begin_recorded(timeline, head.pid, head.tid, head.name,
							 head.began_ns + head.shift_ns);
		number = head.first;
		if (!result)
			result = read_tiles(timeline, &head, at, &number, parts);
		last = head;
	}
	snprintf(key, sizeof(key), "%s" MISSING_KEY, source->prefix);
	timeline_miss_threads(timeline, number_of(source->history, key));
	return result || !last.until_ns ? result : end_thread(timeline, &last);
}

/* Threads are those of that one from now on. */
static struct rows_source source_of(const struct history *history, uint32_t run)
{
	struct rows_source source = {
		.history = history, .timeline = history_timeline(history), .run = run};
	char key[KEY_BYTES];
	timeline_set_run(source.timeline, run);
	if (!run)
		return source;
	snprintf(source.prefix, sizeof(source.prefix), "source.%" PRIu32 ".", run);
	snprintf(key, sizeof(key), "%sshift_ns", source.prefix);
	source.shift_ns = number_of(history, key);
	return source;
}

int timeline_facts_read(struct history *history)
{
	struct timeline *timeline = history_timeline(history);
	const uint64_t nr = number_of(history, "sources");
	const uint32_t first = nr > 0, end = (uint32_t)(nr < SOURCES_MOST ? nr : SOURCES_MOST) + 1;
	size_t parts = PARTS_MOST;
	bool has_waits = false;
	int result = 0;
	if (!timeline)
		return 0;
	for (uint32_t run = first; !result && run < end; run++) {
		const struct rows_source source = source_of(history, run);
		result = read_threads(&source, &parts);
		has_waits |= timeline_wait_facts_are_there(&source);
	}
	timeline_end_recorded(timeline);
	if (has_waits)
		timeline_forget_waits(timeline);
	for (uint32_t run = first; !result && run < end; run++) {
		const struct rows_source source = source_of(history, run);
		timeline_wait_facts_read(&source);
		timeline_event_facts_read(&source);
		timeline_call_facts_read(&source);
		timeline_cgroup_facts_read(&source);
	}
	return result;
}
