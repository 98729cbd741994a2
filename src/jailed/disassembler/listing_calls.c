/* SPDX-License-Identifier: MIT */
/*
 * Which functions were inlined at the instructions of a listing, and by which calls. A call is told once, however many pieces of the code
 * come from it: those that are of the same function, at the same place, in the same call, are one. Where more are wanted than
 * there is room for, that is told.
 */
#include "listing_maker.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/hash.h>
#include <ctop/base/vec.h>

/* 1 + row of names; 0: none, or there is no room. */
static uint32_t find_name(struct maker *maker, const char *text)
{
	struct listing_answer *answer = maker->answer;
	struct index *index = &maker->calls.names;
	const uint64_t hash = hash_bytes(text, strlen(text));
	struct index_probe probe = index_find(index, hash);
	uint32_t row;
	if (!text[0])
		return 0;
	while (index_next(index, &probe, &row))
		if (!strcmp(maker->strings + maker->names[row], text))
			return row + 1;
	const bool has_room =
		answer->nr_names < LISTING_NAMES_MAX && strlen(text) < LISTING_NAME_MAX;
	const uint32_t at = has_room && !index_reserve(index) ? listing_add_string(maker, text) : 0;
	if (!at) {
		answer->lacks_calls = 1;
		return 0;
	}
	maker->names[answer->nr_names] = at;
	index_add(index, hash, answer->nr_names);
	return ++answer->nr_names;
}

static uint64_t content_hash(const struct listing_call *call)
{
	return hash_two((uint64_t)call->outer << 32 | call->function,
			(uint64_t)call->file << 32 | call->line);
}

static bool is_same(const struct listing_call *a, const struct listing_call *b)
{
	return a->outer == b->outer && a->function == b->function && a->file == b->file &&
	       a->line == b->line;
}

/* 1 + row of calls; 0: there is no room. */
static uint32_t add_content(struct maker *maker, const struct listing_call *call)
{
	struct listing_answer *answer = maker->answer;
	struct index *index = &maker->calls.by_content;
	const uint64_t hash = content_hash(call);
	struct index_probe probe = index_find(index, hash);
	uint32_t row;
	while (index_next(index, &probe, &row))
		if (is_same(&maker->inlined[row], call))
			return row + 1;
	if (answer->nr_calls == LISTING_CALLS_MAX || index_reserve(index)) {
		answer->lacks_calls = 1;
		return 0;
	}
	maker->inlined[answer->nr_calls] = *call;
	index_add(index, hash, answer->nr_calls);
	return ++answer->nr_calls;
}

static uint32_t find_call(struct maker *maker, uint64_t id, unsigned nr_inside);

/* 1 + row of calls; 0: it, or one that it was put into, is not known. */
static uint32_t make_call(struct maker *maker, uint64_t id, unsigned nr_inside)
{
	struct source_call found;
	struct listing_call call = {.depth = 1};
	/* Names of others are looked up before this one's, whose strings last until then. */
	if (nr_inside == LISTING_DEPTH_MAX || !file_lines_call(&maker->file, id, &found))
		return 0;
	if (found.outer) {
		call.outer = find_call(maker, found.outer, nr_inside + 1);
		if (!call.outer || maker->inlined[call.outer - 1].depth == LISTING_DEPTH_MAX ||
		    !file_lines_call(&maker->file, id, &found))
			return 0;
		call.depth = maker->inlined[call.outer - 1].depth + 1;
	}
	/* Its name is in a file that is not at hand, dwz's: the profile may know more. */
	if (!found.function[0])
		return 0;
	call.function = find_name(maker, name_cache_show(maker->demangled, found.function, false));
	call.file = find_name(maker, base_name(found.file));
	call.line = call.file ? found.line : 0;
	return add_content(maker, &call);
}

static uint32_t find_call(struct maker *maker, uint64_t id, unsigned nr_inside)
{
	struct calls_maker *calls = &maker->calls;
	struct index_probe probe = index_find(&calls->by_id, hash_u64(id));
	uint32_t at;
	while (index_next(&calls->by_id, &probe, &at))
		if (calls->known.items[at].id == id)
			return calls->known.items[at].row;
	const uint32_t row = make_call(maker, id, nr_inside);
	if (vec_reserve(&calls->known, calls->known.nr + 1) || index_reserve(&calls->by_id))
		return row; /* and is looked up again */
	index_add(&calls->by_id, hash_u64(id), (uint32_t)calls->known.nr);
	calls->known.items[calls->known.nr++] = (struct calls_known){id, row};
	return row;
}

/* It is asked for, if nothing else is. */
static void tell_lacking(struct maker *maker, uint64_t address)
{
	struct listing_answer *answer = maker->answer;
	enum debug_file which;
	uint64_t unit;
	if (answer->lacks_unit ||
	    !file_lines_lack_split(&maker->files, &maker->file, address, &unit, &which))
		return;
	answer->lacks_unit = unit;
	answer->lacks_of_debug = which == DEBUG_FILE_SPLIT_OF_DEBUG;
}

void listing_add_call(struct maker *maker, struct listing_row *row)
{
	struct calls_maker *calls = &maker->calls;
	if (!calls->may_have_any)
		return;
	if (row->address >= calls->at.end) {
		tell_lacking(maker, row->address);
		const bool is_known =
			file_lines_inlined(&maker->files, &maker->file, row->address, &calls->at);
		calls->at_row =
			is_known && calls->at.call ? find_call(maker, calls->at.call, 0) : 0;
		maker->answer->lacks_calls |= calls->at.is_too_much;
		if (calls->at.end <= row->address)
			calls->at.end = row->address + 1;
	}
	row->call = calls->at_row;
}

void listing_calls_release(struct calls_maker *calls)
{
	index_release(&calls->by_id);
	index_release(&calls->by_content);
	index_release(&calls->names);
	free(calls->known.items);
}
