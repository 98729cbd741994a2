/* SPDX-License-Identifier: MIT */
/*
 * What perf record -o - writes: a header that is its mark alone, and what else one says as records
 * (tools/perf/Documentation/perf.data-file-format.txt, "Pipe-mode data"). perf record writes them before the first of the
 * kernel's, perf inject adds build-ids in between, so that all of the file is gone through. Read from a file that somebody put
 * it into.
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

enum { MARK_BYTES = 16, OWN_RECORDS_MAX = 1 << 20, UPDATE_NAME = 2, WINDOW_BYTES = 1 << 20 };

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

/* A part of the file, read at once: records are small. And the one of them that is looked at. */
struct window {
	int fd;
	uint64_t start;
	size_t nr;
	uint64_t names_at; /* the list of all events' names, which may come before them; 0: none */
	uint8_t bytes[WINDOW_BYTES];
	struct piped record;
};

/* NULL: the file ends before. */
static const uint8_t *look(struct window *window, uint64_t at, size_t size)
{
	if (at < window->start || at + size > window->start + window->nr) {
		window->start = at;
		window->nr = perfdata_read_most_at(window->fd, at, window->bytes, WINDOW_BYTES);
	}
	return size <= window->nr ? window->bytes + (at - window->start) : NULL;
}

/* perf packs what the kernel wrote. */
static bool is_of_kernel(uint32_t type)
{
	return type < PERFDATA_RECORD_FIRST_OWN || type == PERFDATA_RECORD_COMPRESSED ||
	       type == PERFDATA_RECORD_COMPRESSED2;
}

static bool lists_names(const struct piped *record)
{
	uint64_t feature;
	if (record->header.type != PERFDATA_RECORD_FEATURE ||
	    record->header.size < sizeof(record->header) + sizeof(feature))
		return false;
	memcpy(&feature, record->body, sizeof(feature));
	return feature == FEATURE_EVENT_DESC;
}

/* 0 or -ENOMEM. */
static int take_names(struct perfdata *perfdata, struct window *window)
{
	struct perf_event_header header;
	const uint8_t *bytes = look(window, window->names_at, sizeof(header));
	if (!window->names_at || !bytes)
		return 0;
	memcpy(&header, bytes, sizeof(header));
	bytes = look(window, window->names_at, header.size);
	if (!bytes || header.size < sizeof(header))
		return 0;
	memcpy(&window->record, bytes, header.size);
	int result = lists_names(&window->record) ? take(perfdata, &window->record) : -EINVAL;
	perfdata->damaged_features += result == -EINVAL;
	return result == -ENOMEM ? result : 0;
}

/*
 * 0 and where the first of the kernel's records is, or what makes no sense; -ENOMEM. What ends early is for who reads the
 * records to tell.
 */
static int read_own(struct perfdata *perfdata, struct window *window, uint64_t *first)
{
	struct perf_event_header *header = &window->record.header;
	uint64_t at = *first, trailing;
	bool found = false;
	for (size_t nr = 0; nr < OWN_RECORDS_MAX;) {
		const uint8_t *bytes = look(window, at, sizeof(*header));
		if (!bytes)
			break;
		memcpy(header, bytes, sizeof(*header));
		if (header->size < sizeof(*header))
			break;
		if (is_of_kernel(header->type)) {
			found = true;
			at += header->size;
			continue;
		}
		bytes = look(window, at, header->size);
		if (!bytes || !stream_trailing_bytes(bytes, header, &trailing))
			break;
		memcpy(&window->record, bytes, header->size);
		int result = 0;
		if (lists_names(&window->record))
			window->names_at = at;
		else
			result = take(perfdata, &window->record);
		if (result == -ENOMEM)
			return result;
		perfdata->damaged_features += result != 0;
		if (trailing > INT64_MAX - at - header->size)
			break;
		at += header->size + trailing;
		nr++;
		if (!found)
			*first = at;
	}
	return take_names(perfdata, window);
}

int perfdata_read_pipe(struct perfdata *perfdata, int fd, struct file_section *data)
{
	struct window *window = malloc(sizeof(*window));
	perfdata->events = calloc(PERFDATA_MAX_EVENTS, sizeof(*perfdata->events));
	data->offset = MARK_BYTES;
	int result = -ENOMEM;
	if (window && perfdata->events) {
		window->fd = fd;
		window->start = window->names_at = 0;
		window->nr = 0;
		result = read_own(perfdata, window, &data->offset);
	}
	free(window);
	return result;
}
