/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/perf/pmu.h>

#include "sampler_internal.h"

static void tell_pmu_event(void *context, const char *name)
{
	const struct catalog_reader *reader = context;
	reader->event(reader->context, EVENT_PMU, name, "");
}

static void tell_probes(const struct catalog_reader *reader)
{
	static const struct {
		const char *pmu, *name, *description;
	} probes[] = {
		{"uprobe", "uprobe:/FILE:FUNCTION", "calls of a program's or library's function"},
		{"uprobe", "uretprobe:/FILE:FUNCTION", "its returns"},
		{"uprobe", "uprobe:/FILE+0", "an instruction, by its offset in the file"},
		{"kprobe", "kprobe:FUNCTION", "calls of a function of the kernel"},
		{"kprobe", "kretprobe:FUNCTION", "its returns"},
	};
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (pmu_type(PMU_DEVICES, probes[i].pmu) >= 0)
			reader->event(reader->context, EVENT_PROBE, probes[i].name,
				      probes[i].description);
}

int catalog_read(const struct catalog_reader *reader)
{
	struct catalog_reader copy = *reader;
	names_each(reader);
	pmu_each_event(PMU_DEVICES, tell_pmu_event, &copy);
	tell_probes(reader);
	libpfm_each(reader);
	return tracepoint_each(reader);
}

int catalog_try(const struct event *event, bool *user_only)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_user = !event->user,
		.exclude_kernel = !event->kernel,
		.exclude_hv = !event->hypervisor,
		.precise_ip = (unsigned)event->precise & 3u,
	};
	event_fill_attr(event, &attr);
	*user_only = false;
	int fd = perf_open(&attr, 0, -1);
	if ((fd == -EACCES || fd == -EPERM) && event->user && !event->happens_in_kernel) {
		attr.exclude_kernel = 1;
		attr.exclude_hv = 1;
		*user_only = true;
		fd = perf_open(&attr, 0, -1);
	}
	/* Who may not set a probe learns that before anybody looks for its place. */
	if (event->probe[0] && (fd == -ENOENT || fd == -EINVAL))
		return 0;
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}
