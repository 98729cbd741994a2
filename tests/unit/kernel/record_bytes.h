/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PERF_RECORD_BYTES_H
#define CTOP_TEST_PERF_RECORD_BYTES_H

/* Records as the kernel writes them, word by word. */

#include <errno.h>

#include <ctop/kernel/record.h>

#include "test.h"

/* A record under construction. It lies in memory of its own size, so that a sanitizer sees a read past it. */
struct builder {
	uint64_t words[9000];
	size_t bytes;
};

static inline void begin(struct builder *builder, uint32_t type, uint16_t misc)
{
	memset(builder, 0, sizeof(*builder));
	const struct perf_event_header header = {.type = type, .misc = misc};
	memcpy(builder->words, &header, sizeof(header));
	builder->bytes = sizeof(header);
}

static inline void add(struct builder *builder, const void *bytes, size_t size)
{
	CHECK(builder->bytes + size <= sizeof(builder->words));
	memcpy((char *)builder->words + builder->bytes, bytes, size);
	builder->bytes += size;
}

static inline void add_u64(struct builder *builder, uint64_t value)
{
	add(builder, &value, sizeof(value));
}

static inline void add_u32(struct builder *builder, uint32_t value)
{
	add(builder, &value, sizeof(value));
}

/* As the kernel writes strings: NUL-terminated, padded to whole words. */
static inline void add_string(struct builder *builder, const char *string)
{
	char padded[256] = {0};
	size_t size = (strlen(string) + 8) / 8 * 8;
	memcpy(padded, string, strlen(string));
	add(builder, padded, size);
}

static inline int parse(struct builder *builder, const struct record_format *format,
			struct record *record)
{
	struct perf_event_header header;
	memcpy(&header, builder->words, sizeof(header));
	header.size = (uint16_t)builder->bytes;
	memcpy(builder->words, &header, sizeof(header));
	return record_parse(builder->words, builder->bytes, format, record);
}

static const struct record_format dwarf_format = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
	.regs_user = 0xff0fff,
	.sample_id_all = true,
};

enum { STACK_BYTES = 64, DYN_BYTES = 40 };

/* The layout of a sample: perf_event_open(2), PERF_RECORD_SAMPLE. */
static inline void add_sample_until_chain(struct builder *builder)
{
	begin(builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	add_u64(builder, 77);	     /* identifier */
	add_u64(builder, 0x401000);  /* ip */
	add_u32(builder, 1000);	     /* pid */
	add_u32(builder, 1001);	     /* tid */
	add_u64(builder, 123456789); /* time */
	add_u32(builder, 3);	     /* cpu */
	add_u32(builder, 0);
	add_u64(builder, 1000000); /* period */
}

static inline void add_sample(struct builder *builder, uint64_t stack_bytes, uint64_t dyn_bytes)
{
	add_sample_until_chain(builder);
	add_u64(builder, 2); /* callchain */
	add_u64(builder, PERF_CONTEXT_KERNEL);
	add_u64(builder, 0xffffffff81000000);
	add_u64(builder, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < 20; i++)
		add_u64(builder, 0x100 + i);
	add_u64(builder, stack_bytes);
	for (uint64_t i = 0; i < stack_bytes / 8; i++)
		add_u64(builder, 0x5000 + i);
	if (stack_bytes)
		add_u64(builder, dyn_bytes);
}

/* The trailer of everything but samples: tid, time, cpu, identifier. */
static inline void add_trailer(struct builder *builder)
{
	add_u32(builder, 500); /* the task that wrote it */
	add_u32(builder, 501);
	add_u64(builder, 987654321);
	add_u32(builder, 1);
	add_u32(builder, 0);
	add_u64(builder, 88);
}

static inline void check_trailer(const struct record *record)
{
	CHECK_EQ(record->time_ns, 987654321);
	CHECK_EQ(record->cpu, 1);
	CHECK_EQ(record->id, 88);
}

#endif
