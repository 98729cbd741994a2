/* SPDX-License-Identifier: MIT */
/* The tiles of a thread: a tile of time is counted in nanoseconds while stretches come for it, and rounded to shares when they go on to the next. */
#include "timeline_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_LEAST = 8, MOST_SHIFT = 62 };

static uint64_t length(const struct timeline *timeline)
{
	return UINT64_C(1) << timeline->shift;
}

/* ---- the tile in hand ---- */

/* What is there is not nothing, however short it was. */
static unsigned share_of(uint64_t ns, uint64_t whole_ns, unsigned most)
{
	if (!ns)
		return 0;
	const double share = (double)ns / (double)whole_ns * TILE_WHOLE + 0.5;
	const unsigned rounded = share < 1 ? 1 : share < TILE_WHOLE ? (unsigned)share : TILE_WHOLE;
	return rounded < most ? rounded : most;
}

static enum wait_kind most_of(const uint64_t ns[NR_WAIT_KINDS])
{
	int most = WAIT_UNSEEN;
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		if (ns[kind] > ns[most])
			most = kind;
	return (enum wait_kind)most;
}

static void set_kind(struct tile *tile, enum wait_kind kind)
{
	tile->flags = (uint8_t)((tile->flags & ~(unsigned)TILE_KIND) | (unsigned)kind);
}

void timeline_close_tile(const struct timeline *timeline, struct timeline_row *row)
{
	unsigned left = TILE_WHOLE;
	if (!row->has_open)
		return;
	struct tile *tile = &row->tiles[row->open];
	for (int state = 0; state < THREAD_UNKNOWN; state++) {
		tile->share[state] = (uint8_t)share_of(row->open_ns[state], length(timeline), left);
		left -= tile->share[state];
	}
	set_kind(tile, most_of(row->open_wait_ns));
}

/* From shares: what is rounded stays so. */
static void open_tile(const struct timeline *timeline, struct timeline_row *row, uint32_t at)
{
	if (row->has_open && row->open == at)
		return;
	timeline_close_tile(timeline, row);
	const struct tile *tile = &row->tiles[at];
	row->has_open = true;
	row->open = at;
	for (int state = 0; state < THREAD_UNKNOWN; state++)
		row->open_ns[state] = length(timeline) / TILE_WHOLE * tile->share[state];
	memset(row->open_wait_ns, 0, sizeof(row->open_wait_ns));
	row->open_wait_ns[tile->flags & TILE_KIND] = row->open_ns[THREAD_WAITS];
}

/* ---- room ---- */

static int resize(struct timeline *timeline, struct timeline_row *row, size_t capacity)
{
	struct tile *tiles = reallocarray(row->tiles, capacity, sizeof(*tiles));
	if (!tiles)
		return -ENOMEM;
	timeline->tile_bytes += (capacity - (uint64_t)row->capacity) * sizeof(*tiles);
	row->tiles = tiles;
	row->capacity = (uint32_t)capacity;
	return 0;
}

/* Two neighbours as one: the sampled stack, and the kind of more of the waiting. */
static struct tile join(const struct tile *a, const struct tile *b)
{
	const bool takes_b = !a->stack || (b->stack && a->flags & TILE_STACK_WAITS &&
					   !(b->flags & TILE_STACK_WAITS));
	const struct tile *seen = takes_b ? b : a;
	struct tile joined = {.stack = seen->stack,
			      .flags = (uint8_t)(seen->flags & TILE_STACK_WAITS)};
	for (int state = 0; state < THREAD_UNKNOWN; state++) {
		const unsigned sum = a->share[state] + b->share[state];
		joined.share[state] = (uint8_t)(state == THREAD_COMPUTES ? (sum + 1) / 2 : sum / 2);
	}
	const struct tile *longer = b->share[THREAD_WAITS] > a->share[THREAD_WAITS] ? b : a;
	set_kind(&joined, (enum wait_kind)(longer->flags & TILE_KIND));
	return joined;
}

static void coarsen_row(struct timeline *timeline, struct timeline_row *row)
{
	static const struct tile none;
	const uint64_t first = row->first / 2;
	uint32_t nr = 0;
	timeline_close_tile(timeline, row);
	row->has_open = false;
	for (uint32_t i = 0; i < row->nr; nr++) {
		const bool is_half = (row->first + i) % 2;
		const struct tile *a = is_half ? &none : &row->tiles[i++];
		const struct tile *b = i < row->nr ? &row->tiles[i++] : &none;
		row->tiles[nr] = join(a, b);
	}
	row->first = first;
	row->nr = nr;
	if (row->capacity > CAPACITY_LEAST && nr + nr / 8 < row->capacity)
		(void)resize(timeline, row,
			     nr + nr / 8 > CAPACITY_LEAST ? nr + nr / 8 : CAPACITY_LEAST);
}

void timeline_coarsen(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->rows.nr; i++)
		coarsen_row(timeline, &timeline->rows.items[i]);
	timeline->shift++;
	timeline->nr_coarser++;
}

/* How many tiles the row may have, as others are. */
static uint64_t room_for(const struct timeline *timeline, const struct timeline_row *row)
{
	const uint64_t rows = timeline->rows.capacity * sizeof(*timeline->rows.items) +
			      timeline->waits.capacity * sizeof(*timeline->waits.items);
	const uint64_t others = timeline->tile_bytes - row->capacity * sizeof(struct tile) + rows;
	const uint64_t most = timeline->bytes_most - timeline->bytes_most / TIMELINE_EVENTS_SHARE -
			      timeline->bytes_most / TIMELINE_CALLS_SHARE;
	return others < most ? (most - others) / sizeof(struct tile) : 0;
}

/* The row's tiles reach from one moment to another. Where there is no room for so many they become longer. */
static int reach(struct timeline *timeline, struct timeline_row *row, uint64_t from_ns,
		 uint64_t to_ns)
{
	for (;; timeline_coarsen(timeline)) {
		const uint64_t from = timeline_number_of(timeline, from_ns);
		const uint64_t to = timeline_number_of(timeline, to_ns);
		const uint64_t first = row->nr && row->first < from ? row->first : from;
		const uint64_t end =
			row->nr && row->first + row->nr > to ? row->first + row->nr : to + 1;
		const uint64_t wanted = end - first;
		if (wanted > row->capacity) {
			const uint64_t room = room_for(timeline, row);
			if (wanted > CAPACITY_LEAST && wanted > room &&
			    timeline->shift < MOST_SHIFT)
				continue;
			/* Half of what is left at most: near the bound a row still grows by few steps. */
			const uint64_t spare = wanted < room ? (room - wanted) / 2 : 0;
			const uint64_t more = wanted + (wanted / 4 < spare ? wanted / 4 : spare);
			if (resize(timeline, row, more > CAPACITY_LEAST ? more : CAPACITY_LEAST))
				return -ENOMEM;
		}
		const uint64_t before = row->nr ? row->first - first : 0;
		if (before) {
			memmove(row->tiles + before, row->tiles, row->nr * sizeof(*row->tiles));
			memset(row->tiles, 0, before * sizeof(*row->tiles));
			row->open += (uint32_t)before;
		}
		memset(row->tiles + before + row->nr, 0,
		       (wanted - before - row->nr) * sizeof(*row->tiles));
		row->first = first;
		row->nr = (uint32_t)wanted;
		return 0;
	}
}

void timeline_free_tiles(struct timeline *timeline, struct timeline_row *row)
{
	timeline->tile_bytes -= row->capacity * sizeof(*row->tiles);
	free(row->tiles);
	row->tiles = NULL;
	row->nr = row->capacity = 0;
	row->has_open = false;
}

/* ---- filling ---- */

static void fill_part(const struct timeline *timeline, struct timeline_row *row, uint32_t at,
		      enum thread_state state, enum wait_kind wait, uint64_t ns)
{
	open_tile(timeline, row, at);
	row->open_ns[state] += ns;
	if (state == THREAD_WAITS)
		row->open_wait_ns[wait] += ns;
}

int timeline_fill(struct timeline *timeline, struct timeline_row *row, enum thread_state state,
		  enum wait_kind wait, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns >= to_ns)
		return 0;
	if (reach(timeline, row, from_ns, to_ns - 1))
		return -ENOMEM;
	if (state == THREAD_UNKNOWN)
		return 0;
	const uint64_t last = timeline_number_of(timeline, to_ns - 1);
	uint64_t at_ns = from_ns;
	for (uint64_t number = timeline_number_of(timeline, from_ns); number <= last; number++) {
		const uint32_t at = (uint32_t)(number - row->first);
		const uint64_t end_ns =
			number < last ? timeline_start_of(timeline, number + 1) : to_ns;
		if (end_ns - at_ns < length(timeline)) {
			fill_part(timeline, row, at, state, wait, end_ns - at_ns);
		} else {
			if (row->has_open && row->open == at)
				row->has_open = false;
			memset(row->tiles[at].share, 0, sizeof(row->tiles[at].share));
			row->tiles[at].share[state] = TILE_WHOLE;
			set_kind(&row->tiles[at], state == THREAD_WAITS ? wait : WAIT_UNSEEN);
		}
		at_ns = end_ns;
	}
	return 0;
}

int timeline_fill_stack(struct timeline *timeline, struct timeline_row *row, uint32_t stack,
			bool is_wait, uint64_t from_ns, uint64_t to_ns)
{
	if (reach(timeline, row, from_ns, to_ns))
		return -ENOMEM;
	const uint64_t last = timeline_number_of(timeline, to_ns);
	for (uint64_t number = timeline_number_of(timeline, from_ns); number <= last; number++) {
		struct tile *tile = &row->tiles[number - row->first];
		/* How long a wait was may be an estimate: what is known of earlier ones stays. */
		const bool is_known =
			tile->stack && (number < last || !(tile->flags & TILE_STACK_WAITS));
		if (is_wait && is_known)
			continue;
		tile->stack = stack + 1;
		tile->flags = (uint8_t)((tile->flags & ~(unsigned)TILE_STACK_WAITS) |
					(is_wait ? (unsigned)TILE_STACK_WAITS : 0));
	}
	return 0;
}

void timeline_cut_tiles(const struct timeline *timeline, struct timeline_row *row, uint64_t from_ns)
{
	const uint64_t from = timeline_number_of(timeline, from_ns);
	if (!row->nr || row->first >= from)
		return;
	const uint64_t before = from - row->first < row->nr ? from - row->first : row->nr;
	timeline_close_tile(timeline, row);
	row->has_open = false;
	row->nr -= (uint32_t)before;
	memmove(row->tiles, row->tiles + before, row->nr * sizeof(*row->tiles));
	row->first += before;
}

void timeline_forget_states(struct timeline_row *row)
{
	row->has_open = false;
	for (uint32_t i = 0; i < row->nr; i++) {
		memset(row->tiles[i].share, 0, sizeof(row->tiles[i].share));
		set_kind(&row->tiles[i], WAIT_UNSEEN);
	}
}
