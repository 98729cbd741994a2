/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>

#include <ctop/base/vec.h>

static bool before(const struct queued *a, const struct queued *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->serial < b->serial;
}

int order_push(struct order *order, const struct queued *item)
{
	if (vec_reserve(order, order->nr + 1))
		return -ENOMEM;
	struct queued added = *item;
	added.serial = order->nr_pushed++;
	if (added.time_ns > order->latest_ns)
		order->latest_ns = added.time_ns;
	size_t at = order->nr++;
	while (at > 0 && before(&added, &order->items[(at - 1) / 2])) {
		order->items[at] = order->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	order->items[at] = added;
	return 0;
}

bool order_has_due(const struct order *order)
{
	return order->nr && order->items[0].time_ns <= order->limit_ns;
}

struct queued order_pop(struct order *order)
{
	struct queued first = order->items[0], last = order->items[--order->nr];
	size_t at = 0;
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= order->nr)
			break;
		if (child + 1 < order->nr && before(&order->items[child + 1], &order->items[child]))
			child++;
		if (!before(&order->items[child], &last))
			break;
		order->items[at] = order->items[child];
		at = child;
	}
	if (order->nr)
		order->items[at] = last;
	return first;
}

void order_end_round(struct order *order)
{
	/* What the round before this one had is overtaken by nothing any more. */
	order->limit_ns = order->last_round_ns;
	order->last_round_ns = order->latest_ns;
}
