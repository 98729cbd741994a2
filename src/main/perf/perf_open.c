/* SPDX-License-Identifier: MIT */
/* The one place that calls perf_event_open(2), with the privilege that it needs. */
#include "sampler_internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

/* pid is the cgroup's descriptor with PERF_FLAG_PID_CGROUP. */
static int open_event(const struct perf_event_attr *attr, int pid, int cpu, int leader,
		      unsigned long flags)
{
	struct perf_event_attr copy = *attr; /* the kernel writes its own size there on E2BIG */
	struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
	long fd =
		syscall(SYS_perf_event_open, &copy, pid, cpu, leader, flags | PERF_FLAG_FD_CLOEXEC);
	privilege_restore(&before);
	return fd < 0 ? -errno : (int)fd;
}

int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return open_event(attr, pid, cpu, -1, 0);
}

int sampler_open_on(const struct sampler *sampler, const struct perf_event_attr *attr, int32_t tid,
		    int32_t cpu, int leader)
{
	const int cgroup_fd = sampler->options.cgroup_fd;
	return tid < 0 && cgroup_fd > 0
		       ? open_event(attr, cgroup_fd, cpu, leader, PERF_FLAG_PID_CGROUP)
		       : open_event(attr, tid, cpu, leader, 0);
}

int perf_open_ring_owner(int32_t cpu, uint32_t wakeup_bytes)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = wakeup_bytes,
	};
	return perf_open(&attr, getpid(), cpu);
}
