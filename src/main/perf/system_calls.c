/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <string.h>

#include "event_internal.h"

/* 512 KiB per CPU hold 5,400 begins: 50 ms of what the guard lets one CPU do. */
enum { PAGES = 128, PAGES_LEAST = 8 };

static const struct traced_field field = {.tid = "common_pid", .condition = ""};

const struct record_format calls_enter_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};
const struct record_format calls_exit_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
	.sample_id_all = true,
};

static int open_rings(const struct sampler *sampler, struct traced *traced, const char *tracepoint,
		      uint32_t *offset)
{
	uint32_t bytes;
	const int result = tracepoint_field(tracepoint, "id", offset, &bytes);
	if (result || bytes != sizeof(int64_t))
		return result ? result : -ENOTSUP;
	return traced_open(sampler, traced, tracepoint, PAGES, PAGES_LEAST, false);
}

int sampler_follow_calls(struct sampler *sampler, const struct sampler_threads *threads)
{
	const struct perf_event_attr attr = {
		.sample_period = 1,
		.sample_type = calls_enter_format.sample_type,
	};
	struct system_calls *calls = &sampler->calls;
	int result = 0;
	if (!calls->enter.rings.nr)
		result = open_rings(sampler, &calls->enter, "raw_syscalls:sys_enter",
				    &calls->enter_offset);
	if (!result && !calls->exit.rings.nr)
		result = open_rings(sampler, &calls->exit, "raw_syscalls:sys_exit",
				    &calls->exit_offset);
	/* What ends is known to have begun. */
	if (!result)
		result = traced_follow(sampler, &calls->enter, attr, &field, threads);
	if (!result)
		result = traced_follow(sampler, &calls->exit, attr, &field, threads);
	if (result)
		sampler_end_calls(sampler);
	return result;
}

void sampler_end_calls(struct sampler *sampler)
{
	traced_end(&sampler->calls.enter);
	traced_end(&sampler->calls.exit);
}

uint64_t sampler_calls_lost(const struct sampler *sampler)
{
	return traced_lost(&sampler->calls.enter) + traced_lost(&sampler->calls.exit);
}

int sampler_advise_calls(int code, struct error *error)
{
	switch (code) {
	case -EXDEV:
		error_set(error, code,
			  "in a pid namespace the kernel tells other numbers of threads "
			  "than ctop knows");
		return error_remedy(error, "run ctop outside of the container, or leave out "
					   "--syscalls");
	case -ENOTSUP:
		error_set(error, code,
			  "there are no records of switches to put system calls beside");
		return error_remedy(error,
				    "allow ctop more locked memory (ulimit -l) and open files "
				    "(ulimit -n), or leave out --syscalls");
	case -EACCES:
	case -EPERM:
		error_set(error, code,
			  "the kernel lets this user trace no system calls, or lock no "
			  "more memory");
		return error_remedy(error,
				    "run ctop as root or with CAP_PERFMON and a tracefs that "
				    "it may read, or leave out --syscalls");
	default:
		return tracepoint_advise("raw_syscalls:sys_enter", code, error);
	}
}

bool system_calls_parse(const struct sampler *sampler, const struct perf_event_header *header,
			const struct record_format *format, struct record *record)
{
	const bool is_over = format == &calls_exit_format;
	const uint32_t at = is_over ? sampler->calls.exit_offset : sampler->calls.enter_offset;
	const struct record_sample *sample = &record->sample;
	if (record_parse(header, header->size, format, record))
		return false;
	if (record->type == PERF_RECORD_LOST || record->type == PERF_RECORD_LOST_SAMPLES) {
		record->type = RECORD_CALLS_LOST;
		return true;
	}
	if (record->type != PERF_RECORD_SAMPLE || sample->raw_bytes < sizeof(int64_t) ||
	    at > sample->raw_bytes - sizeof(int64_t))
		return false;
	record->type = RECORD_SYSTEM_CALL;
	memcpy(&record->call.number, sample->raw + at, sizeof(int64_t));
	record->call.is_over = is_over;
	return true;
}
