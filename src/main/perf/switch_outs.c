/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <sys/ioctl.h>

/* 1 MiB per CPU holds 31 samples with the largest copies. */
enum { PAGES = 256, PAGES_LEAST = 16 };
enum { COPY_BYTES = 32768 };

/* Not who was preempted, or ended: states beyond those that ps tells of are the kernel's word for the former. */
static const struct traced_field field = {.tid = "prev_pid",
					  .condition = "prev_state>0&&prev_state<16&&"};

const struct record_format switch_outs_format = {
	.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
		       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.regs_user = SAMPLER_USER_REGS,
	.sample_id_all = true,
};

int sampler_follow_switch_outs(struct sampler *sampler, const struct sampler_threads *threads,
			       uint64_t period)
{
	struct switch_outs *outs = &sampler->switch_outs;
	const uint32_t asked = sampler->options.dump_bytes;
	const struct perf_event_attr attr = {
		.sample_period = period,
		.sample_type = switch_outs_format.sample_type,
		.sample_regs_user = switch_outs_format.regs_user,
		.sample_stack_user = asked && asked < COPY_BYTES ? asked : COPY_BYTES,
		.exclude_callchain_user = 1,
	};
	int result = 0;
	if (!outs->traced.rings.nr)
		result = traced_open(sampler, &outs->traced, "sched:sched_switch", PAGES,
				     PAGES_LEAST, true);
	if (!result)
		result = traced_follow(sampler, &outs->traced, attr, &field, threads);
	outs->period = result ? 0 : period;
	return result;
}

void sampler_set_switch_out_period(struct sampler *sampler, uint64_t period)
{
	struct switch_outs *outs = &sampler->switch_outs;
	for (size_t i = 0; i < outs->traced.rings.fds.nr; i++)
		ioctl(outs->traced.rings.fds.items[i], PERF_EVENT_IOC_PERIOD, &period);
	outs->period = period;
}

uint64_t sampler_switch_out_period(const struct sampler *sampler)
{
	return sampler->switch_outs.period;
}

uint64_t sampler_switch_outs_lost(const struct sampler *sampler)
{
	return traced_lost(&sampler->switch_outs.traced);
}

void sampler_end_switch_outs(struct sampler *sampler)
{
	traced_end(&sampler->switch_outs.traced);
}

bool switch_outs_parse(const struct perf_event_header *header, struct record *record)
{
	if (header->type != PERF_RECORD_SAMPLE ||
	    record_parse(header, header->size, &switch_outs_format, record))
		return false;
	record->type = RECORD_SWITCHED_OUT;
	return true;
}
