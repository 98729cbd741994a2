/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event_internal.h"

/* 128 KiB per CPU hold 2,000 wakings. */
enum { PAGES = 32, PAGES_LEAST = 4 };
/* What the tracepoint writes ahead of its own fields: type, flags, how deep in interrupts, task. */
enum { AT_FLAGS = 2, FLAGS_OF_INTERRUPTS = 0x18, RAW_LEAST = 8 };

static const struct traced_field field = {.tid = "pid", .condition = ""};

const struct record_format wakings_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

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

static int open_rings(struct sampler *sampler)
{
	static const char tracepoint[] = "sched:sched_waking";
	struct wakings *wakings = &sampler->wakings;
	uint32_t bytes;
	const int result = tracepoint_field(tracepoint, "pid", &wakings->pid_offset, &bytes);
	if (result || bytes != sizeof(int32_t))
		return result ? result : -ENOTSUP;
	return traced_open(sampler, &wakings->traced, tracepoint, PAGES, PAGES_LEAST);
}

int sampler_follow_wakings(struct sampler *sampler, const struct sampler_threads *threads)
{
	const struct perf_event_attr attr = {
		.sample_period = 1,
		.sample_type = wakings_format.sample_type,
	};
	struct traced *traced = &sampler->wakings.traced;
	const int result = traced->rings.nr ? 0 : open_rings(sampler);
	return result ? result : traced_follow(sampler, traced, attr, &field, threads);
}

bool sampler_wakings_cover(const struct sampler *sampler, int32_t tid)
{
	return traced_covers(&sampler->wakings.traced, tid);
}

void sampler_end_wakings(struct sampler *sampler)
{
	traced_end(&sampler->wakings.traced);
}

uint64_t sampler_wakings_lost(const struct sampler *sampler)
{
	return traced_lost(&sampler->wakings.traced);
}

bool wakings_parse(const struct sampler *sampler, const struct perf_event_header *header,
		   struct record *record)
{
	const uint32_t at = sampler->wakings.pid_offset;
	const struct record_sample *sample = &record->sample;
	if (header->type != PERF_RECORD_SAMPLE ||
	    record_parse(header, header->size, &wakings_format, record) ||
	    sample->raw_bytes < RAW_LEAST || at > sample->raw_bytes - sizeof(int32_t))
		return false;
	record->type = RECORD_WAKING;
	memcpy(&record->waking.tid, sample->raw + at, sizeof(int32_t));
	record->waking.by_interrupt =
		sample->raw[AT_FLAGS] & FLAGS_OF_INTERRUPTS || record->tid == 0;
	return true;
}
