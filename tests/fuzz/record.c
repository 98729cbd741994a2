/* SPDX-License-Identifier: MIT */
/* One kernel record: a format (17 bytes: sample_type, regs_user's low half, read_format, flags), then the record. */
#include <errno.h>

#include <ctop/kernel/record.h>

#include "fuzz.h"

struct bounds {
	const uint8_t *start, *end;
};

static void require_inside(const struct bounds *record, const void *at, uint64_t size)
{
	const uint8_t *bytes = at;
	REQUIRE(bytes >= record->start && bytes <= record->end);
	REQUIRE(size <= (uint64_t)(record->end - bytes));
}

static void require_text(const struct bounds *record, const char *text)
{
	require_inside(record, text, 1);
	REQUIRE(memchr(text, '\0', (size_t)(record->end - (const uint8_t *)text)));
}

static void check_sample(const struct bounds *record, const struct record_format *format,
			 const struct record_sample *sample)
{
	REQUIRE(!sample->nr_chain == !sample->chain);
	if (sample->chain) {
		REQUIRE(sample->nr_chain <= UINT16_MAX / 8);
		REQUIRE((uintptr_t)sample->chain % 8 == 0);
		require_inside(record, sample->chain, sample->nr_chain * 8);
	}
	if (sample->stack) {
		REQUIRE(sample->stack_bytes <= sample->stack_asked);
		require_inside(record, sample->stack, sample->stack_asked);
	}
	REQUIRE(sample->stack || !sample->stack_bytes);
	REQUIRE(sample->regs_mask == 0 || sample->regs_mask == format->regs_user);
}

static void check(const struct bounds *bounds, const struct record_format *format,
		  const struct record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		check_sample(bounds, format, &record->sample);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		REQUIRE(record->mmap.build_id_size <= sizeof(record->mmap.build_id));
		require_text(bounds, record->mmap.path);
		break;
	case PERF_RECORD_COMM:
		require_text(bounds, record->comm.name);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	struct record_format format = {.sample_type = input_u64(&input)};
	format.regs_user = input_u32(&input);
	format.read_format = input_u32(&input);
	unsigned flags = input_u8(&input);
	format.sample_id_all = flags & 1;
	if (flags & 4)
		format.regs_user |= format.regs_user << 32;

	size_t record_bytes = input.left < UINT16_MAX ? input.left : UINT16_MAX;
	uint8_t *copy = fuzz_copy(input.at, record_bytes);
	/* Most changes to the input would end at a wrong length; half of the inputs are spared that. */
	struct perf_event_header header;
	if (flags & 2 && record_bytes >= sizeof(header)) {
		memcpy(&header, copy, sizeof(header));
		header.size = (uint16_t)record_bytes;
		memcpy(copy, &header, sizeof(header));
	}
	struct record record;
	uint64_t time_ns;
	int parsed = record_parse(copy, record_bytes, &format, &record);
	int timed = record_time(copy, record_bytes, &format, &time_ns);
	REQUIRE(parsed == 0 || parsed == -EINVAL || parsed == -ENOTSUP);
	REQUIRE(timed == 0 || timed == -EINVAL);
	if (parsed == 0) {
		const struct bounds bounds = {copy, copy + record_bytes};
		REQUIRE(record.size == record_bytes);
		check(&bounds, &format, &record);
		/* The order of records is decided by the one, shown by the other. */
		REQUIRE(timed == 0 && time_ns == record.time_ns);
	}
	free(copy);
	return 0;
}
