/* SPDX-License-Identifier: MIT */
#include <ctop/flight/stretch.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* Of the bytes that there may be, and of the time, how much one epoch takes: what is given up at once, and what may be there besides. */
enum { EPOCHS_OF_BYTES = 4, EPOCHS_OF_TIME = 2 };

struct epoch {
	const struct tables *tables;
	const struct symbols *symbols;
	struct region region; /* epoch 0: it is still the session's */
	struct session_stats before;
	uint64_t first_ns, last_ns; /* of its samples; 0: it has none */
	struct {
		struct sample *items;
		size_t nr, capacity;
	} samples;
};

struct stretch {
	uint64_t last_ns, bytes_most;
	uint64_t gave_up_ns; /* the last sample that is not there any more; 0: all are */
	struct {
		struct epoch **items; /* the last one is in hand */
		size_t nr, capacity;
	} epochs;
};

struct stretch *stretch_new(uint64_t last_ns, uint64_t bytes_most)
{
	struct stretch *stretch = calloc(1, sizeof(*stretch));
	if (stretch)
		*stretch = (struct stretch){.last_ns = last_ns, .bytes_most = bytes_most};
	return stretch;
}

static void epoch_free(struct epoch *epoch)
{
	region_close(&epoch->region);
	free(epoch->samples.items);
	free(epoch);
}

void stretch_free(struct stretch *stretch)
{
	if (!stretch)
		return;
	for (size_t i = 0; i < stretch->epochs.nr; i++)
		epoch_free(stretch->epochs.items[i]);
	free(stretch->epochs.items);
	free(stretch);
}

static struct epoch *in_hand(const struct stretch *stretch)
{
	return stretch->epochs.nr ? stretch->epochs.items[stretch->epochs.nr - 1] : NULL;
}

int stretch_begin_epoch(struct stretch *stretch, const struct tables *tables,
			const struct symbols *symbols, const struct session_stats *so_far)
{
	if (vec_reserve(&stretch->epochs, stretch->epochs.nr + 1))
		return -ENOMEM;
	struct epoch *epoch = calloc(1, sizeof(*epoch));
	if (!epoch)
		return -ENOMEM;
	epoch->tables = tables;
	epoch->symbols = symbols;
	epoch->before = *so_far;
	stretch->epochs.items[stretch->epochs.nr++] = epoch;
	return 0;
}

/* Of several CPUs they come nearly in order. */
int stretch_add(struct stretch *stretch, const struct sample *samples, size_t nr)
{
	struct epoch *epoch = in_hand(stretch);
	if (!nr)
		return 0;
	if (!epoch || vec_reserve(&epoch->samples, epoch->samples.nr + nr))
		return -ENOMEM;
	memcpy(epoch->samples.items + epoch->samples.nr, samples, nr * sizeof(*samples));
	epoch->samples.nr += nr;
	for (size_t i = 0; i < nr; i++) {
		const uint64_t ns = samples[i].time_ns;
		epoch->first_ns = epoch->first_ns && epoch->first_ns < ns ? epoch->first_ns : ns;
		epoch->last_ns = epoch->last_ns > ns ? epoch->last_ns : ns;
	}
	return 0;
}

void stretch_take_region(struct stretch *stretch, struct region *region)
{
	if (stretch->epochs.nr < 2)
		return;
	struct epoch *epoch = stretch->epochs.items[stretch->epochs.nr - 2];
	epoch->region = *region;
	*region = (struct region){.tables_fd = -1, .symbols_fd = -1};
	tables_reader_init(&epoch->region.reader, &epoch->region.tables);
	epoch->tables = &epoch->region.tables;
	epoch->symbols = &epoch->region.symbols;
	vec_give_back(&epoch->samples);
}

static uint64_t epoch_bytes(struct epoch *epoch)
{
	return vec_bytes(&epoch->samples) + region_used_bytes(&epoch->region);
}

uint64_t stretch_bytes(const struct stretch *stretch)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < stretch->epochs.nr; i++)
		bytes += epoch_bytes(stretch->epochs.items[i]);
	return bytes;
}

static void give_up_first(struct stretch *stretch)
{
	struct epoch *first = stretch->epochs.items[0];
	if (first->last_ns > stretch->gave_up_ns)
		stretch->gave_up_ns = first->last_ns;
	epoch_free(first);
	stretch->epochs.nr--;
	memmove(stretch->epochs.items, stretch->epochs.items + 1,
		stretch->epochs.nr * sizeof(*stretch->epochs.items));
}

/* Only those whose memory is ours. */
static bool is_ours(const struct epoch *epoch)
{
	return epoch->region.epoch != 0;
}

void stretch_forget(struct stretch *stretch, uint64_t before_ns)
{
	while (stretch->epochs.nr > 1 && is_ours(stretch->epochs.items[0]) &&
	       (stretch->epochs.items[0]->last_ns < before_ns ||
		stretch_bytes(stretch) > stretch->bytes_most))
		give_up_first(stretch);
}

bool stretch_wants_epoch(const struct stretch *stretch, uint64_t now_ns)
{
	const struct epoch *epoch = in_hand(stretch);
	if (!epoch || !epoch->first_ns)
		return false;
	return now_ns > epoch->first_ns + stretch->last_ns / EPOCHS_OF_TIME ||
	       vec_bytes(&epoch->samples) > stretch->bytes_most / EPOCHS_OF_BYTES;
}

uint64_t stretch_since_ns(const struct stretch *stretch)
{
	return stretch->gave_up_ns ? stretch->gave_up_ns + 1 : 0;
}

uint64_t stretch_until_ns(const struct stretch *stretch)
{
	uint64_t until_ns = 0;
	for (size_t i = 0; i < stretch->epochs.nr; i++)
		if (stretch->epochs.items[i]->last_ns > until_ns)
			until_ns = stretch->epochs.items[i]->last_ns;
	return until_ns;
}

const struct session_stats *stretch_before(const struct stretch *stretch)
{
	return &stretch->epochs.items[0]->before;
}

/* ---- out ---- */

static bool is_within(const struct sample *sample, uint64_t from_ns, uint64_t to_ns)
{
	return sample->time_ns >= from_ns && sample->time_ns <= to_ns;
}

uint64_t stretch_count(const struct stretch *stretch, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t nr = 0;
	for (size_t i = 0; i < stretch->epochs.nr; i++) {
		const struct epoch *epoch = stretch->epochs.items[i];
		for (size_t at = 0; at < epoch->samples.nr; at++)
			nr += is_within(&epoch->samples.items[at], from_ns, to_ns);
	}
	return nr;
}

/* Runs of samples that are wanted: as a rule one in each epoch. */
static int write_samples(const struct epoch *epoch, uint64_t from_ns, uint64_t to_ns,
			 struct recording_writer *writer)
{
	const struct sample *items = epoch->samples.items;
	int result = 0;
	for (size_t at = 0; !result && at < epoch->samples.nr;) {
		size_t end = at;
		while (end < epoch->samples.nr && is_within(&items[end], from_ns, to_ns))
			end++;
		if (end > at)
			result = recording_add_samples(writer, items + at, end - at);
		at = end + 1;
	}
	return result;
}

int stretch_write(const struct stretch *stretch, uint64_t from_ns, uint64_t to_ns,
		  struct recording_writer *writer)
{
	int result = 0;
	for (size_t i = 0; !result && i < stretch->epochs.nr; i++) {
		const struct epoch *epoch = stretch->epochs.items[i];
		if (epoch->last_ns < from_ns || epoch->first_ns > to_ns)
			continue;
		result = recording_begin_epoch(writer, epoch->tables, epoch->symbols);
		if (!result)
			result = write_samples(epoch, from_ns, to_ns, writer);
		if (!result)
			result = recording_end_epoch(writer);
	}
	return result;
}
