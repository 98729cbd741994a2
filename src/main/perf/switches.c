/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/*
 * 128 KiB per CPU hold 2,700 switches: 10 ms of two threads that wake each other for ever. Main is woken when half of it is
 * full. With less than the least, more is lost than read.
 */
enum { PAGES = 32, PAGES_LEAST = 4 };
/* Descriptors that files and children need. */
enum { FOR_OTHERS = 320 };

static const struct perf_event_attr attr_base = {
	.size = sizeof(struct perf_event_attr),
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_DUMMY,
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
	.use_clockid = 1,
	.clockid = CLOCK_MONOTONIC,
	.context_switch = 1,
	.task = 1,
	.comm = 1,
	.comm_exec = 1,
};

static const struct record_format format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
};

void switches_open(struct sampler *sampler)
{
	const uint32_t half = (uint32_t)(PAGES * sysconf(_SC_PAGESIZE) / 2);
	const struct sampler_options *options = &sampler->options;
	/* Of some CPUs alone nobody could tell what a thread does on the others. */
	if (!options->nr_cpus && (!options->system_wide || options->follows_all))
		side_rings_open(sampler, &sampler->switches, PAGES, PAGES_LEAST, half);
}

static bool is_first(const struct sampler_fd *of)
{
	return of->event == 0 && of->set == 0 && of->fd >= 0;
}

static bool has_descriptors(const struct sampler *sampler, size_t from)
{
	struct rlimit limit;
	size_t nr = sampler->fds.nr + sampler->sideband.rings.fds.nr + sampler->switches.fds.nr +
		    3 * sampler->nr_rings + FOR_OTHERS;
	for (size_t i = from; i < sampler->fds.nr; i++)
		nr += is_first(&sampler->fds.items[i]);
	return getrlimit(RLIMIT_NOFILE, &limit) || nr <= limit.rlim_cur;
}

void switches_follow(struct sampler *sampler, size_t from)
{
	struct perf_event_attr attr = attr_base;
	attr.inherit = sampler->options.inherit && !sampler->options.system_wide;
	if (sampler->filters_pids || !has_descriptors(sampler, from))
		side_rings_close(&sampler->switches);
	for (size_t i = from; sampler->switches.nr && i < sampler->fds.nr; i++) {
		const struct sampler_fd *of = &sampler->fds.items[i];
		if (!is_first(of) || !side_rings_follow(sampler, &sampler->switches, &attr, of))
			continue;
		/*
		 * A thread that cannot be followed has gone, or is without records: its time is unknown. Without one of the CPUs everybody's
		 * would be wrong: then it is looked at.
		 */
		if (sampler->options.system_wide)
			side_rings_close(&sampler->switches);
	}
}

void switches_close(struct sampler *sampler)
{
	side_rings_close(&sampler->switches);
}

size_t sampler_nr_switches(const struct sampler *sampler)
{
	return sampler->switches.nr;
}

size_t sampler_nr_switch_fds(const struct sampler *sampler)
{
	return sampler->switches.nr + sampler->wakings.traced.rings.nr +
	       sampler->wakings.copies.rings.nr + sampler->switch_outs.traced.rings.nr +
	       sampler->calls.enter.rings.nr + sampler->calls.exit.rings.nr;
}

/* Of all rings, one kind behind the other: the one of that number, and what is in it. */
static struct side_ring *find_ring(const struct sampler *sampler, size_t i,
				   const struct record_format **of)
{
	const struct {
		const struct side_rings *rings;
		const struct record_format *format;
	} all[] = {
		{&sampler->switches, &format},
		{&sampler->wakings.traced.rings, &wakings_format},
		{&sampler->wakings.copies.rings, &waking_copies_format},
		{&sampler->switch_outs.traced.rings, &switch_outs_format},
		{&sampler->calls.enter.rings, &calls_enter_format},
		{&sampler->calls.exit.rings, &calls_exit_format},
	};
	size_t at = 0;
	while (i >= all[at].rings->nr)
		i -= all[at++].rings->nr;
	*of = all[at].format;
	return &all[at].rings->items[i];
}

static struct side_ring *ring_of(const struct sampler *sampler, size_t i)
{
	const struct record_format *unused;
	return find_ring(sampler, i, &unused);
}

int sampler_switch_fd(const struct sampler *sampler, size_t i)
{
	return ring_of(sampler, i)->fd;
}

void sampler_end_switches(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->switches.fds.nr; i++)
		ioctl(sampler->switches.fds.items[i], PERF_EVENT_IOC_DISABLE, 0);
}

/*
 * Takes what there is now, as the kernel has seen us read up to some position until a moment ago: there may have been no room for
 * one more record, and one on those that were lost.
 */
static void refresh(struct side_ring *ring, uint64_t read_until)
{
	enum { TWO_RECORDS = 128 };
	ring_refresh(&ring->ring);
	if (ring->ring.head - read_until + TWO_RECORDS > ring->ring.data_bytes)
		ring->full_at = ring->ring.head;
}

/* Main may have been stopped since it took the head: what came meanwhile found the old tail. */
static void give_back(struct side_ring *ring)
{
	const uint64_t before = ring->ring.page->data_tail; /* nobody else writes it */
	ring_publish_tail(&ring->ring);
	refresh(ring, before);
}

/* The record behind those that a full ring held says whether something was lost between them. */
static void consume(struct side_ring *ring)
{
	if (ring->full_at && ring->ring.tail >= ring->full_at)
		ring->full_at = 0;
	ring_consume(&ring->ring);
}

uint64_t sampler_switches_known_until(const struct sampler *sampler)
{
	uint64_t until_ns = UINT64_MAX;
	for (size_t i = 0; i < sampler->switches.nr; i++) {
		const struct side_ring *ring = &sampler->switches.items[i];
		if (ring->full_at && ring->read_ns < until_ns)
			until_ns = ring->read_ns;
	}
	return until_ns;
}

/* Finds out when the next record of a ring was written. */
static void look_at_next(const struct sampler *sampler, size_t i)
{
	const struct record_format *of;
	struct side_ring *ring = find_ring(sampler, i, &of);
	bool damaged = false;
	const struct perf_event_header *header = ring_peek(&ring->ring, &damaged);
	ring->next_ns = UINT64_MAX;
	if (header && record_time(header, header->size, of, &ring->next_ns))
		ring->next_ns = ring->read_ns; /* it says nothing: take_next() leaves it out */
}

static size_t find_oldest(const struct sampler *sampler)
{
	size_t oldest = 0;
	for (size_t i = 1; i < sampler_nr_switch_fds(sampler); i++)
		if (ring_of(sampler, i)->next_ns < ring_of(sampler, oldest)->next_ns)
			oldest = i;
	return oldest;
}

/* Of wakings and samples that were lost the switches know nothing. */
static bool parse(const struct sampler *sampler, const struct perf_event_header *header,
		  const struct record_format *of, struct record *record)
{
	if (of == &wakings_format || of == &waking_copies_format)
		return wakings_parse(sampler, header, of, record);
	if (of == &switch_outs_format)
		return switch_outs_parse(header, record);
	if (of == &calls_enter_format || of == &calls_exit_format)
		return system_calls_parse(sampler, header, of, record);
	return record_parse(header, header->size, of, record) == 0;
}

bool sampler_read_switches(struct sampler *sampler, uint64_t until_ns, size_t max,
			   void (*take)(void *context, const struct record *record,
					uint64_t before_ns),
			   void *context)
{
	const size_t nr_rings = sampler_nr_switch_fds(sampler);
	if (!sampler->switches.nr)
		return false;
	for (size_t i = 0; i < nr_rings; i++) {
		struct side_ring *ring = ring_of(sampler, i);
		refresh(ring, ring->ring.tail);
		look_at_next(sampler, i);
	}
	size_t at, nr = 0;
	for (; ring_of(sampler, at = find_oldest(sampler))->next_ns < until_ns && nr < max; nr++) {
		const struct record_format *of;
		struct side_ring *oldest = find_ring(sampler, at, &of);
		bool damaged = false;
		const struct perf_event_header *header = ring_peek(&oldest->ring, &damaged);
		struct record record;
		if (header && parse(sampler, header, of, &record)) {
			record.cpu = (uint32_t)oldest->cpu;
			take(context, &record, oldest->read_ns);
		}
		oldest->read_ns = oldest->next_ns;
		consume(oldest);
		look_at_next(sampler, at);
	}
	for (size_t i = 0; i < nr_rings; i++)
		give_back(ring_of(sampler, i));
	return nr == max;
}
