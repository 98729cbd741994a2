/* SPDX-License-Identifier: MIT */
#include <ctop/base/vec.h>

#include <errno.h>
#include <stdlib.h>

int vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	if (wanted <= *capacity)
		return 0;
	size_t grown = *capacity ? *capacity : 8;
	while (grown < wanted) {
		if (__builtin_mul_overflow(grown, (size_t)2, &grown))
			return -ENOMEM;
	}
	void *moved = reallocarray(*items, grown, item_bytes);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = grown;
	return 0;
}

void vec_trim(void **items, size_t *capacity, size_t nr, size_t item_bytes)
{
	size_t kept = nr ? nr : 1;
	if (kept >= *capacity)
		return;
	void *moved = reallocarray(*items, kept, item_bytes);
	if (!moved)
		return;
	*items = moved;
	*capacity = kept;
}
