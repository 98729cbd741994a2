/* SPDX-License-Identifier: MIT */
/* The longest waits of all threads. */
#include "timeline_internal.h"

#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

enum { LEAST_WAITS = 64 };

static uint64_t length_of(const struct past_wait *wait)
{
	return wait->at.to_ns - wait->at.time_ns;
}

/* Into a list of so many at most, the longest first. One that is too short for a full list costs a comparison. */
static void keep(struct past_wait *waits, size_t *nr, size_t most, const struct past_wait *wait)
{
	size_t at = *nr;
	if (at == most && length_of(wait) <= length_of(&waits[at - 1]))
		return;
	if (at == most)
		at--;
	else
		++*nr;
	for (; at && length_of(&waits[at - 1]) < length_of(wait); at--)
		waits[at] = waits[at - 1];
	waits[at] = *wait;
}

/* A 32nd of the memory, within bounds. */
static size_t most_of(const struct timeline *timeline)
{
	const uint64_t most = timeline->bytes_most / 32 / sizeof(*timeline->waits.items);
	return most < LEAST_WAITS ? LEAST_WAITS : most < TIMELINE_WAITS ? most : TIMELINE_WAITS;
}

/* Without memory the shortest one gives way. */
static void keep_over(struct timeline *timeline, const struct past_wait *wait)
{
	size_t most = most_of(timeline);
	if (timeline->waits.nr < most && vec_reserve(&timeline->waits, timeline->waits.nr + 1))
		most = timeline->waits.nr;
	if (most)
		keep(timeline->waits.items, &timeline->waits.nr, most, wait);
}

static struct past_wait in_hand(const struct timeline_row *row)
{
	return (struct past_wait){row->thread.serial, row->wait};
}

void timeline_follow_wait(struct timeline *timeline, struct timeline_row *row,
			  const struct thread_stretch *stretch)
{
	const bool waits = stretch->state == THREAD_WAITS;
	const struct timeline_moment before = row->wait;
	const bool goes_on = waits && row->waits && stretch->from_ns == before.to_ns;
	if (row->waits && !goes_on) {
		const struct past_wait over = in_hand(row);
		keep_over(timeline, &over);
	}
	row->waits = waits;
	row->wait = (struct timeline_moment){
		.time_ns = goes_on ? before.time_ns : stretch->from_ns,
		.to_ns = stretch->to_ns,
		.wait = goes_on && stretch->wait == WAIT_UNSEEN ? before.wait : stretch->wait,
		.is_woken = stretch->is_woken,
		.waker_tid = stretch->waker_tid,
	};
	if (waits && stretch->call && stretch->call[0])
		timeline_note_call(timeline, row,
				   &(struct timeline_call){row->wait.time_ns, stretch->to_ns, false,
							   stretch->call});
}

void timeline_forget_waits(struct timeline *timeline)
{
	timeline->waits.nr = 0;
	for (size_t i = 0; i < timeline->rows.nr; i++)
		timeline->rows.items[i].waits = false;
}

void timeline_put_wait(struct timeline *timeline, const struct timeline_moment *wait)
{
	const struct past_wait past = {timeline->rows.items[wait->row].thread.serial, *wait};
	keep_over(timeline, &past);
}

size_t timeline_longest_waits(const struct timeline *timeline,
			      struct timeline_moment waits[TIMELINE_WAITS])
{
	/* Those that are over, and among them those that go on. */
	struct past_wait all[TIMELINE_WAITS];
	size_t nr_all = timeline->waits.nr, nr = 0;
	if (nr_all)
		memcpy(all, timeline->waits.items, nr_all * sizeof(*all));
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		if (!timeline->rows.items[i].waits)
			continue;
		const struct past_wait wait = in_hand(&timeline->rows.items[i]);
		keep(all, &nr_all, TIMELINE_WAITS, &wait);
	}
	for (size_t i = 0; i < nr_all; i++) {
		const size_t row = timeline_row_of(timeline, all[i].serial);
		if (row == SIZE_MAX)
			continue;
		waits[nr] = all[i].at;
		waits[nr++].row = row;
	}
	return nr;
}
