/* SPDX-License-Identifier: MIT */
#include <ctop/time/wakers.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

/* 300 KiB. Sum 0 is of what is beyond. */
enum { PAIRS_MOST = 4096, OTHERS = 0 };

struct wakers {
	struct {
		struct waking_sum *items;
		size_t nr, capacity;
	} sums;
	struct index by_pair;
	struct waking_sum *told;
};

struct wakers *wakers_new(void)
{
	struct wakers *wakers = calloc(1, sizeof(*wakers));
	if (!wakers || vec_reserve(&wakers->sums, 1)) {
		free(wakers);
		return NULL;
	}
	wakers->sums.items[wakers->sums.nr++] = (struct waking_sum){0};
	return wakers;
}

void wakers_free(struct wakers *wakers)
{
	if (!wakers)
		return;
	index_release(&wakers->by_pair);
	free(wakers->sums.items);
	free(wakers->told);
	free(wakers);
}

static bool is_same(const struct waking_sum *a, const struct waking_sum *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->waker_pid == b->waker_pid &&
	       a->waker_tid == b->waker_tid;
}

struct waking_sum *wakers_of(struct wakers *wakers, const struct waking_sum *pair)
{
	const uint64_t hash =
		hash_u64((uint64_t)(uint32_t)pair->tid << 32 | (uint32_t)pair->waker_tid);
	struct index_probe probe = index_find(&wakers->by_pair, hash);
	uint32_t row;
	while (index_next(&wakers->by_pair, &probe, &row))
		if (is_same(&wakers->sums.items[row], pair))
			return &wakers->sums.items[row];
	if (wakers->sums.nr > PAIRS_MOST || index_reserve(&wakers->by_pair) ||
	    vec_reserve(&wakers->sums, wakers->sums.nr + 1))
		return &wakers->sums.items[OTHERS];
	row = (uint32_t)wakers->sums.nr;
	index_add(&wakers->by_pair, hash, row);
	wakers->sums.items[wakers->sums.nr++] = (struct waking_sum){
		.pid = pair->pid,
		.tid = pair->tid,
		.waker_pid = pair->waker_pid,
		.waker_tid = pair->waker_tid,
	};
	return &wakers->sums.items[row];
}

static int compare(const void *a, const void *b)
{
	const struct waking_sum *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return (left->nr < right->nr) - (left->nr > right->nr);
}

const struct waking_sum *wakers_sums(struct wakers *wakers, size_t *nr)
{
	const size_t nr_sums = wakers->sums.nr;
	struct waking_sum *told = realloc(wakers->told, nr_sums * sizeof(*told));
	*nr = 0;
	if (!told)
		return NULL;
	wakers->told = told;
	memcpy(told, wakers->sums.items, nr_sums * sizeof(*told));
	qsort(told, nr_sums, sizeof(*told), compare);
	while (*nr < nr_sums && *nr < WAKING_SUMS_TOLD && told[*nr].nr)
		++*nr;
	return told;
}

size_t wakers_of_thread(const struct wakers *wakers, int32_t tid, struct waking_sum *sums,
			size_t most)
{
	size_t nr = 0;
	for (size_t i = OTHERS + 1; i < wakers->sums.nr; i++) {
		const struct waking_sum *sum = &wakers->sums.items[i];
		if (sum->tid != tid)
			continue;
		if (nr == most && (!most || compare(sum, &sums[most - 1]) >= 0))
			continue;
		size_t at = nr < most ? nr++ : most - 1;
		for (; at > 0 && compare(sum, &sums[at - 1]) < 0; at--)
			sums[at] = sums[at - 1];
		sums[at] = *sum;
	}
	return nr;
}
