/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

/*
 * 64 KiB per CPU hold some 500 records of a usual path's length: fifty programs that start. What the rings of samples
 * leave of the locked memory decides; a page is still something.
 */
enum { PAGES = 16, WHOLE_CPU_PAGES = 128 };

/* Wake-ups: a file that is mapped may be gone in a moment, and is to be opened before. */
enum { EACH_RECORD = 1 };

/* Whole processes and their maps, without a word of samples; with device and inode. */
static struct perf_event_attr attr_of(const struct sampler *sampler)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.read_format = sampler->sideband.knows_lost ? PERF_FORMAT_LOST : 0,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.inherit = sampler->options.inherit && !sampler->options.system_wide,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
	};
}

static const struct record_format format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
	.inodes_only = true,
};

void sideband_open(struct sampler *sampler)
{
	side_rings_open(sampler, &sampler->sideband.rings,
			sampler->options.system_wide ? WHOLE_CPU_PAGES : PAGES, 1, EACH_RECORD);
}

/* /proc is left. A thread's descriptors stand side by side: it counts once. */
static void note_missed(struct sideband *sideband, int32_t tid)
{
	sideband->nr_missed_threads += tid != sideband->last_missed;
	sideband->last_missed = tid;
}

void sideband_follow(struct sampler *sampler, size_t from)
{
	struct sideband *sideband = &sampler->sideband;
	/* As the probe of the first event has found by now. */
	sideband->knows_lost = sampler->attrs[0].read_format & PERF_FORMAT_LOST;
	const struct perf_event_attr attr = attr_of(sampler);
	for (size_t i = from; sideband->rings.nr && i < sampler->fds.nr; i++) {
		const struct sampler_fd *of = &sampler->fds.items[i];
		const bool is_followed = of->event == 0 && of->set == 0 && of->fd >= 0;
		const int result =
			is_followed ? side_rings_follow(sampler, &sideband->rings, &attr, of) : 0;
		if (result && result != -ESRCH) /* one that has gone is not missed */
			note_missed(sideband, of->tid);
	}
}

void sideband_close(struct sampler *sampler)
{
	side_rings_close(&sampler->sideband.rings);
}

size_t sampler_nr_sideband(const struct sampler *sampler)
{
	return sampler->sideband.rings.nr;
}

int sampler_sideband_fd(const struct sampler *sampler, size_t i)
{
	return sampler->sideband.rings.items[i].fd;
}

/* Whom the records are for, and the count of those that are not there. */
struct taker {
	void (*take)(void *context, const struct record *record);
	void *context;
	uint64_t *lost;
};

static void take_record(const struct taker *taker, const struct record *record)
{
	if (record->type == PERF_RECORD_LOST)
		*taker->lost += record->lost;
	else
		taker->take(taker->context, record);
}

static size_t read_ring(struct ring *ring, size_t max, const struct taker *taker)
{
	const struct perf_event_header *header;
	bool damaged = false;
	size_t nr = 0;
	ring_refresh(ring);
	while (nr < max && (header = ring_peek(ring, &damaged))) {
		struct record record;
		if (record_parse(header, header->size, &format, &record) == 0)
			take_record(taker, &record);
		ring_consume(ring);
		nr++;
	}
	ring_publish_tail(ring);
	return nr;
}

bool sampler_read_sideband(struct sampler *sampler, size_t max,
			   void (*take)(void *context, const struct record *record), void *context)
{
	const struct taker taker = {take, context, &sampler->sideband.lost};
	bool more = false;
	for (size_t i = 0; i < sampler->sideband.rings.nr; i++)
		more |= read_ring(&sampler->sideband.rings.items[i].ring, max, &taker) == max;
	return more;
}

struct sampler_sideband_losses sampler_sideband_losses(const struct sampler *sampler)
{
	const struct sideband *sideband = &sampler->sideband;
	struct sampler_sideband_losses losses = {.threads = sideband->nr_missed_threads};
	for (size_t i = 0; sideband->knows_lost && i < sideband->rings.fds.nr; i++) {
		uint64_t values[2]; /* value, lost */
		if (read(sideband->rings.fds.items[i], values, sizeof(values)) == sizeof(values))
			losses.records += values[1];
	}
	if (sideband->lost > losses.records)
		losses.records = sideband->lost;
	return losses;
}
