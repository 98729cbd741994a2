/* SPDX-License-Identifier: MIT */
/*
 * What perf record -o - writes: a header that is its mark alone, and what else one says as records before the first of the
 * kernel's (tools/perf/Documentation/perf.data-file-format.txt, "Pipe-mode data"). Read from a file that somebody put it into.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

enum { MARK_BYTES = 16, RECORDS_MAX = 1 << 20, UPDATE_NAME = 2 };

/* What every kind begins with. */
struct piped {
	struct perf_event_header header;
	uint8_t body[UINT16_MAX];
};

static int add_event(struct perfdata *perfdata, const struct piped *record, size_t size)
{
	struct perf_event_attr attr = {0};
	uint32_t own_bytes;
	if (size < PERF_ATTR_SIZE_VER0 || perfdata->nr_events == PERFDATA_MAX_EVENTS)
		return -EINVAL;
	memcpy(&own_bytes, record->body + offsetof(struct perf_event_attr, size),
	       sizeof(own_bytes));
	if (own_bytes < PERF_ATTR_SIZE_VER0 || own_bytes > size)
		return -EINVAL;
	memcpy(&attr, record->body, own_bytes < sizeof(attr) ? own_bytes : sizeof(attr));
	const uint32_t event = (uint32_t)perfdata->nr_events++;
	perfdata_set_event(&perfdata->events[event], &attr);
	int result = 0;
	for (size_t at = own_bytes; !result && size - at >= sizeof(uint64_t);
	     at += sizeof(uint64_t)) {
		uint64_t id;
		memcpy(&id, record->body + at, sizeof(id));
		result = perfdata_add_id(perfdata, id, event);
	}
	return result;
}

static int name_event(struct perfdata *perfdata, const struct piped *record, size_t size)
{
	uint64_t what, id;
	uint32_t event;
	if (size <= sizeof(what) + sizeof(id))
		return -EINVAL;
	memcpy(&what, record->body, sizeof(what));
	memcpy(&id, record->body + sizeof(what), sizeof(id));
	if (what != UPDATE_NAME || !perfdata_find_event(perfdata, id, &event))
		return 0;
	const uint8_t *name = record->body + sizeof(what) + sizeof(id);
	size_t most = sizeof(perfdata->events[event].name) - 1;
	size_t length = strnlen((const char *)name, size - sizeof(what) - sizeof(id));
	if (length > most)
		length = most;
	if (!length)
		return 0;
	memcpy(perfdata->events[event].name, name, length);
	perfdata->events[event].name[length] = '\0';
	return 0;
}

static int take_feature(struct perfdata *perfdata, const struct piped *record, size_t size)
{
	uint64_t feature;
	if (size < sizeof(feature))
		return -EINVAL;
	memcpy(&feature, record->body, sizeof(feature));
	return perfdata_take_feature(perfdata, feature, record->body + sizeof(feature),
				     size - sizeof(feature));
}

/* 0; -EINVAL: it makes no sense, -ENOMEM. */
static int take(struct perfdata *perfdata, const struct piped *record)
{
	size_t size = record->header.size - sizeof(record->header);
	switch (record->header.type) {
	case PERFDATA_RECORD_ATTR:
		return add_event(perfdata, record, size);
	case PERFDATA_RECORD_EVENT_UPDATE:
		return name_event(perfdata, record, size);
	case PERFDATA_RECORD_FEATURE:
		return take_feature(perfdata, record, size);
	case PERFDATA_RECORD_BUILD_ID:
		return perfdata_take_feature(perfdata, FEATURE_BUILD_ID, record,
					     record->header.size);
	default:
		return 0;
	}
}

/* Up to the first of the kernel's records: 0 and *at; -ENOMEM. What ends before is for who reads the records to tell. */
static int read_own(struct perfdata *perfdata, int fd, struct piped *record, uint64_t *at)
{
	for (size_t i = 0; i < RECORDS_MAX; i++) {
		uint64_t trailing;
		if (perfdata_read_at(fd, *at, &record->header, sizeof(record->header)) ||
		    record->header.type < PERFDATA_RECORD_FIRST_OWN ||
		    record->header.size < sizeof(record->header) ||
		    perfdata_read_at(fd, *at, record, record->header.size) ||
		    !stream_trailing_bytes((const uint8_t *)record, &record->header, &trailing))
			return 0;
		/* These may be the kernel's. */
		if (record->header.type == PERFDATA_RECORD_COMPRESSED ||
		    record->header.type == PERFDATA_RECORD_COMPRESSED2)
			return 0;
		int result = take(perfdata, record);
		if (result == -ENOMEM)
			return result;
		perfdata->damaged_features += result != 0;
		if (trailing > INT64_MAX - *at - record->header.size)
			return 0;
		*at += record->header.size + trailing;
	}
	return 0;
}

int perfdata_read_pipe(struct perfdata *perfdata, int fd, struct file_section *data)
{
	struct piped *record = malloc(sizeof(*record));
	perfdata->events = calloc(PERFDATA_MAX_EVENTS, sizeof(*perfdata->events));
	data->offset = MARK_BYTES;
	int result = record && perfdata->events ? read_own(perfdata, fd, record, &data->offset)
						: -ENOMEM;
	free(record);
	return result;
}
