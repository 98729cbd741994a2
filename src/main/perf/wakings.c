/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "event_internal.h"

/* 128 KiB per CPU hold 2,000 wakings. */
enum { PAGES = 32, PAGES_LEAST = 4 };
/* What the tracepoint writes ahead of its own fields: type, flags, how deep in interrupts, task. */
enum { AT_FLAGS = 2, FLAGS_OF_INTERRUPTS = 0x18, RAW_LEAST = 8 };
/* Not in the kernel's headers for users: the inode of the namespace that all others are in. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

static const struct record_format format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

static struct perf_event_attr attr_of(const struct sampler *sampler)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = sampler->wakings.tracepoint,
		.sample_period = 1,
		.sample_type = format.sample_type,
		.read_format = sampler->attrs[0].read_format & PERF_FORMAT_LOST,
		.sample_id_all = 1,
		.disabled = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* The tracepoint knows threads by the numbers of the first namespace alone. */
static bool knows_numbers(void)
{
	struct stat status;
	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
}

int32_t sampler_youngest_thread(void)
{
	int32_t tid = INT32_MAX;
	FILE *file = fopen("/proc/loadavg", "re");
	if (file && fscanf(file, "%*s %*s %*s %*s %d", &tid) != 1)
		tid = INT32_MAX;
	if (file)
		fclose(file);
	return tid;
}

/* ---- which threads ---- */

static int compare(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

/* The range whose next one is nearest becomes one with it. */
static void join_nearest(struct tid_range *ranges, size_t *nr)
{
	size_t nearest = 0;
	for (size_t i = 1; i + 1 < *nr; i++)
		if (ranges[i + 1].first - ranges[i].last <
		    ranges[nearest + 1].first - ranges[nearest].last)
			nearest = i;
	ranges[nearest].last = ranges[nearest + 1].last;
	--*nr;
	memmove(&ranges[nearest + 1], &ranges[nearest + 2], (*nr - nearest - 1) * sizeof(*ranges));
}

/* So few ranges that each waking of others costs its waker next to nothing: theirs are looked at in all CPUs' wakings. */
static void find_ranges(struct wakings *wakings, int32_t *tids, size_t nr, int32_t youngest)
{
	struct tid_range ranges[WAKING_RANGES + 1];
	size_t nr_ranges = 0;
	qsort(tids, nr, sizeof(*tids), compare);
	for (size_t i = 0; i < nr; i++) {
		ranges[nr_ranges++] = (struct tid_range){tids[i], tids[i]};
		if (nr_ranges == WAKING_RANGES)
			join_nearest(ranges, &nr_ranges);
	}
	ranges[nr_ranges++] = (struct tid_range){youngest, INT32_MAX};
	memcpy(wakings->ranges, ranges, nr_ranges * sizeof(*ranges));
	wakings->nr_ranges = nr_ranges;
}

bool sampler_wakings_cover(const struct sampler *sampler, int32_t tid)
{
	const struct wakings *wakings = &sampler->wakings;
	for (size_t i = 0; i < wakings->nr_ranges; i++)
		if (tid >= wakings->ranges[i].first && tid <= wakings->ranges[i].last)
			return true;
	return wakings->rings.fds.nr == 0;
}

static void add_filter(struct text *text, const struct wakings *wakings)
{
	for (size_t i = 0; i < wakings->nr_ranges; i++)
		text_addf(text, "%s(pid>=%d&&pid<=%d)", i ? "||" : "", wakings->ranges[i].first,
			  wakings->ranges[i].last);
}

/* ---- its events ---- */

static int open_one(struct sampler *sampler, size_t ring, const char *filter)
{
	struct side_rings *rings = &sampler->wakings.rings;
	const struct perf_event_attr attr = attr_of(sampler);
	if (vec_reserve(&rings->fds, rings->fds.nr + 1))
		return -ENOMEM;
	const int fd = perf_open(&attr, -1, sampler->rings[ring].cpu);
	if (fd < 0)
		return fd;
	rings->fds.items[rings->fds.nr++] = fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ||
			       ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->items[ring].fd) < 0 ||
			       ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0
		       ? -errno
		       : 0;
}

static uint64_t lost_by(const struct sampler *sampler, int fd)
{
	uint64_t values[2]; /* value, lost */
	const bool is_told =
		attr_of(sampler).read_format && read(fd, values, sizeof(values)) == sizeof(values);
	return is_told ? values[1] : 0;
}

/* The first so many. */
static void close_events(struct sampler *sampler, size_t nr)
{
	struct side_rings *rings = &sampler->wakings.rings;
	for (size_t i = 0; i < nr; i++) {
		ioctl(rings->fds.items[i], PERF_EVENT_IOC_DISABLE, 0);
		sampler->wakings.lost += lost_by(sampler, rings->fds.items[i]);
		close(rings->fds.items[i]);
	}
	rings->fds.nr -= nr;
	memmove(rings->fds.items, rings->fds.items + nr, rings->fds.nr * sizeof(int));
}

/* An event's filter is there to stay: others take its place, and what both tell is told twice. */
static int open_events(struct sampler *sampler)
{
	const size_t nr_before = sampler->wakings.rings.fds.nr;
	struct text filter = {0};
	add_filter(&filter, &sampler->wakings);
	int result = filter.failed ? -ENOMEM : 0;
	const struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
	for (size_t i = 0; !result && i < sampler->wakings.rings.nr; i++)
		result = open_one(sampler, i, text_string(&filter));
	privilege_restore(&before);
	text_release(&filter);
	close_events(sampler, result ? sampler->wakings.rings.fds.nr : nr_before);
	return result;
}

static int open_rings(struct sampler *sampler)
{
	struct wakings *wakings = &sampler->wakings;
	uint32_t bytes;
	if (!sampler->switches.nr)
		return -ENOTSUP;
	if (!knows_numbers())
		return -EXDEV;
	int result = tracepoint_id("sched:sched_waking", &wakings->tracepoint);
	if (!result)
		result =
			tracepoint_field("sched:sched_waking", "pid", &wakings->pid_offset, &bytes);
	if (result || bytes != sizeof(int32_t))
		return result ? result : -ENOTSUP;
	side_rings_open(sampler, &wakings->rings, PAGES, PAGES_LEAST,
			(uint32_t)(PAGES * sysconf(_SC_PAGESIZE) / 2));
	return wakings->rings.nr ? 0 : -EPERM;
}

int sampler_follow_wakings(struct sampler *sampler, int32_t *tids, size_t nr, int32_t youngest)
{
	struct wakings *wakings = &sampler->wakings;
	int result = wakings->rings.nr ? 0 : open_rings(sampler);
	if (!result) {
		find_ranges(wakings, tids, nr, youngest);
		result = open_events(sampler);
	}
	return result;
}

void sampler_end_wakings(struct sampler *sampler)
{
	close_events(sampler, sampler->wakings.rings.fds.nr);
}

void wakings_close(struct sampler *sampler)
{
	side_rings_close(&sampler->wakings.rings);
}

uint64_t sampler_wakings_lost(const struct sampler *sampler)
{
	uint64_t lost = sampler->wakings.lost;
	for (size_t i = 0; i < sampler->wakings.rings.fds.nr; i++)
		lost += lost_by(sampler, sampler->wakings.rings.fds.items[i]);
	return lost;
}

/* ---- its records ---- */

bool wakings_parse(const struct sampler *sampler, const struct perf_event_header *header,
		   struct record *record)
{
	const uint32_t at = sampler->wakings.pid_offset;
	const struct record_sample *sample = &record->sample;
	if (header->type != PERF_RECORD_SAMPLE ||
	    record_parse(header, header->size, &format, record) || sample->raw_bytes < RAW_LEAST ||
	    at > sample->raw_bytes - sizeof(int32_t))
		return false;
	record->type = RECORD_WAKING;
	memcpy(&record->waking.tid, sample->raw + at, sizeof(int32_t));
	record->waking.by_interrupt =
		sample->raw[AT_FLAGS] & FLAGS_OF_INTERRUPTS || record->tid == 0;
	return true;
}

int wakings_time(const struct perf_event_header *header, uint64_t *time_ns)
{
	return record_time(header, header->size, &format, time_ns);
}
