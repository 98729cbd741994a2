/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/vec.h>

enum { PIPE_HEADER_BYTES = 16, ATTR_BYTES_MAX = 4096, RECORD_BYTES_MAX = 65536 };
static const char magic[8] = "PERFILE2", swapped_magic[8] = "2ELIFREP", old_magic[8] = "PERFFILE";

static int refuse(struct error *error, const char *cause, const char *remedy)
{
	error_set(error, -ENOTSUP, "%s", cause);
	return error_remedy(error, "%s", remedy);
}

static int refuse_damage(struct error *error, const char *cause)
{
	error_set(error, -EINVAL, "is damaged: %s", cause);
	return error_remedy(error, "record again with perf record or ctop record");
}

static int refuse_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "cannot be read: out of memory");
}

/* ---- the header ---- */

static int check_magic(const struct file_header *header, struct error *error)
{
	if (!memcmp(&header->magic, swapped_magic, sizeof(magic)))
		return refuse(error, "was recorded on a machine of the other byte order",
			      "read it on a machine like the one that it was recorded on");
	if (!memcmp(&header->magic, old_magic, sizeof(magic)))
		return refuse(error, "is of the format that perf had until Linux 3.0",
			      "record again with perf record or ctop record");
	if (memcmp(&header->magic, magic, sizeof(magic)))
		return refuse(error, "is not a perf.data file",
			      "make one with perf record -o FILE");
	if (header->size == PIPE_HEADER_BYTES)
		return 0;
	if (header->size > sizeof(*header))
		return refuse(error, "is of a newer format than this version of ctop knows",
			      "use a newer ctop, or look at it with perf report");
	if (header->size < sizeof(*header))
		return refuse_damage(error, "its header is too short");
	return 0;
}

static bool has_feature(const struct file_header *header, enum perfdata_feature feature)
{
	return header->features[feature / 64] >> feature % 64 & 1;
}

static int read_header(int fd, struct file_header *header, struct error *error)
{
	memset(header, 0, sizeof(*header));
	int result = perfdata_read_at(fd, 0, header, PIPE_HEADER_BYTES);
	if (!result)
		result = check_magic(header, error);
	else if (result == -ENODATA)
		return refuse_damage(error, "it ends inside its header");
	else
		return error_set(error, result, "cannot be read: %s", strerror(-result));
	if (!result && header->size == PIPE_HEADER_BYTES)
		return 0;
	if (!result && perfdata_read_at(fd, 0, header, sizeof(*header)))
		return refuse_damage(error, "it ends inside its header");
	if (result)
		return result;
	return 0;
}

/* Where the data is; a file that was not closed does not say. */
static int find_data(struct perfdata *perfdata, int fd, struct file_header *header,
		     uint64_t *file_bytes, struct error *error)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return error_set(error, -errno, "cannot be read: %s", strerror(errno));
	*file_bytes = (uint64_t)stat.st_size;
	struct file_section *data = &header->data;
	if (data->offset > *file_bytes)
		return refuse_damage(error, "it ends before its records begin");
	if (!data->size) {
		perfdata->unfinished = true;
		data->size = *file_bytes - data->offset;
		memset(header->features, 0, sizeof(header->features));
	}
	if (data->size > INT64_MAX - data->offset)
		return refuse_damage(error, "its records would not fit into any file");
	return 0;
}

/* ---- events ---- */

static int read_ids(struct perfdata *perfdata, int fd, const struct file_section *section,
		    uint32_t event, struct error *error)
{
	uint64_t nr = section->size / sizeof(uint64_t);
	if (nr > PERFDATA_IDS_MAX - perfdata->ids.nr)
		return refuse_damage(error, "it has too many ids of events");
	if (vec_reserve(&perfdata->ids, perfdata->ids.nr + nr))
		return refuse_memory(error);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t id;
		if (perfdata_read_at(fd, section->offset + i * sizeof(id), &id, sizeof(id)))
			return refuse_damage(error, "it ends inside its list of events");
		if (perfdata_add_id(perfdata, id, event))
			return refuse_memory(error);
	}
	return 0;
}

/* Which event a record is of must be told before its layout is known. */
static bool layouts_agree(const struct perfdata *perfdata)
{
	const struct record_format *first = &perfdata->events[0].format;
	for (size_t i = 1; i < perfdata->nr_events; i++) {
		const struct record_format *other = &perfdata->events[i].format;
		if (other->sample_id_all != first->sample_id_all)
			return false;
		if (!(first->sample_type & other->sample_type & PERF_SAMPLE_IDENTIFIER) &&
		    first->sample_type != other->sample_type)
			return false;
	}
	return true;
}

static int read_events(struct perfdata *perfdata, int fd, const struct file_header *header,
		       struct error *error)
{
	struct file_section ids;
	uint64_t entry_bytes = header->attr_size;
	if (entry_bytes < PERF_ATTR_SIZE_VER0 + sizeof(ids) || entry_bytes > ATTR_BYTES_MAX)
		return refuse_damage(error, "its list of events has no possible layout");
	uint64_t nr = header->attrs.size / entry_bytes;
	if (!nr)
		return refuse_damage(error, "it has no events");
	if (nr > PERFDATA_MAX_EVENTS)
		return refuse(error, "has more events than ctop can tell apart",
			      "record at most 250 events");
	perfdata->events = calloc(nr, sizeof(*perfdata->events));
	if (!perfdata->events)
		return refuse_memory(error);
	perfdata->nr_events = nr;
	for (uint32_t i = 0; i < nr; i++) {
		uint8_t entry[ATTR_BYTES_MAX];
		struct perf_event_attr attr = {0};
		size_t attr_bytes = entry_bytes - sizeof(ids);
		if (header->attrs.offset > INT64_MAX - header->attrs.size ||
		    perfdata_read_at(fd, header->attrs.offset + i * entry_bytes, entry,
				     entry_bytes))
			return refuse_damage(error, "it ends inside its list of events");
		memcpy(&attr, entry, attr_bytes < sizeof(attr) ? attr_bytes : sizeof(attr));
		memcpy(&ids, entry + attr_bytes, sizeof(ids));
		perfdata_set_event(&perfdata->events[i], &attr);
		int result = read_ids(perfdata, fd, &ids, i, error);
		if (result)
			return result;
	}
	return 0;
}

/* Events and facts, and where the records are: in a header, or in records before them. */
static int read_head(struct perfdata *perfdata, int fd, struct file_header *header,
		     uint64_t *file_bytes, struct error *error)
{
	const bool piped = header->size == PIPE_HEADER_BYTES;
	if (piped)
		header->data = (struct file_section){PIPE_HEADER_BYTES, 1};
	int result = find_data(perfdata, fd, header, file_bytes, error);
	if (!result && !piped)
		result = read_events(perfdata, fd, header, error);
	else if (!result && perfdata_read_pipe(perfdata, fd, &header->data))
		result = refuse_memory(error);
	if (!result && !perfdata->nr_events)
		result = refuse_damage(error, "it has no events");
	if (!result && !layouts_agree(perfdata))
		result = refuse(error, "has events whose samples cannot be told apart",
				"record one event at a time");
	if (piped)
		header->data.size =
			*file_bytes > header->data.offset ? *file_bytes - header->data.offset : 0;
	else if (!result && perfdata_read_features(perfdata, header))
		result = refuse_memory(error);
	return result;
}

/* ---- life ---- */

/* As uname -m says it: registers and stacks are read as this program's own machine has them. */
#if defined(__aarch64__)
static const char own_arch[] = "aarch64";
#else
static const char own_arch[] = "x86_64";
#endif

static int check_arch(const struct perfdata *perfdata, struct error *error)
{
	const char *arch = perfdata->facts.arch;
	if (!arch[0] || !strcmp(arch, own_arch))
		return 0;
	error_set(error, -ENOTSUP, "was recorded on %.32s: this ctop reads files of %s", arch,
		  own_arch);
	return error_remedy(error,
			    "use the ctop of such a machine, or look at it with perf report");
}

static int open_file(struct perfdata *perfdata, int fd, struct error *error)
{
	struct file_header header;
	uint64_t file_bytes = 0;
	int result = read_header(fd, &header, error);
	if (!result)
		result = read_head(perfdata, fd, &header, &file_bytes, error);
	if (!result)
		result = check_arch(perfdata, error);
	if (result)
		return result;
	perfdata->scratch = malloc(RECORD_BYTES_MAX);
	if (!perfdata->scratch || stream_init(&perfdata->stream, fd, &header.data, file_bytes))
		return refuse_memory(error);
	perfdata->is_one_of_several = has_feature(&header, FEATURE_DIR_FORMAT);
	return 0;
}

/* The streams of all files; those that are not made yet have a descriptor alone. */
static int open_parts(struct perfdata *perfdata, struct error *error)
{
	for (size_t i = 1; i < perfdata->nr_parts; i++) {
		struct part *part = &perfdata->parts[i];
		struct stat stat;
		if (fstat(part->stream.fd, &stat) < 0)
			return error_set(error, -errno, "cannot be read: %s", strerror(errno));
		const struct file_section all = {0, (uint64_t)stat.st_size};
		if (stream_init(&part->stream, part->stream.fd, &all, all.size))
			return refuse_memory(error);
	}
	perfdata->parts[0].stream = perfdata->stream;
	perfdata->stream = (struct stream){.fd = -1};
	return 0;
}

struct perfdata *perfdata_open(int fd, const int *parts, size_t nr_parts, int *code,
			       struct error *error)
{
	struct perfdata *perfdata = calloc(1, sizeof(*perfdata));
	if (perfdata && nr_parts)
		perfdata->parts = calloc(nr_parts + 1, sizeof(*perfdata->parts));
	if (!perfdata || (nr_parts && !perfdata->parts)) {
		close(fd);
		for (size_t i = 0; i < nr_parts; i++)
			close(parts[i]);
		free(perfdata);
		*code = refuse_memory(error);
		return NULL;
	}
	perfdata->stream.fd = fd;
	perfdata->nr_parts = nr_parts ? nr_parts + 1 : 0;
	for (size_t i = 0; i < perfdata->nr_parts; i++)
		perfdata->parts[i].stream.fd = i ? parts[i - 1] : -1;
	*code = open_file(perfdata, fd, error);
	if (!*code && perfdata->is_one_of_several && !nr_parts)
		*code = refuse(error, "is one of several files of a recording",
			       "name the directory that it is in");
	if (!*code && nr_parts)
		*code = open_parts(perfdata, error);
	if (!*code)
		return perfdata;
	perfdata_close(perfdata);
	return NULL;
}

void perfdata_close(struct perfdata *perfdata)
{
	if (!perfdata)
		return;
	chunk_leave(&perfdata_stream(perfdata, perfdata->in_hand_part)->packed, perfdata->in_hand);
	for (size_t i = 0; i < perfdata->order.nr; i++) {
		const struct queued *item = &perfdata->order.items[i];
		chunk_leave(&perfdata_stream(perfdata, item->part)->packed, item->chunk);
	}
	free(perfdata->order.items);
	for (size_t i = 0; i < perfdata->build_ids.nr; i++)
		free(perfdata->build_ids.items[i].name);
	free(perfdata->build_ids.items);
	index_release(&perfdata->build_ids_index);
	free(perfdata->ids.items);
	index_release(&perfdata->ids_index);
	free(perfdata->events);
	free(perfdata->scratch);
	stream_release(&perfdata->stream);
	for (size_t i = 0; i < perfdata->nr_parts; i++)
		stream_release(&perfdata->parts[i].stream);
	free(perfdata->parts);
	free(perfdata);
}

size_t perfdata_nr_events(const struct perfdata *perfdata)
{
	return perfdata->nr_events;
}

const struct perfdata_event *perfdata_event(const struct perfdata *perfdata, size_t event)
{
	return &perfdata->events[event];
}

const struct perfdata_facts *perfdata_facts(const struct perfdata *perfdata)
{
	return &perfdata->facts;
}
