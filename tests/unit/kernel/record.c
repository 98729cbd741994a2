/* SPDX-License-Identifier: MIT */
/* Samples: every field, and whatever of it may be a lie. */
#include "record_bytes.h"

static void sample_has_every_field(void)
{
	static struct builder builder;
	struct record record;
	add_sample(&builder, STACK_BYTES, DYN_BYTES);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.type, PERF_RECORD_SAMPLE);
	CHECK_EQ(record.id, 77);
	CHECK_EQ(record.pid, 1000);
	CHECK_EQ(record.tid, 1001);
	CHECK_EQ(record.time_ns, 123456789);
	CHECK_EQ(record.cpu, 3);
	CHECK_EQ(record.sample.ip, 0x401000);
	CHECK_EQ(record.sample.period, 1000000);
	CHECK_EQ(record.sample.nr_chain, 2);
	CHECK_EQ(record.sample.chain[0], PERF_CONTEXT_KERNEL);
	CHECK_EQ(record.sample.chain[1], 0xffffffff81000000);
	CHECK_EQ(record.sample.regs_abi, PERF_SAMPLE_REGS_ABI_64);
	CHECK_EQ(record.sample.regs_mask, 0xff0fff);
	/* Bits 12 to 15 are not in the mask: register 16 (r8) is the thirteenth value. */
	CHECK_EQ(record.sample.regs[0], 0x100);
	CHECK_EQ(record.sample.regs[11], 0x10b);
	CHECK_EQ(record.sample.regs[12], 0);
	CHECK_EQ(record.sample.regs[16], 0x10c);
	CHECK_EQ(record.sample.regs[23], 0x113);
	CHECK_EQ(record.sample.stack_asked, STACK_BYTES);
	CHECK_EQ(record.sample.stack_bytes, DYN_BYTES);
	uint64_t first;
	memcpy(&first, record.sample.stack, sizeof(first));
	CHECK_EQ(first, 0x5000);
}

static void dump_of_no_bytes_has_no_dyn_size(void)
{
	static struct builder builder;
	struct record record;
	add_sample(&builder, 0, 0);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.sample.stack_asked, 0);
	CHECK_EQ(record.sample.stack_bytes, 0);
	CHECK(record.sample.stack == NULL);
}

static void kernel_thread_has_neither_registers_nor_dump(void)
{
	static struct builder builder;
	struct record record;
	add_sample_until_chain(&builder);
	add_u64(&builder, 0); /* no callchain */
	add_u64(&builder, PERF_SAMPLE_REGS_ABI_NONE);
	add_u64(&builder, 0); /* no dump */
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.sample.regs_abi, PERF_SAMPLE_REGS_ABI_NONE);
	CHECK_EQ(record.sample.regs_mask, 0);
	CHECK(record.sample.chain == NULL);
}

static void dyn_size_is_at_most_the_dump(void)
{
	static const struct {
		uint64_t dyn_bytes;
		int result;
	} cases[] = {{0, 0}, {STACK_BYTES, 0}, {STACK_BYTES + 1, -EINVAL}, {UINT64_MAX, -EINVAL}};
	static struct builder builder;
	struct record record;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add_sample(&builder, STACK_BYTES, cases[i].dyn_bytes);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), cases[i].result);
	}
}

static void largest_dump_fits(void)
{
	static struct builder builder;
	struct record record;
	/* What the kernel leaves of 65528 in a record whose size is a u16. */
	size_t head = 8 + 6 * 8 + 24 + 21 * 8 + 16, most = (65535 - head) / 8 * 8;
	add_sample(&builder, most, most);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.sample.stack_bytes, most);
}

static void lies_about_sizes_are_refused(void)
{
	static const uint64_t lies[] = {3, 1000, UINT64_MAX / 8, UINT64_MAX / 8 + 2, UINT64_MAX};
	static struct builder builder;
	struct record record;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		add_sample_until_chain(&builder);
		add_u64(&builder, lies[i]); /* a chain longer than the record */
		add_u64(&builder, PERF_CONTEXT_USER);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), -EINVAL);

		add_sample_until_chain(&builder);
		add_u64(&builder, 0);
		add_u64(&builder, PERF_SAMPLE_REGS_ABI_NONE);
		add_u64(&builder, lies[i]); /* a dump longer than the record */
		add_u64(&builder, 0);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), -EINVAL);
	}
}

/* Whatever any one word says, nothing is read beyond the record's memory; a sanitizer watches. */
static void every_word_may_lie(void)
{
	static const uint64_t lies[] = {0, 1, 8, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8};
	static struct builder builder;
	struct record record;
	add_sample(&builder, STACK_BYTES, DYN_BYTES);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	for (size_t at = 1; at < builder.bytes / 8; at++)
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			uint64_t *exact = malloc(builder.bytes);
			CHECK(exact != NULL);
			memcpy(exact, builder.words, builder.bytes);
			exact[at] = lies[i];
			int result = record_parse(exact, builder.bytes, &dwarf_format, &record);
			free(exact);
			CHECK(result == 0 || result == -EINVAL);
			CHECK(result || record.sample.stack_bytes <= record.sample.stack_asked);
		}
}

/* Whatever is cut off, the parser says so and reads nothing beyond. */
static void every_shorter_record_is_refused(void)
{
	static struct builder whole;
	add_sample(&whole, STACK_BYTES, DYN_BYTES);
	for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
		struct record record;
		uint64_t time_ns;
		char *cut = malloc(bytes + 1);
		CHECK(cut != NULL);
		memcpy(cut, whole.words, bytes);
		if (bytes >= sizeof(struct perf_event_header)) {
			struct perf_event_header header;
			memcpy(&header, cut, sizeof(header));
			header.size = (uint16_t)bytes;
			memcpy(cut, &header, sizeof(header));
		}
		int result = record_parse(cut, bytes, &dwarf_format, &record);
		int time_result = record_time(cut, bytes, &dwarf_format, &time_ns);
		free(cut);
		CHECK_EQ(result, -EINVAL);
		/* header, identifier, ip, pid and tid, time */
		CHECK_EQ(time_result, bytes < 40 ? -EINVAL : 0);
	}
}

static void size_in_the_header_is_the_size(void)
{
	static struct builder builder;
	struct record record;
	add_sample(&builder, STACK_BYTES, DYN_BYTES);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record_parse(builder.words, builder.bytes - 8, &dwarf_format, &record), -EINVAL);
	CHECK_EQ(record_parse(builder.words, builder.bytes + 8, &dwarf_format, &record), -EINVAL);
}

/* The quick look agrees with the whole parse. */
static void time_is_the_same_without_the_rest(void)
{
	static struct builder builder;
	struct record record;
	uint64_t time_ns;
	add_sample(&builder, STACK_BYTES, DYN_BYTES);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record_time(builder.words, builder.bytes, &dwarf_format, &time_ns), 0);
	CHECK_EQ(time_ns, record.time_ns);
	begin(&builder, PERF_RECORD_SWITCH, 0);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record_time(builder.words, builder.bytes, &dwarf_format, &time_ns), 0);
	CHECK_EQ(time_ns, 987654321);
	CHECK_EQ(record_time(builder.words, 16, &dwarf_format, &time_ns), -EINVAL);
	struct record_format timeless = dwarf_format;
	timeless.sample_type &= ~(uint64_t)PERF_SAMPLE_TIME;
	CHECK_EQ(record_time(builder.words, builder.bytes, &timeless, &time_ns), 0);
	CHECK_EQ(time_ns, 0);
}

/* With who comes or goes in front: it is a switch as any other. */
static void switches_of_whole_cpus(void)
{
	static struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_SWITCH_CPU_WIDE,
	      PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	add_u32(&builder, 77);
	add_u32(&builder, 78);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.type, PERF_RECORD_SWITCH);
	CHECK(record.switched.out && record.switched.preempted);
	CHECK_EQ(record.time_ns, 987654321);
	CHECK(record.tid != 77 && record.tid != 78);
}

/* Fields that other writers of perf.data ask for are stepped over. */
static void foreign_fields_are_skipped(void)
{
	static struct builder builder;
	struct record record;
	const struct record_format format = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
			       PERF_SAMPLE_REGS_USER,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED,
		.regs_user = 3,
	};
	begin(&builder, PERF_RECORD_SAMPLE, 0);
	add_u64(&builder, 0x1234);
	add_u32(&builder, 1);
	add_u32(&builder, 2);
	add_u64(&builder, 3); /* time */
	add_u64(&builder, 4); /* addr */
	add_u64(&builder, 5); /* id */
	add_u64(&builder, 6); /* stream */
	add_u64(&builder, 7); /* cpu */
	add_u64(&builder, 8); /* period */
	add_u64(&builder, 2); /* read: two of a group, the time enabled, then value and id each */
	for (int i = 0; i < 5; i++)
		add_u64(&builder, 9);
	add_u64(&builder, 1); /* chain */
	add_u64(&builder, 10);
	add_u32(&builder, 12); /* raw: with its size a multiple of 8 */
	for (int i = 0; i < 3; i++)
		add_u32(&builder, 11);
	add_u64(&builder, 1); /* branches: from, to, flags */
	for (int i = 0; i < 3; i++)
		add_u64(&builder, 12);
	add_u64(&builder, PERF_SAMPLE_REGS_ABI_64);
	add_u64(&builder, 13);
	add_u64(&builder, 14);
	CHECK_EQ(parse(&builder, &format, &record), 0);
	CHECK_EQ(record.sample.ip, 0x1234);
	CHECK_EQ(record.id, 5);
	CHECK_EQ(record.cpu, 7);
	CHECK_EQ(record.sample.period, 8);
	CHECK_EQ(record.sample.chain[0], 10);
	CHECK_EQ(record.sample.regs[1], 14);
	CHECK_EQ(record.sample.raw_bytes, 12);
	CHECK_EQ(record.sample.raw[8], 11);
	/* A group of more members than the record has words. */
	builder.words[9] = UINT64_MAX / 16 + 1;
	CHECK_EQ(parse(&builder, &format, &record), -EINVAL);
}

/* Branches by themselves, with an index before them, with counters behind: what follows is found. */
static void branches_are_skipped_in_each_layout(void)
{
	static const uint64_t counters = UINT64_C(1) << 19;
	const uint64_t types[] = {0, PERF_SAMPLE_BRANCH_HW_INDEX, counters,
				  PERF_SAMPLE_BRANCH_HW_INDEX | counters};
	for (size_t i = 0; i < 4; i++) {
		static struct builder builder;
		struct record record;
		const struct record_format format = {
			.sample_type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER,
			.regs_user = 1,
			.branch_type = types[i],
		};
		begin(&builder, PERF_RECORD_SAMPLE, 0);
		add_u64(&builder, 2);
		if (types[i] & PERF_SAMPLE_BRANCH_HW_INDEX)
			add_u64(&builder, 77);
		for (int word = 0; word < (types[i] & counters ? 8 : 6); word++)
			add_u64(&builder, 88);
		add_u64(&builder, PERF_SAMPLE_REGS_ABI_64);
		add_u64(&builder, 99);
		CHECK_EQ(parse(&builder, &format, &record), 0);
		CHECK_EQ(record.sample.regs_abi, PERF_SAMPLE_REGS_ABI_64);
		CHECK_EQ(record.sample.regs[0], 99);
		builder.words[1] = UINT64_MAX / 24 + 2;
		CHECK_EQ(parse(&builder, &format, &record), -EINVAL);
	}
}

/* Random bytes behind a header: never more than an error. A sanitizer watches. */
static void noise_is_survived(void)
{
	uint64_t state = 88172645463325252;
	for (int round = 0; round < 20000; round++) {
		struct record record;
		size_t words = 1 + (size_t)(round % 64);
		uint64_t *noise = calloc(words, 8);
		CHECK(noise != NULL);
		for (size_t i = 1; i < words; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			/* Small numbers are the more dangerous ones. */
			noise[i] = state & 1 ? state : state % 64;
		}
		const struct perf_event_header header = {
			.type = (uint32_t)round % 24,
			.misc = (uint16_t)state,
			.size = (uint16_t)(words * 8),
		};
		memcpy(noise, &header, sizeof(header));
		struct record_format format = dwarf_format;
		if (round & 1)
			format.sample_type = state & 0x3fffff;
		int result = record_parse(noise, words * 8, &format, &record);
		bool sane = result || record.type != PERF_RECORD_SAMPLE ||
			    record.sample.stack_bytes <= words * 8;
		free(noise);
		CHECK(result == 0 || result == -EINVAL || result == -ENOTSUP);
		CHECK(sane);
	}
}

int main(void)
{
	RUN(sample_has_every_field);
	RUN(dump_of_no_bytes_has_no_dyn_size);
	RUN(kernel_thread_has_neither_registers_nor_dump);
	RUN(dyn_size_is_at_most_the_dump);
	RUN(largest_dump_fits);
	RUN(lies_about_sizes_are_refused);
	RUN(every_word_may_lie);
	RUN(every_shorter_record_is_refused);
	RUN(size_in_the_header_is_the_size);
	RUN(time_is_the_same_without_the_rest);
	RUN(switches_of_whole_cpus);
	RUN(foreign_fields_are_skipped);
	RUN(branches_are_skipped_in_each_layout);
	RUN(noise_is_survived);
	return test_done();
}
