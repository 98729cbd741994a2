/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <ctop/base/vec.h>
#include <ctop/kernel/named_events.h>

/* What an event is called where the file does not say: as perf list calls it. */
static void name_event(struct perfdata_event *event, const struct perf_event_attr *attr)
{
	const char *name = event_name(attr->type, attr->config);
	const char *modifier = attr->exclude_kernel == attr->exclude_user ? ""
			       : attr->exclude_kernel			  ? ":u"
									  : ":k";
	if (name)
		snprintf(event->name, sizeof(event->name), "%s%s", name, modifier);
	else
		snprintf(event->name, sizeof(event->name), "type-%" PRIu32 ":0x%" PRIx64,
			 (uint32_t)attr->type, (uint64_t)attr->config);
}

void perfdata_set_event(struct perfdata_event *event, const struct perf_event_attr *attr)
{
	*event = (struct perfdata_event){
		.format = {.sample_type = attr->sample_type,
			   .read_format = attr->read_format,
			   .branch_type = attr->branch_sample_type,
			   .regs_user = attr->sample_regs_user,
			   .sample_id_all = attr->sample_id_all},
		.period = attr->freq ? 0 : attr->sample_period,
		.frequency_hz = attr->freq ? attr->sample_freq : 0,
		.unit = event_unit(attr->type, attr->config),
	};
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		event->dump_bytes = attr->sample_stack_user;
	name_event(event, attr);
}

int perfdata_add_id(struct perfdata *perfdata, uint64_t id, uint32_t event)
{
	if (perfdata->ids.nr == PERFDATA_IDS_MAX)
		return -EINVAL;
	if (vec_reserve(&perfdata->ids, perfdata->ids.nr + 1) ||
	    index_reserve(&perfdata->ids_index))
		return -ENOMEM;
	index_add(&perfdata->ids_index, hash_u64(id), (uint32_t)perfdata->ids.nr);
	perfdata->ids.items[perfdata->ids.nr++] = (struct event_name_id){id, event};
	return 0;
}

bool perfdata_find_event(const struct perfdata *perfdata, uint64_t id, uint32_t *event)
{
	struct index_probe probe = index_find(&perfdata->ids_index, hash_u64(id));
	uint32_t row;
	while (index_next(&perfdata->ids_index, &probe, &row)) {
		if (perfdata->ids.items[row].id != id)
			continue;
		*event = perfdata->ids.items[row].event;
		return true;
	}
	return false;
}
