/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>

#include "event_internal.h"

/* 128 KiB per CPU hold 2,000 wakings; 512 KiB 30 with copies. */
enum { PAGES = 32, PAGES_LEAST = 4, COPIES_PAGES = 128, COPIES_PAGES_LEAST = 16 };
enum { COPY_BYTES = 16 << 10 };
/* What the tracepoint writes ahead of its own fields: type, flags, how deep in interrupts, task. */
enum { AT_FLAGS = 2, FLAGS_OF_INTERRUPTS = 0x18, RAW_LEAST = 8 };

static const struct traced_field field = {.tid = "pid", .condition = ""};

const struct record_format wakings_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

const struct record_format waking_copies_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW |
		       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.regs_user = SAMPLER_USER_REGS,
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
	return traced_open(sampler, &wakings->traced, tracepoint, PAGES, PAGES_LEAST, false);
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
	sampler_end_waking_copies(sampler);
}

uint64_t sampler_wakings_lost(const struct sampler *sampler)
{
	return traced_lost(&sampler->wakings.traced);
}

/* ---- with copies ---- */

/* Of whoever else wakes, and of whom an interrupt comes upon, no stack is copied. */
int sampler_copy_wakings(struct sampler *sampler, int32_t *tids, size_t nr)
{
	struct wakings *wakings = &sampler->wakings;
	struct traced *copies = &wakings->copies;
	const struct perf_event_attr attr = {
		.sample_period = 1,
		.sample_type = waking_copies_format.sample_type,
		.sample_regs_user = waking_copies_format.regs_user,
		.sample_stack_user = COPY_BYTES,
	};
	const struct sampler_threads threads = {tids, nr, INT32_MAX};
	struct text condition = {0};
	int result = 0;
	if (!copies->rings.nr)
		result = traced_open(sampler, copies, "sched:sched_waking", COPIES_PAGES,
				     COPIES_PAGES_LEAST, true);
	if (result)
		return result;
	traced_add_condition(&condition, &wakings->traced, "common_pid");
	text_addf(&condition, "&&!(common_flags&%d)&&", FLAGS_OF_INTERRUPTS);
	if (!tids) {
		memcpy(copies->ranges, wakings->traced.ranges, sizeof(copies->ranges));
		copies->nr_ranges = wakings->traced.nr_ranges;
	}
	const struct traced_field woken = {.tid = field.tid, .condition = text_string(&condition)};
	result = condition.failed
			 ? -ENOMEM
			 : traced_follow(sampler, copies, attr, &woken, tids ? &threads : NULL);
	text_release(&condition);
	return result;
}

void sampler_end_waking_copies(struct sampler *sampler)
{
	traced_end(&sampler->wakings.copies);
}

/* ---- its records ---- */

bool wakings_parse(const struct sampler *sampler, const struct perf_event_header *header,
		   const struct record_format *format, struct record *record)
{
	const uint32_t at = sampler->wakings.pid_offset;
	const struct record_sample *sample = &record->sample;
	if (header->type != PERF_RECORD_SAMPLE ||
	    record_parse(header, header->size, format, record) || sample->raw_bytes < RAW_LEAST ||
	    at > sample->raw_bytes - sizeof(int32_t))
		return false;
	record->type = RECORD_WAKING;
	memcpy(&record->waking.tid, sample->raw + at, sizeof(int32_t));
	record->waking.by_interrupt =
		sample->raw[AT_FLAGS] & FLAGS_OF_INTERRUPTS || record->tid == 0;
	return true;
}
