/* SPDX-License-Identifier: MIT */
/*
 * The feature sections behind the data: (offset, size) of one section for each bit set in the
 * header, in the order of the bits. Layouts: tools/perf/Documentation/perf.data-file-format.txt. A
 * section that makes no sense is left out: the records can be read without.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

enum { SECTION_BYTES_MAX = 64 << 20, BUILD_IDS_MAX = 1 << 18 };
enum { BUILD_ID_BYTES = 20, BUILD_ID_SIZE_AT = 20, BUILD_ID_FIELD_BYTES = 24 };
/* The size of a build-id is in the record; older ones have 20 bytes (tools/perf/util/event.h). */
enum { MISC_BUILD_ID_SIZE = 1 << 15 };

struct section {
	const uint8_t *bytes;
	size_t left;
};

static bool take(struct section *section, void *value, size_t size)
{
	if (section->left < size)
		return false;
	memcpy(value, section->bytes, size);
	section->bytes += size;
	section->left -= size;
	return true;
}

static bool take_u32(struct section *section, uint32_t *value)
{
	return take(section, value, sizeof(*value));
}

/* perf's string: its length, padding counted, and NUL-terminated bytes. */
static bool take_string(struct section *section, char *string, size_t size)
{
	uint32_t length;
	if (!take_u32(section, &length) || length > section->left)
		return false;
	size_t used = strnlen((const char *)section->bytes, length);
	if (used > size - 1)
		used = size - 1;
	memcpy(string, section->bytes, used);
	string[used] = '\0';
	section->bytes += length;
	section->left -= length;
	return true;
}

/* ---- build-ids ---- */

static struct known_build_id *find_build_id(const struct perfdata *perfdata, const char *name)
{
	struct index_probe probe =
		index_find(&perfdata->build_ids_index, hash_bytes(name, strlen(name)));
	uint32_t row;
	while (index_next(&perfdata->build_ids_index, &probe, &row))
		if (strcmp(perfdata->build_ids.items[row].name, name) == 0)
			return &perfdata->build_ids.items[row];
	return NULL;
}

static int add_build_id(struct perfdata *perfdata, const struct known_build_id *like)
{
	struct known_build_id *known = find_build_id(perfdata, like->name);
	if (known) {
		/* The file was replaced meanwhile: which of them a mapping had is not said. */
		if (known->size != like->size ||
		    memcmp(known->build_id, like->build_id, like->size))
			known->size = 0;
		return 0;
	}
	if (vec_reserve(&perfdata->build_ids, perfdata->build_ids.nr + 1) ||
	    index_reserve(&perfdata->build_ids_index))
		return -ENOMEM;
	struct known_build_id added = *like;
	added.name = strdup(like->name);
	if (!added.name)
		return -ENOMEM;
	index_add(&perfdata->build_ids_index, hash_bytes(added.name, strlen(added.name)),
		  (uint32_t)perfdata->build_ids.nr);
	perfdata->build_ids.items[perfdata->build_ids.nr++] = added;
	return 0;
}

static bool is_kernel(const char *name)
{
	const char *slash = strrchr(name, '/');
	return !strncmp(name, "[kernel", 7) || !strncmp(slash ? slash + 1 : name, "vmlinux", 7);
}

/* One record: header, pid, build-id with its size behind, name. 0, -EINVAL, -ENOMEM. */
static int read_build_id(struct perfdata *perfdata, struct section *section)
{
	struct perf_event_header header;
	int32_t pid;
	uint8_t field[BUILD_ID_FIELD_BYTES];
	char name[4096 + 1];
	size_t fixed = sizeof(header) + sizeof(pid) + sizeof(field);
	if (!take(section, &header, sizeof(header)) || header.size <= fixed ||
	    header.size - sizeof(header) > section->left)
		return -EINVAL;
	struct section body = {section->bytes, header.size - sizeof(header)};
	section->bytes += body.left;
	section->left -= body.left;
	if (!take(&body, &pid, sizeof(pid)) || !take(&body, field, sizeof(field)))
		return -EINVAL;
	size_t size = body.left < sizeof(name) - 1 ? body.left : sizeof(name) - 1;
	memcpy(name, body.bytes, size);
	name[size] = '\0';
	uint16_t mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (mode != PERF_RECORD_MISC_KERNEL && mode != PERF_RECORD_MISC_USER)
		return 0; /* a guest's */
	struct known_build_id known = {
		.name = name,
		.size = header.misc & MISC_BUILD_ID_SIZE ? field[BUILD_ID_SIZE_AT] : BUILD_ID_BYTES,
		.is_kernel = mode == PERF_RECORD_MISC_KERNEL && is_kernel(name),
	};
	if (!known.size || known.size > BUILD_ID_BYTES)
		return -EINVAL;
	memcpy(known.build_id, field, sizeof(known.build_id));
	return add_build_id(perfdata, &known);
}

static int read_build_ids(struct perfdata *perfdata, struct section *section)
{
	while (section->left && perfdata->build_ids.nr < BUILD_IDS_MAX) {
		int result = read_build_id(perfdata, section);
		if (result)
			return result;
	}
	return 0;
}

static uint32_t copy_build_id(const struct known_build_id *known, uint8_t build_id[20])
{
	memcpy(build_id, known->build_id, sizeof(known->build_id));
	return known->size;
}

uint32_t perfdata_build_id(const struct perfdata *perfdata, const char *path, uint8_t build_id[20])
{
	const struct known_build_id *known = find_build_id(perfdata, path);
	return known && !known->is_kernel ? copy_build_id(known, build_id) : 0;
}

uint32_t perfdata_kernel_build_id(const struct perfdata *perfdata, uint8_t build_id[20])
{
	for (size_t i = 0; i < perfdata->build_ids.nr; i++)
		if (perfdata->build_ids.items[i].is_kernel)
			return copy_build_id(&perfdata->build_ids.items[i], build_id);
	return 0;
}

/* ---- what events are called ---- */

static int read_event_names(struct perfdata *perfdata, struct section *section)
{
	uint32_t nr, attr_bytes;
	if (!take_u32(section, &nr) || !take_u32(section, &attr_bytes))
		return -EINVAL;
	/* The same list as the header's, in the same order. */
	if (nr != perfdata->nr_events)
		return -EINVAL;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t nr_ids;
		char name[sizeof(perfdata->events[i].name)];
		if (section->left < attr_bytes)
			return -EINVAL;
		section->bytes += attr_bytes;
		section->left -= attr_bytes;
		if (!take_u32(section, &nr_ids) || !take_string(section, name, sizeof(name)) ||
		    section->left / sizeof(uint64_t) < nr_ids)
			return -EINVAL;
		section->bytes += nr_ids * sizeof(uint64_t);
		section->left -= nr_ids * sizeof(uint64_t);
		if (name[0])
			memcpy(perfdata->events[i].name, name, sizeof(name));
	}
	return 0;
}

/* ---- facts ---- */

static int read_fact(struct section *section, char *fact, size_t size)
{
	return take_string(section, fact, size) ? 0 : -EINVAL;
}

static int read_command_line(struct perfdata *perfdata, struct section *section)
{
	char *line = perfdata->facts.command_line;
	size_t used = 0, size = sizeof(perfdata->facts.command_line);
	uint32_t nr;
	if (!take_u32(section, &nr))
		return -EINVAL;
	for (uint32_t i = 0; i < nr && used + 2 < size; i++) {
		if (i)
			line[used++] = ' ';
		if (!take_string(section, line + used, size - used))
			return -EINVAL;
		used += strlen(line + used);
	}
	return 0;
}

static int read_feature(struct perfdata *perfdata, enum perfdata_feature feature,
			struct section *section)
{
	struct perfdata_facts *facts = &perfdata->facts;
	switch (feature) {
	case FEATURE_BUILD_ID:
		return read_build_ids(perfdata, section);
	case FEATURE_HOSTNAME:
		return read_fact(section, facts->hostname, sizeof(facts->hostname));
	case FEATURE_OSRELEASE:
		return read_fact(section, facts->release, sizeof(facts->release));
	case FEATURE_VERSION:
		return read_fact(section, facts->version, sizeof(facts->version));
	case FEATURE_ARCH:
		return read_fact(section, facts->arch, sizeof(facts->arch));
	case FEATURE_NR_CPUS:
		return take_u32(section, &facts->nr_cpus) ? 0
							  : -EINVAL; /* those online come first */
	case FEATURE_CMDLINE:
		return read_command_line(perfdata, section);
	case FEATURE_EVENT_DESC:
		return read_event_names(perfdata, section);
	case FEATURE_DIR_FORMAT:
	case NR_FEATURES:
		break;
	}
	return 0;
}

static bool is_wanted(unsigned feature)
{
	return (feature >= FEATURE_BUILD_ID && feature <= FEATURE_NR_CPUS) ||
	       feature == FEATURE_CMDLINE || feature == FEATURE_EVENT_DESC;
}

int perfdata_take_feature(struct perfdata *perfdata, uint64_t feature, const void *bytes,
			  size_t size)
{
	struct section section = {bytes, size};
	return feature < NR_FEATURES && is_wanted((unsigned)feature)
		       ? read_feature(perfdata, (enum perfdata_feature)feature, &section)
		       : 0;
}

/* 0, -EINVAL: it makes no sense, -ENOMEM. */
static int read_section(struct perfdata *perfdata, enum perfdata_feature feature,
			const struct file_section *where)
{
	if (where->size > SECTION_BYTES_MAX || where->offset > INT64_MAX - SECTION_BYTES_MAX)
		return -EINVAL;
	uint8_t *bytes = malloc(where->size ? where->size : 1);
	if (!bytes)
		return -ENOMEM;
	struct section section = {bytes, where->size};
	int result = perfdata_read_at(perfdata->stream.fd, where->offset, bytes, where->size);
	result = result ? -EINVAL : read_feature(perfdata, feature, &section);
	free(bytes);
	return result;
}

int perfdata_read_features(struct perfdata *perfdata, const struct file_header *header)
{
	uint64_t at = header->data.offset + header->data.size;
	for (unsigned feature = 0; feature < NR_FEATURES; feature++) {
		struct file_section where;
		if (!(header->features[feature / 64] >> feature % 64 & 1))
			continue;
		if (perfdata_read_at(perfdata->stream.fd, at, &where, sizeof(where))) {
			perfdata->damaged_features++;
			break; /* the file is cut: its records end before, which is said there */
		}
		at += sizeof(where);
		int result = is_wanted(feature) ? read_section(perfdata, feature, &where) : 0;
		if (result == -ENOMEM)
			return result;
		perfdata->damaged_features += result != 0;
	}
	return 0;
}
