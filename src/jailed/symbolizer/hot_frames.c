/* SPDX-License-Identifier: MIT */
#include "hot_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Frames chosen at once: few enough that what becomes hot meanwhile need not wait long. */
enum { CHOSEN_MAX = 1024, SAMPLES_AT_ONCE = 256 };

static uint32_t nr_frames(const struct hot_frames *hot)
{
	return hot->tables->capacity.nr[TABLE_FRAMES];
}

static uint32_t nr_nodes(const struct hot_frames *hot)
{
	return hot->tables->capacity.nr[TABLE_NODES];
}

int hot_frames_begin(struct hot_frames *hot, const struct tables *tables)
{
	hot_frames_release(hot);
	hot->tables = tables;
	const size_t frames = nr_frames(hot), nodes = nr_nodes(hot);
	hot->counts = calloc(frames + nodes, sizeof(*hot->counts));
	hot->below = calloc(frames + nodes, sizeof(*hot->below));
	hot->done = calloc(frames, sizeof(*hot->done));
	hot->order = calloc(frames, sizeof(*hot->order));
	if (hot->counts && hot->below && hot->done && hot->order)
		return 0;
	hot_frames_release(hot);
	return -ENOMEM;
}

void hot_frames_release(struct hot_frames *hot)
{
	free(hot->counts);
	free(hot->below);
	free(hot->done);
	free(hot->order);
	*hot = (struct hot_frames){0};
}

/* Counts stay as they are when they are as large as they can be: which is hot enough. */
static void add_one(uint32_t *count)
{
	*count += *count < UINT32_MAX;
}

static void take_samples(struct hot_frames *hot)
{
	struct sample samples[SAMPLES_AT_ONCE];
	size_t nr, most = hot->tables->capacity.nr_samples;
	while (most && (nr = tables_look_at_samples(hot->tables, &hot->position, samples,
						    SAMPLES_AT_ONCE))) {
		for (size_t i = 0; i < nr; i++) {
			if (samples[i].leaf.index < nr_frames(hot))
				add_one(&hot->counts[samples[i].leaf.index]);
			if (samples[i].node.index < nr_nodes(hot))
				add_one(&hot->counts[nr_frames(hot) + samples[i].node.index]);
		}
		/* Those that come meanwhile can wait: there may be no end to them. */
		most -= nr < most ? nr : most;
	}
}

/* Samples by frame, to hot->below's beginning. A frame that a stack has twice counts twice: it is hot all the same. */
static void add_up(struct hot_frames *hot, const struct tables_reader *reader)
{
	uint64_t *by_frame = hot->below, *by_node = hot->below + nr_frames(hot);
	const uint32_t *of_frame = hot->counts, *of_node = hot->counts + nr_frames(hot);
	for (uint32_t i = 0; i < reader->nr[TABLE_FRAMES]; i++)
		by_frame[i] = of_frame[i];
	for (uint32_t i = 0; i < reader->nr[TABLE_NODES]; i++)
		by_node[i] = of_node[i];
	/* Parents come before their children, or it is no node. */
	for (uint32_t i = reader->nr[TABLE_NODES]; i-- > 1;) {
		struct node_row row;
		if (!by_node[i] || !tables_node(reader, (struct node_id){i}, &row))
			continue;
		by_node[row.parent.index] += by_node[i];
		if (row.frame.index < reader->nr[TABLE_FRAMES])
			by_frame[row.frame.index] += by_node[i];
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const uint64_t *by_frame = context;
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (by_frame[left] != by_frame[right])
		return by_frame[left] < by_frame[right] ? 1 : -1;
	return (left > right) - (left < right);
}

size_t hot_frames_choose(struct hot_frames *hot, const struct tables_reader *reader)
{
	hot->at = hot->nr = 0;
	if (hot_frames_are_done(hot, reader))
		return 0;
	take_samples(hot);
	add_up(hot, reader);
	for (uint32_t i = 1; i < reader->nr[TABLE_FRAMES]; i++)
		if (!hot->done[i])
			hot->order[hot->nr++] = i;
	qsort_r(hot->order, hot->nr, sizeof(*hot->order), compare, hot->below);
	hot->nr = hot->nr < CHOSEN_MAX ? hot->nr : CHOSEN_MAX;
	return hot->nr;
}

uint32_t hot_frames_next(struct hot_frames *hot)
{
	while (hot->at < hot->nr) {
		const uint32_t frame = hot->order[hot->at++];
		if (!hot->done[frame])
			return frame;
	}
	return 0;
}

void hot_frames_finish(struct hot_frames *hot, uint32_t frame)
{
	hot->nr_done += !hot->done[frame];
	hot->done[frame] = true;
}

bool hot_frames_are_done(const struct hot_frames *hot, const struct tables_reader *reader)
{
	return hot->nr_done + 1 >= reader->nr[TABLE_FRAMES];
}
