/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>

#include <ctop/base/library.h>

/* Its tables hold 41,000 addresses, a millisecond and a MiB of each process that it is loaded in: few events need it. */
static struct libpfm {
	void *handle;
	__typeof__(&pfm_initialize) initialize;
	__typeof__(&pfm_terminate) terminate;
	__typeof__(&pfm_get_os_event_encoding) encode;
	__typeof__(&pfm_get_pmu_info) pmu_info;
	__typeof__(&pfm_get_event_info) event_info;
	__typeof__(&pfm_get_event_next) event_next;
	__typeof__(&pfm_get_event_attr_info) attribute_info;
} pfm;

static bool load(void)
{
	if (!pfm.handle)
		pfm.handle = library_load("libpfm.so.4");
	return pfm.handle && library_find(pfm.handle, "pfm_initialize", &pfm.initialize) &&
	       library_find(pfm.handle, "pfm_terminate", &pfm.terminate) &&
	       library_find(pfm.handle, "pfm_get_os_event_encoding", &pfm.encode) &&
	       library_find(pfm.handle, "pfm_get_pmu_info", &pfm.pmu_info) &&
	       library_find(pfm.handle, "pfm_get_event_info", &pfm.event_info) &&
	       library_find(pfm.handle, "pfm_get_event_next", &pfm.event_next) &&
	       library_find(pfm.handle, "pfm_get_event_attr_info", &pfm.attribute_info);
}

static bool begin(void)
{
	return load() && pfm.initialize() == PFM_SUCCESS;
}

bool libpfm_is_here(void)
{
	return load();
}

bool libpfm_find(const char *name, struct event *event)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	if (!begin())
		return false;
	bool found =
		pfm.encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg) == PFM_SUCCESS;
	if (found) {
		event->type = attr.type;
		event->config = attr.config;
		event->config1 = attr.config1;
		event->config2 = attr.config2;
	}
	pfm.terminate();
	return found;
}

static void tell_unit_masks(const struct catalog_reader *reader, int index,
			    const pfm_event_info_t *info)
{
	char name[EVENT_TEXT_BYTES];
	for (int i = 0; i < info->nattrs; i++) {
		pfm_event_attr_info_t attribute = {.size = sizeof(attribute)};
		if (pfm.attribute_info(index, i, PFM_OS_PERF_EVENT, &attribute) != PFM_SUCCESS ||
		    attribute.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", info->name, attribute.name);
		reader->event(reader->context, EVENT_CPU, name,
			      attribute.desc ? attribute.desc : info->desc);
	}
}

static void tell_events(const struct catalog_reader *reader, const pfm_pmu_info_t *pmu)
{
	for (int i = pmu->first_event; i != -1; i = pfm.event_next(i)) {
		pfm_event_info_t info = {.size = sizeof(info)};
		if (pfm.event_info(i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
			continue;
		reader->event(reader->context, EVENT_CPU, info.name, info.desc ? info.desc : "");
		tell_unit_masks(reader, i, &info);
	}
}

void libpfm_each(const struct catalog_reader *reader)
{
	if (!begin())
		return;
	for (pfm_pmu_t pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		pfm_pmu_info_t info = {.size = sizeof(info)};
		/* The kernel's own events have shorter names here, and raw codes have none. */
		if (pfm.pmu_info(pmu, &info) == PFM_SUCCESS && info.is_present &&
		    pmu != PFM_PMU_PERF_EVENT && pmu != PFM_PMU_PERF_EVENT_RAW)
			tell_events(reader, &info);
	}
	pfm.terminate();
}
