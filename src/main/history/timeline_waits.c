/* SPDX-License-Identifier: MIT */
/* The longest waits of all threads. */
#include "timeline_internal.h"

#include <stdlib.h>
#include <string.h>

static uint64_t length_of(const struct past_wait *wait)
{
	return wait->at.to_ns - wait->at.time_ns;
}

/* Sorted; those that are too short for the list cost one comparison. */
static void keep(struct timeline *timeline, const struct past_wait *wait)
{
	size_t at = timeline->nr_waits;
	if (at == TIMELINE_WAITS && length_of(wait) <= length_of(&timeline->waits[at - 1]))
		return;
	if (at == TIMELINE_WAITS)
		at--;
	else
		timeline->nr_waits++;
	for (; at && length_of(&timeline->waits[at - 1]) < length_of(wait); at--)
		timeline->waits[at] = timeline->waits[at - 1];
	timeline->waits[at] = *wait;
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
		keep(timeline, &over);
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
	timeline->nr_waits = 0;
	for (size_t i = 0; i < timeline->rows.nr; i++)
		timeline->rows.items[i].waits = false;
}

void timeline_put_wait(struct timeline *timeline, const struct timeline_moment *wait)
{
	const struct past_wait past = {timeline->rows.items[wait->row].thread.serial, *wait};
	keep(timeline, &past);
}

size_t timeline_longest_waits(const struct timeline *timeline,
			      struct timeline_moment waits[TIMELINE_WAITS])
{
	/* Those that are over, and among them those that go on. */
	struct timeline all = {.nr_waits = timeline->nr_waits};
	size_t nr = 0;
	memcpy(all.waits, timeline->waits, sizeof(all.waits));
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		if (!timeline->rows.items[i].waits)
			continue;
		const struct past_wait wait = in_hand(&timeline->rows.items[i]);
		keep(&all, &wait);
	}
	for (size_t i = 0; i < all.nr_waits; i++) {
		const size_t row = timeline_row_of(timeline, all.waits[i].serial);
		if (row == SIZE_MAX)
			continue;
		waits[nr] = all.waits[i].at;
		waits[nr++].row = row;
	}
	return nr;
}
