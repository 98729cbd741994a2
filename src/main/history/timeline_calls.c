/* SPDX-License-Identifier: MIT */
/*
 * Which system calls threads were in: each one where they are recorded, else waits as looks have seen them. Where there are too many those shorter than some power of two are forgotten: nothing is said
 * of these, and what is said of others stays exact.
 */
#include "timeline_internal.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* With what is waited for; of very many things the call alone is told. NAMES_SHARE: of the bytes for calls. */
enum { OBJECTS_MOST = 1024, NAMES_MOST = 2048, NAMES_SHARE = 4 };
enum { NAME_BYTES_MOST = 512, FIRST_SHIFT = 10 };
#define NO_NAME UINT32_MAX

static uint64_t bytes_most(const struct timeline *timeline)
{
	return timeline->bytes_most / TIMELINE_CALLS_SHARE;
}

/* ---- names ---- */

static uint32_t find_or_add_name(struct timeline *timeline, const char *name, size_t size,
				 size_t most)
{
	const uint64_t hash = hash_bytes(name, size);
	struct index_probe probe = index_find(&timeline->by_call_name, hash);
	uint32_t row;
	while (index_next(&timeline->by_call_name, &probe, &row))
		if (!strncmp(timeline->call_names.items[row], name, size) &&
		    !timeline->call_names.items[row][size])
			return row;
	if (timeline->call_names.nr >= most || size > NAME_BYTES_MOST ||
	    timeline->call_name_bytes + size >= bytes_most(timeline) / NAMES_SHARE ||
	    vec_reserve(&timeline->call_names, timeline->call_names.nr + 1) ||
	    index_reserve(&timeline->by_call_name))
		return NO_NAME;
	char *copy = strndup(name, size);
	if (!copy)
		return NO_NAME;
	row = (uint32_t)timeline->call_names.nr;
	index_add(&timeline->by_call_name, hash, row);
	timeline->call_names.items[timeline->call_names.nr++] = copy;
	timeline->call_name_bytes += size + 1;
	return row;
}

static uint32_t number_of_name(struct timeline *timeline, const char *name)
{
	const size_t size = strlen(name), call_size = strcspn(name, ",");
	const uint32_t whole =
		size > call_size ? find_or_add_name(timeline, name, size, OBJECTS_MOST) : NO_NAME;
	return whole != NO_NAME ? whole : find_or_add_name(timeline, name, call_size, NAMES_MOST);
}

void timeline_forget_call_names(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->call_names.nr; i++)
		free(timeline->call_names.items[i]);
	timeline->call_names.nr = 0;
	timeline->call_name_bytes = 0;
	index_clear(&timeline->by_call_name);
}

/* ---- spans ---- */

static struct timeline_lists lists_of(struct timeline *timeline)
{
	const uint64_t most = bytes_most(timeline);
	return (struct timeline_lists){
		.item_bytes = sizeof(struct call_span),
		.bytes = &timeline->call_bytes,
		.bytes_most = most - most / NAMES_SHARE,
		.shift = &timeline->calls_shift,
		.thin_out = timeline_forget_short_calls,
	};
}

static void forget_short(struct timeline *timeline, struct timeline_row *row)
{
	const struct timeline_lists lists = lists_of(timeline);
	struct call_span *calls = row->calls.items;
	uint32_t nr = 0;
	for (uint32_t i = 0; i < row->calls.nr; i++)
		if (calls[i].to_ns - calls[i].from_ns >= timeline_calls_ns(timeline))
			calls[nr++] = calls[i];
	row->calls.nr = nr;
	timeline_list_trim(&lists, &row->calls);
}

void timeline_forget_short_calls(struct timeline *timeline)
{
	timeline->calls_shift =
		timeline->calls_shift < FIRST_SHIFT ? FIRST_SHIFT : timeline->calls_shift + 1;
	for (size_t i = 0; i < timeline->rows.nr; i++)
		forget_short(timeline, &timeline->rows.items[i]);
}

/* NULL: there is none. */
static struct call_span *last_call(const struct timeline_row *row)
{
	struct call_span *calls = row->calls.items;
	return row->calls.nr ? &calls[row->calls.nr - 1] : NULL;
}

static size_t call_size(const struct timeline *timeline, uint32_t name)
{
	return strcspn(timeline->call_names.items[name], ",");
}

static bool is_same_call(const struct timeline *timeline, uint32_t a, uint32_t b)
{
	const size_t size = call_size(timeline, a);
	return size == call_size(timeline, b) &&
	       !memcmp(timeline->call_names.items[a], timeline->call_names.items[b], size);
}

/* Waits in it that looks have seen become a part of the call, which takes over what they waited for. Returns its name. */
static uint32_t take_waits(const struct timeline *timeline, struct timeline_row *row,
			   uint64_t from_ns, uint32_t name)
{
	const struct call_span *last;
	while ((last = last_call(row)) && !last->is_whole && last->to_ns > from_ns) {
		if (is_same_call(timeline, last->name, name))
			name = last->name;
		row->calls.nr--;
	}
	return name;
}

void timeline_note_call(struct timeline *timeline, struct timeline_row *row,
			const struct timeline_call *call)
{
	const struct timeline_lists lists = lists_of(timeline);
	struct call_span *last = last_call(row);
	const uint64_t from_ns = call->from_ns, to_ns = call->to_ns;
	if (last && !call->is_whole && !last->is_whole && last->from_ns == from_ns &&
	    to_ns >= last->to_ns) {
		last->to_ns = to_ns;
		return;
	}
	if (from_ns >= to_ns || to_ns - from_ns < timeline_calls_ns(timeline))
		return;
	uint32_t name = number_of_name(timeline, call->name);
	if (name != NO_NAME && call->is_whole)
		name = take_waits(timeline, row, from_ns, name);
	last = last_call(row);
	if ((last && from_ns < last->to_ns) || name == NO_NAME ||
	    !timeline_list_make_room(&lists, timeline, &row->calls))
		return;
	((struct call_span *)row->calls.items)[row->calls.nr++] =
		(struct call_span){from_ns, to_ns, name, call->is_whole};
}

void timeline_count_calls(struct timeline *timeline, size_t row, uint64_t nr_calls)
{
	timeline->rows.items[row].thread.nr_calls = nr_calls;
}

void timeline_put_call(struct timeline *timeline, size_t row, const struct timeline_call *call)
{
	timeline_note_call(timeline, &timeline->rows.items[row], call);
}

void timeline_free_calls(struct timeline *timeline, struct timeline_row *row)
{
	const struct timeline_lists lists = lists_of(timeline);
	timeline_list_free(&lists, &row->calls);
}

/* ---- asking ---- */

uint64_t timeline_calls_ns(const struct timeline *timeline)
{
	return UINT64_C(1) << timeline->calls_shift;
}

size_t timeline_nr_calls(const struct timeline *timeline, size_t row)
{
	return timeline->rows.items[row].calls.nr;
}

struct timeline_call timeline_call_at(const struct timeline *timeline, size_t row, size_t call)
{
	const struct call_span *calls = timeline->rows.items[row].calls.items;
	const struct call_span *at = &calls[call];
	return (struct timeline_call){at->from_ns, at->to_ns, at->is_whole,
				      timeline->call_names.items[at->name]};
}

/* The first one that ends behind a moment. */
static size_t first_call(const struct timeline_row *row, uint64_t from_ns)
{
	const struct call_span *calls = row->calls.items;
	size_t low = 0, high = row->calls.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (calls[middle].to_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool timeline_call_in(const struct timeline *timeline, size_t row, uint64_t from_ns, uint64_t to_ns,
		      struct timeline_call *call)
{
	const struct timeline_row *of = &timeline->rows.items[row];
	const struct call_span *calls = of->calls.items;
	uint64_t most_ns = 0;
	for (size_t i = first_call(of, from_ns); i < of->calls.nr; i++) {
		const struct call_span *span = &calls[i];
		if (span->from_ns >= to_ns)
			break;
		const uint64_t from = span->from_ns > from_ns ? span->from_ns : from_ns;
		const uint64_t to = span->to_ns < to_ns ? span->to_ns : to_ns;
		if (to - from <= most_ns)
			continue;
		most_ns = to - from;
		*call = timeline_call_at(timeline, row, i);
	}
	return most_ns > 0;
}
