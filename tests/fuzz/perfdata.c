/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file. First a byte: with bit 0, the rest is the file as it is; without, the rest are its
 * records, and the header, with two events of the identifiers 7 and 8, is made here. Bit 1: the records are
 * packed with zstd, in pieces of 64 bytes, so that changes reach what is behind. Bit 2: the last half of
 * the rest is a second file of records, as in a directory. Each record is parsed, as the
 * collector does.
 */
#include <zstd.h>

#include <ctop/file_kind.h>
#include <ctop/perfdata/perfdata.h>

#include "fuzz.h"

enum { AS_IT_IS = 1, PACKED = 2, DIRECTORY = 4 };
enum {
	FILE_MAX = 1 << 20,
	PIECE_BYTES = 64,
	COMPRESSED = 81,
	ENTRY_BYTES = sizeof(struct perf_event_attr) + 16
};

static uint8_t file_bytes[FILE_MAX];
static size_t file_size;

static void put(const void *bytes, size_t size)
{
	REQUIRE(file_size + size <= FILE_MAX);
	if (size)
		memcpy(file_bytes + file_size, bytes, size);
	file_size += size;
}

static void put_u64(uint64_t value)
{
	put(&value, sizeof(value));
}

static void put_event(uint64_t sample_type, size_t id_at)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = sample_type,
		.sample_regs_user = 7 << 6, /* bp, sp, ip */
		.sample_id_all = 1,
	};
	put(&attr, sizeof(attr));
	put_u64(id_at);
	put_u64(sizeof(uint64_t));
}

static void put_packed(const uint8_t *bytes, size_t size)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	REQUIRE(context);
	for (size_t at = 0; at < size; at += PIECE_BYTES) {
		uint8_t packed[1024];
		ZSTD_inBuffer in = {bytes + at, size - at < PIECE_BYTES ? size - at : PIECE_BYTES,
				    0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};
		REQUIRE(ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush) == 0);
		const struct perf_event_header header = {COMPRESSED, 0,
							 (uint16_t)(sizeof(header) + out.pos)};
		put(&header, sizeof(header));
		put(packed, out.pos);
	}
	ZSTD_freeCCtx(context);
}

static void make_file(const uint8_t *records, size_t size, bool packed)
{
	static const uint64_t identified =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	enum { HEADER_BYTES = 104, IDS_BYTES = 16 };
	uint8_t features[32] = {0};
	file_size = 0;
	put("PERFILE2", 8);
	put_u64(HEADER_BYTES);
	put_u64(ENTRY_BYTES);
	put_u64(HEADER_BYTES + IDS_BYTES);
	put_u64(2 * ENTRY_BYTES);
	put_u64(HEADER_BYTES + IDS_BYTES + 2 * ENTRY_BYTES);
	size_t size_at = file_size;
	put(features, 8 + 16);
	put(features, sizeof(features));
	put_u64(7);
	put_u64(8);
	put_event(identified | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		  HEADER_BYTES);
	put_event(identified, HEADER_BYTES + 8);
	size_t begin = file_size;
	if (packed)
		put_packed(records, size);
	else
		put(records, size);
	uint64_t data_bytes = file_size - begin;
	memcpy(file_bytes + size_at, &data_bytes, sizeof(data_bytes));
}

static bool is_wanted(void *context, int32_t tid)
{
	(void)context;
	return tid % 8 != 3;
}

static void check_record(const struct perfdata *perfdata, const struct perfdata_record *at)
{
	struct perf_event_header header;
	if (!at->bytes) {
		REQUIRE(!at->mapped && !is_wanted(NULL, at->tid));
		return;
	}
	REQUIRE(at->size >= sizeof(header) && (uintptr_t)at->bytes % 8 == 0);
	memcpy(&header, at->bytes, sizeof(header));
	REQUIRE(header.size == at->size && header.type < 64);
	size_t nr = perfdata_nr_events(perfdata);
	REQUIRE(at->event < nr || at->event == PERFDATA_MAX_EVENTS);
	if (at->event >= nr)
		return;
	struct record record;
	REQUIRE(!at->mapped || header.type == PERF_RECORD_SAMPLE);
	record_parse(at->bytes, at->size, &perfdata_event(perfdata, at->event)->format, &record);
}

static void check_string(const char *string, size_t size)
{
	REQUIRE(memchr(string, '\0', size));
}

static void read_file(int fd, const int *parts, size_t nr_parts)
{
	int code;
	struct error error = {0};
	struct perfdata *perfdata = perfdata_open(fd, parts, nr_parts, &code, &error);
	if (!perfdata) {
		REQUIRE(code < 0 && error.cause[0]);
		return;
	}
	struct perfdata_record at;
	uint64_t nr = 0;
	int result;
	perfdata_want(perfdata, is_wanted, NULL);
	while ((result = perfdata_next(perfdata, &at)) > 0) {
		REQUIRE(at.number == nr++);
		check_record(perfdata, &at);
		REQUIRE(perfdata_is_whole(perfdata));
	}
	REQUIRE(result == 0);
	REQUIRE(perfdata_next(perfdata, &at) == 0);
	const struct perfdata_facts *facts = perfdata_facts(perfdata);
	check_string(facts->hostname, sizeof(facts->hostname));
	check_string(facts->command_line, sizeof(facts->command_line));
	check_string(perfdata_note(perfdata), PERFDATA_NOTE_BYTES);
	uint8_t build_id[20];
	REQUIRE(perfdata_build_id(perfdata, "/lib/a", build_id) <= sizeof(build_id));
	REQUIRE(perfdata_kernel_build_id(perfdata, build_id) <= sizeof(build_id));
	perfdata_close(perfdata);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int open_before = fuzz_open_descriptors();
	struct input input = {bytes, size};
	unsigned flags = input_u8(&input);
	perfdata_is(input.at, input.left);
	int part = -1;
	if (flags & DIRECTORY) {
		size_t half = input.left / 2 & ~(size_t)7;
		part = fuzz_file(input.at + input.left - half, half);
		input.left -= half;
	}
	const size_t nr_parts = part >= 0;
	if (flags & AS_IT_IS) {
		read_file(fuzz_file(input.at, input.left), &part, nr_parts);
	} else if (input.left < FILE_MAX / 8) {
		make_file(input.at, input.left, flags & PACKED);
		read_file(fuzz_file(file_bytes, file_size), &part, nr_parts);
	} else if (part >= 0) {
		close(part);
	}
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}
