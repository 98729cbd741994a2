/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
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

/* All CPUs' rings of one kind of copies: 32 MiB. */
enum { COPIES_PAGES_OF_ALL = 8192 };
/* Not in the kernel's headers for users: the inode of the namespace that all others are in. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* Tracepoints know threads by the numbers of the first namespace alone. */
static bool knows_numbers(void)
{
	struct stat status;
	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == FIRST_PID_NAMESPACE;
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

/* So few ranges that each hit of others costs next to nothing: theirs are looked at in all CPUs' hits. */
static void find_ranges(struct traced *traced, int32_t *tids, size_t nr, int32_t youngest)
{
	struct tid_range ranges[TRACED_RANGES + 1];
	size_t nr_ranges = 0;
	if (nr)
		qsort(tids, nr, sizeof(*tids), compare);
	for (size_t i = 0; i < nr; i++) {
		ranges[nr_ranges++] = (struct tid_range){tids[i], tids[i]};
		if (nr_ranges == TRACED_RANGES)
			join_nearest(ranges, &nr_ranges);
	}
	ranges[nr_ranges++] = (struct tid_range){youngest, INT32_MAX};
	memcpy(traced->ranges, ranges, nr_ranges * sizeof(*ranges));
	traced->nr_ranges = nr_ranges;
}

bool traced_covers(const struct traced *traced, int32_t tid)
{
	for (size_t i = 0; i < traced->nr_ranges; i++)
		if (tid >= traced->ranges[i].first && tid <= traced->ranges[i].last)
			return true;
	return traced->rings.fds.nr == 0;
}

void traced_add_condition(struct text *text, const struct traced *traced, const char *field)
{
	for (size_t i = 0; i < traced->nr_ranges; i++)
		text_addf(text, "%s(%s>=%d&&%s<=%d)", i ? "||" : "(", field,
			  traced->ranges[i].first, field, traced->ranges[i].last);
	text_add(text, ")");
}

/* ---- its events ---- */

static int open_one(const struct sampler *sampler, struct side_rings *rings,
		    const struct perf_event_attr *attr, size_t ring, const char *filter)
{
	if (vec_reserve(&rings->fds, rings->fds.nr + 1))
		return -ENOMEM;
	const int fd = perf_open(attr, -1, sampler->rings[ring].cpu);
	if (fd < 0)
		return fd;
	rings->fds.items[rings->fds.nr++] = fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ||
			       ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->items[ring].fd) < 0 ||
			       ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0
		       ? -errno
		       : 0;
}

static uint64_t lost_by(const struct traced *traced, int fd)
{
	uint64_t values[2]; /* value, lost */
	const bool is_told =
		traced->knows_lost && read(fd, values, sizeof(values)) == sizeof(values);
	return is_told ? values[1] : 0;
}

/* The first so many. */
static void close_events(struct traced *traced, size_t nr)
{
	struct side_rings *rings = &traced->rings;
	for (size_t i = 0; i < nr; i++) {
		ioctl(rings->fds.items[i], PERF_EVENT_IOC_DISABLE, 0);
		traced->lost += lost_by(traced, rings->fds.items[i]);
		close(rings->fds.items[i]);
	}
	rings->fds.nr -= nr;
	memmove(rings->fds.items, rings->fds.items + nr, rings->fds.nr * sizeof(int));
}

/* An event's filter is there to stay: others take its place, and what both tell is told twice. */
int traced_follow(struct sampler *sampler, struct traced *traced, struct perf_event_attr attr,
		  const struct traced_field *field, const struct sampler_threads *threads)
{
	const size_t nr_before = traced->rings.fds.nr;
	struct text filter = {0};
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = traced->tracepoint;
	attr.read_format = sampler->attrs[0].read_format & PERF_FORMAT_LOST;
	attr.sample_id_all = 1;
	attr.disabled = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	traced->knows_lost = attr.read_format;
	if (threads)
		find_ranges(traced, threads->tids, threads->nr, threads->youngest);
	text_add(&filter, field->condition);
	traced_add_condition(&filter, traced, field->tid);
	int result = filter.failed ? -ENOMEM : 0;
	const struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
	for (size_t i = 0; !result && i < traced->rings.nr; i++)
		result = open_one(sampler, &traced->rings, &attr, i, text_string(&filter));
	privilege_restore(&before);
	text_release(&filter);
	close_events(traced, result ? traced->rings.fds.nr : nr_before);
	return result;
}

int traced_open(const struct sampler *sampler, struct traced *traced, const char *tracepoint,
		uint32_t pages, uint32_t pages_least, bool has_copies)
{
	/* Of copies few fit in: main is to come sooner. */
	const uint32_t share = has_copies ? 4 : 2;
	while (has_copies && pages > pages_least && pages * sampler->nr_rings > COPIES_PAGES_OF_ALL)
		pages /= 2;
	if (!sampler->switches.nr)
		return -ENOTSUP;
	if (!knows_numbers())
		return -EXDEV;
	const int result = tracepoint_id(tracepoint, &traced->tracepoint);
	if (result)
		return result;
	side_rings_open(sampler, &traced->rings, pages, pages_least,
			(uint32_t)(pages * sysconf(_SC_PAGESIZE) / share));
	return traced->rings.nr ? 0 : -EPERM;
}

void traced_end(struct traced *traced)
{
	close_events(traced, traced->rings.fds.nr);
}

uint64_t traced_lost(const struct traced *traced)
{
	uint64_t lost = traced->lost;
	for (size_t i = 0; i < traced->rings.fds.nr; i++)
		lost += lost_by(traced, traced->rings.fds.items[i]);
	return lost;
}
