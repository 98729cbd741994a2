/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/kernel/event_unit.h>

enum { PIPE_HEADER_BYTES = 16, ATTR_BYTES_MAX = 4096, RECORD_BYTES_MAX = 65536 };
/* An id for each event, thread and CPU. */
enum { IDS_MAX = 1 << 20 };

static const char magic[8] = "PERFILE2", swapped_magic[8] = "2ELIFREP", old_magic[8] = "PERFFILE";

/* Up to size bytes: 0 and how many there are, or -errno. */
static int read_up_to(int fd, uint64_t offset, void *bytes, size_t size, size_t *used)
{
	*used = 0;
	while (*used < size && offset <= INT64_MAX - size) {
		ssize_t got =
			pread(fd, (uint8_t *)bytes + *used, size - *used, (off_t)(offset + *used));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		*used += (size_t)got;
	}
	return 0;
}

int perfdata_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t used;
	int result = read_up_to(fd, offset, bytes, size, &used);
	return result ? result : used < size ? -ENODATA : 0;
}

size_t perfdata_read_most_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t used;
	read_up_to(fd, offset, bytes, size, &used);
	return used;
}

static int refuse(struct error *error, const char *cause, const char *remedy)
{
	error_set(error, -ENOTSUP, "%s", cause);
	error_remedy(error, "%s", remedy);
	return -ENOTSUP;
}

static int refuse_damage(struct error *error, const char *cause)
{
	error_set(error, -EINVAL, "is damaged: %s", cause);
	error_remedy(error, "record again with perf record or ctop record");
	return -EINVAL;
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

/* What an event is called where the file does not say: as perf list calls it. */
static void name_event(struct perfdata_event *event, const struct perf_event_attr *attr)
{
	static const char *const software[] = {
		"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
		"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
		"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
	};
	static const char *const hardware[] = {
		"cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branches",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
	};
	const char *name = NULL;
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < sizeof(software) / sizeof(*software))
		name = software[attr->config];
	if (attr->type == PERF_TYPE_HARDWARE && attr->config < sizeof(hardware) / sizeof(*hardware))
		name = hardware[attr->config];
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
	if (perfdata->ids.nr == IDS_MAX)
		return -EINVAL;
	if (vec_reserve(&perfdata->ids, perfdata->ids.nr + 1) ||
	    index_reserve(&perfdata->ids_index))
		return -ENOMEM;
	index_add(&perfdata->ids_index, hash_u64(id), (uint32_t)perfdata->ids.nr);
	perfdata->ids.items[perfdata->ids.nr++] = (struct event_name_id){id, event};
	return 0;
}

static int read_ids(struct perfdata *perfdata, int fd, const struct file_section *section,
		    uint32_t event, struct error *error)
{
	uint64_t nr = section->size / sizeof(uint64_t);
	if (nr > IDS_MAX - perfdata->ids.nr)
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
	error_remedy(error, "use the ctop of such a machine, or look at it with perf report");
	return -ENOTSUP;
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

struct perfdata *perfdata_open(int fd, int *code, struct error *error)
{
	return perfdata_open_parts(fd, NULL, 0, code, error);
}

struct perfdata *perfdata_open_parts(int fd, const int *parts, size_t nr_parts, int *code,
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
