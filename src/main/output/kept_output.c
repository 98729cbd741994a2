/* SPDX-License-Identifier: MIT */
#include "kept_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kept_output_init(struct kept_output *kept, size_t size)
{
	*kept = (struct kept_output){.size = size, .head = malloc(size), .tail = malloc(size)};
	if (kept->head && kept->tail)
		return 0;
	kept_output_release(kept);
	return -ENOMEM;
}

void kept_output_release(struct kept_output *kept)
{
	free(kept->head);
	free(kept->tail);
	*kept = (struct kept_output){.size = 0};
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void kept_output_add(struct kept_output *kept, const char *bytes, size_t size)
{
	size_t at_head = least(size, kept->size - kept->nr_head);
	memcpy(kept->head + kept->nr_head, bytes, at_head);
	kept->nr_head += at_head;
	bytes += at_head;
	size -= at_head;
	/* More than the whole ring: only its end will be seen. */
	if (size > kept->size) {
		kept->nr_left_out += size - kept->size;
		bytes += size - kept->size;
		size = kept->size;
	}
	if (kept->nr_tail + size > kept->size)
		kept->nr_left_out += kept->nr_tail + size - kept->size;
	kept->nr_tail = least(kept->nr_tail + size, kept->size);
	while (size) {
		size_t piece = least(size, kept->size - kept->tail_end);
		memcpy(kept->tail + kept->tail_end, bytes, piece);
		kept->tail_end = (kept->tail_end + piece) % kept->size;
		bytes += piece;
		size -= piece;
	}
}

int kept_output_give(struct kept_output *kept,
		     int (*take)(void *context, const char *bytes, size_t size), void *context)
{
	char line[96];
	size_t first = (kept->tail_end + kept->size - kept->nr_tail) % kept->size;
	size_t piece = least(kept->nr_tail, kept->size - first);
	int result = take(context, kept->head, kept->nr_head);
	int size = snprintf(line, sizeof(line), "\n[ctop: %" PRIu64 " byte%s left out here]\n",
			    kept->nr_left_out, kept->nr_left_out == 1 ? "" : "s");
	if (!result && kept->nr_left_out)
		result = take(context, line, (size_t)size);
	if (!result)
		result = take(context, kept->tail + first, piece);
	if (!result)
		result = take(context, kept->tail, kept->nr_tail - piece);
	kept->nr_head = kept->nr_tail = kept->tail_end = 0;
	kept->nr_left_out = 0;
	return result;
}
