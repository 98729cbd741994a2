/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_CRAFTED_H
#define CTOP_TEST_CRAFTED_H

/* perf.data files made byte by byte: crafted_begin(), records, crafted_end(), then sections. */

#include <stdint.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/perfdata/perfdata.h>

#include "file_of_bytes.h"
#include "test.h"

enum {
	CRAFTED_MAX = 1 << 22,
	CRAFTED_HEADER = 104,
	CRAFTED_DATA_SIZE_AT = 48,
	CRAFTED_FEATURES_AT = 72
};

struct crafted {
	uint8_t *bytes;
	size_t size;
	size_t data_at;
	struct {
		unsigned bit;
		uint8_t bytes[512];
		size_t size;
	} sections[8];
	size_t nr_sections;
};

struct crafted_event {
	struct perf_event_attr attr;
	uint64_t ids[2];
	size_t nr_ids;
};

/* A clock whose samples have these fields. */
#define CRAFTED_CLOCK(fields)                                                                      \
	{                                                                                          \
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_event_attr),                \
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_type = (fields), .sample_id_all = 1     \
	}

/* Whose files are read here: this one's, or that which is emulated. */
static inline const char *crafted_machine(void)
{
	static struct utsname name;
	CHECK_EQ(uname(&name), 0);
	return name.machine;
}

static inline void put(struct crafted *file, const void *bytes, size_t size)
{
	CHECK(file->size + size <= CRAFTED_MAX);
	if (size)
		memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static inline void put_u64(struct crafted *file, uint64_t value)
{
	put(file, &value, sizeof(value));
}

static inline void put_u32(struct crafted *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

static inline void patch_u64(struct crafted *file, size_t at, uint64_t value)
{
	memcpy(file->bytes + at, &value, sizeof(value));
}

/* Header, ids and attrs; records follow. */
static inline void crafted_begin(struct crafted *file, const struct crafted_event *events,
				 size_t nr)
{
	*file = (struct crafted){.bytes = calloc(1, CRAFTED_MAX)};
	CHECK(file->bytes);
	const uint64_t entry = sizeof(struct perf_event_attr) + 16;
	put(file, "PERFILE2", 8);
	put_u64(file, CRAFTED_HEADER);
	put_u64(file, entry);
	file->size = CRAFTED_HEADER;
	size_t ids_at[16];
	for (size_t i = 0; i < nr; i++) {
		ids_at[i] = file->size;
		put(file, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	}
	patch_u64(file, 24, file->size);
	patch_u64(file, 32, nr * entry);
	for (size_t i = 0; i < nr; i++) {
		put(file, &events[i].attr, sizeof(events[i].attr));
		put_u64(file, ids_at[i]);
		put_u64(file, events[i].nr_ids * sizeof(uint64_t));
	}
	file->data_at = file->size;
	patch_u64(file, 40, file->data_at);
}

static inline void put_header(struct crafted *file, uint32_t type, uint16_t misc, size_t body)
{
	const struct perf_event_header header = {type, misc, (uint16_t)(sizeof(header) + body)};
	put(file, &header, sizeof(header));
}

static inline void put_record(struct crafted *file, uint32_t type, uint16_t misc, const void *body,
			      size_t size)
{
	put_header(file, type, misc, size);
	put(file, body, size);
}

static inline void put_round(struct crafted *file)
{
	put_record(file, 68, 0, NULL, 0);
}

/* A feature's section; it is written by crafted_end(). Bits ascend. */
static inline void crafted_section(struct crafted *file, unsigned bit, const void *bytes,
				   size_t size)
{
	CHECK(size <= sizeof(file->sections[0].bytes) && file->nr_sections < 8);
	file->sections[file->nr_sections].bit = bit;
	file->sections[file->nr_sections].size = size;
	memcpy(file->sections[file->nr_sections++].bytes, bytes, size);
}

/* perf's string: length with padding, bytes. Returns its size. */
static inline size_t crafted_string(uint8_t *to, const char *string)
{
	uint32_t length = (uint32_t)((strlen(string) + 1 + 63) & ~63u);
	memcpy(to, &length, sizeof(length));
	memset(to + sizeof(length), 0, length);
	memcpy(to + sizeof(length), string, strlen(string));
	return sizeof(length) + length;
}

static inline void crafted_end(struct crafted *file)
{
	patch_u64(file, CRAFTED_DATA_SIZE_AT, file->size - file->data_at);
	size_t at = file->size + file->nr_sections * 16;
	uint64_t bits[4] = {0};
	for (size_t i = 0; i < file->nr_sections; i++) {
		put_u64(file, at);
		put_u64(file, file->sections[i].size);
		at += file->sections[i].size;
		bits[file->sections[i].bit / 64] |= UINT64_C(1) << file->sections[i].bit % 64;
	}
	for (size_t i = 0; i < file->nr_sections; i++)
		put(file, file->sections[i].bytes, file->sections[i].size);
	memcpy(file->bytes + CRAFTED_FEATURES_AT, bits, sizeof(bits));
}

static inline void crafted_release(struct crafted *file)
{
	free(file->bytes);
	*file = (struct crafted){0};
}

/* The file on a descriptor, cut to a size. */
static inline int crafted_fd(const struct crafted *file, size_t size)
{
	return file_of_bytes(file->bytes, size);
}

static inline struct perfdata *crafted_open(const struct crafted *file)
{
	int code;
	struct error error = {0};
	struct perfdata *perfdata =
		perfdata_open(crafted_fd(file, file->size), NULL, 0, &code, &error);
	if (!perfdata)
		printf("# %s\n", error.cause);
	CHECK(perfdata != NULL);
	return perfdata;
}

/* A sample with nothing but what `type` asks of ip, tid and time; id first when it is an identifier. */
static inline void put_sample(struct crafted *file, uint64_t type, uint64_t id, uint64_t ip,
			      uint64_t time_ns)
{
	size_t body = 8 * (size_t)__builtin_popcountll(type);
	put_header(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put_u64(file, id);
	if (type & PERF_SAMPLE_IP)
		put_u64(file, ip);
	if (type & PERF_SAMPLE_TID) {
		put_u32(file, 10);
		put_u32(file, 11);
	}
	if (type & PERF_SAMPLE_TIME)
		put_u64(file, time_ns);
	if (type & PERF_SAMPLE_ID)
		put_u64(file, id);
}

#endif
