/* SPDX-License-Identifier: MIT */
/*
 * How the limit is kept: rows grow until about half of it is taken, or of what seconds leave of it. The other half
 * is for what still comes: rows of the epoch's tables, what selections make of ours, and vectors that grow to twice their size.
 */
#include "internal.h"

enum {
	/* What comes with rows when they grow: nodes take the most, as paths in selections. */
	GROWS_WITH_ROWS = 7,
	/* What selections make of them sooner or later. */
	SELECTION_BYTES_A_NODE = 80,
	SELECTION_BYTES_A_STACK = 64,
	INDEX_BYTES_A_ROW = 16,
};

/* Where more is new than can be held, forgetting all the time would not help: what comes meanwhile is folded. */
static const uint64_t AGAIN_NS_LEAST = 5000000000;

/* What may be taken in all, seconds and the timeline excepted. */
static uint64_t bound(const struct history *history)
{
	return history->limit_bytes - history_seconds_bound(history) -
	       history_moments_bound(history);
}

/* Selections come to know rows at their next refresh; by then they may be many. */
static uint64_t taken_bytes(const struct history *history)
{
	/* Single samples have a bound of their own. */
	uint64_t own = history_rows_bytes(history) - history->selection_bytes -
		       history->samples.capacity * sizeof(*history->samples.items);
	if (!history->merges) /* with the next epoch it will */
		own += (history->frames.nr + history->nodes.nr) * INDEX_BYTES_A_ROW;
	uint64_t shown = history->nr_selections * (history->nodes.nr * SELECTION_BYTES_A_NODE +
						   history->stacks.nr * SELECTION_BYTES_A_STACK);
	return own + (shown > history->selection_bytes ? shown : history->selection_bytes);
}

/* What is forgotten makes room, so that rows may be filled to the last; and those that are short are not left behind by others. */
static bool may_grow(const struct history *history, uint64_t bytes)
{
	uint64_t taken = taken_bytes(history);
	return taken < bound(history) / 2 ||
	       (history_can_forget(history) &&
		taken + GROWS_WITH_ROWS * bytes < bound(history) / 8 * 7);
}

bool history_has_room(struct history *history, uint64_t bytes)
{
	if (!history->limit_bytes)
		return true;
	if (history->full && !history_can_forget(history))
		return false;
	if (may_grow(history, bytes))
		return true;
	history->full = history->pressed = true;
	return false;
}

static bool is_nearly_full(const struct history *history, size_t nr, size_t capacity,
			   size_t item_bytes)
{
	return nr > capacity / 8 * 7 && !may_grow(history, capacity * item_bytes);
}

bool history_wants_to_forget(const struct history *history)
{
	if (!history->limit_bytes || !history_can_forget(history))
		return false;
	if (history->totals.last_ns - history->forgot_ns < AGAIN_NS_LEAST)
		return false;
	return history->pressed ||
	       is_nearly_full(history, history->nodes.nr, history->nodes.capacity,
			      sizeof(*history->nodes.items)) ||
	       is_nearly_full(history, history->stacks.nr, history->stacks.capacity,
			      sizeof(*history->stacks.items));
}
