/* SPDX-License-Identifier: MIT */
#include <ctop/screen/losses.h>

void losses_note(struct losses *losses, uint64_t now_s, struct losses_count count)
{
	uint32_t last = (losses->first + losses->nr + LOSSES_SECONDS - 1) % LOSSES_SECONDS;
	if (losses->nr && losses->items[last].second >= now_s) {
		losses->items[last].count = count;
		return;
	}
	if (losses->nr == LOSSES_SECONDS) {
		losses->before = losses->items[losses->first].count;
		losses->first = (losses->first + 1) % LOSSES_SECONDS;
		losses->nr--;
	}
	uint32_t at = (losses->first + losses->nr++) % LOSSES_SECONDS;
	losses->items[at].second = now_s;
	losses->items[at].count = count;
}

/* What had been counted by the end of a second. */
static struct losses_count counted_by(const struct losses *losses, uint64_t second)
{
	struct losses_count count = losses->before;
	for (uint32_t i = 0; i < losses->nr; i++) {
		uint32_t at = (losses->first + i) % LOSSES_SECONDS;
		if (losses->items[at].second > second)
			break;
		count = losses->items[at].count;
	}
	return count;
}

/* A counter that went back is none: its successor counts from 0. */
static uint64_t difference(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

struct losses_count losses_between(const struct losses *losses, uint64_t from_s, uint64_t to_s)
{
	const struct losses_count none = {0};
	struct losses_count to = counted_by(losses, to_s);
	struct losses_count from = from_s ? counted_by(losses, from_s - 1) : none;
	return (struct losses_count){
		.lost = difference(to.lost, from.lost),
		.dropped = difference(to.dropped, from.dropped),
		.samples = difference(to.samples, from.samples),
		.throttled = difference(to.throttled, from.throttled),
	};
}
