/* SPDX-License-Identifier: MIT */
/* What threads did in a stretch of time, as their tiles have it. */
#include "timeline_internal.h"

static uint64_t overlap_ns(uint64_t from_ns, uint64_t to_ns, uint64_t other_from_ns,
			   uint64_t other_to_ns)
{
	const uint64_t from = from_ns > other_from_ns ? from_ns : other_from_ns;
	const uint64_t to = to_ns < other_to_ns ? to_ns : other_to_ns;
	return to > from ? to - from : 0;
}

/* When in a tile a thread did what is not known: of a part of one it is that part of each. */
static void add_row(struct timeline *timeline, size_t row, uint64_t from_ns, uint64_t to_ns,
		    struct timeline_states *states)
{
	const struct timeline_thread *thread = timeline_thread(timeline, row);
	const uint64_t lived_ns = overlap_ns(from_ns, to_ns, thread->began_ns, thread->until_ns);
	const uint64_t tile_ns = timeline_tile_ns(timeline);
	const size_t nr = timeline_nr_tiles(timeline, row);
	const uint64_t first_ns = nr ? timeline_tiles_from_ns(timeline, row) : 0;
	uint64_t known_ns = 0;
	const uint64_t before = from_ns > first_ns ? (from_ns - first_ns) / tile_ns : 0;
	for (uint64_t i = before; i < nr && first_ns + i * tile_ns < to_ns; i++) {
		const struct timeline_cell tile = timeline_tile(timeline, row, (size_t)i);
		const uint64_t at_ns = first_ns + i * tile_ns;
		const double part = (double)overlap_ns(from_ns, to_ns, at_ns, at_ns + tile_ns);
		for (int state = 0; state < THREAD_UNKNOWN; state++) {
			const uint64_t ns = (uint64_t)(part * tile.share[state] / UINT8_MAX);
			states->ns[state] += ns;
			known_ns += ns;
		}
	}
	states->ns[THREAD_UNKNOWN] += lived_ns > known_ns ? lived_ns - known_ns : 0;
	states->lived_ns += lived_ns;
}

bool timeline_states_in(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t from_ns,
			uint64_t to_ns, struct timeline_states *states)
{
	*states = (struct timeline_states){0};
	for (size_t i = 0; i < timeline_nr_threads(timeline); i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		if (thread->has_stretches && thread->pid == pid && (tid < 0 || thread->tid == tid))
			add_row(timeline, i, from_ns, to_ns, states);
	}
	return states->lived_ns > 0;
}
