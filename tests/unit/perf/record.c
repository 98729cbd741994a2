/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <ctop/perf/record.h>

#include "test.h"

/* A record under construction. It lies in memory of its own size, so that a sanitizer sees a read past it. */
struct builder {
	uint64_t words[9000];
	size_t bytes;
};

static void begin(struct builder *builder, uint32_t type, uint16_t misc)
{
	memset(builder, 0, sizeof(*builder));
	const struct perf_event_header header = {.type = type, .misc = misc};
	memcpy(builder->words, &header, sizeof(header));
	builder->bytes = sizeof(header);
}

static void add(struct builder *builder, const void *bytes, size_t size)
{
	CHECK(builder->bytes + size <= sizeof(builder->words));
	memcpy((char *)builder->words + builder->bytes, bytes, size);
	builder->bytes += size;
}

static void add_u64(struct builder *builder, uint64_t value)
{
	add(builder, &value, sizeof(value));
}

static void add_u32(struct builder *builder, uint32_t value)
{
	add(builder, &value, sizeof(value));
}

/* As the kernel writes strings: NUL-terminated, padded to whole words. */
static void add_string(struct builder *builder, const char *string)
{
	char padded[256] = {0};
	size_t size = (strlen(string) + 8) / 8 * 8;
	memcpy(padded, string, strlen(string));
	add(builder, padded, size);
}

static int parse(struct builder *builder, const struct record_format *format, struct record *record)
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
static void add_sample_until_chain(struct builder *builder)
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

static void add_sample(struct builder *builder, uint64_t stack_bytes, uint64_t dyn_bytes)
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

/* The trailer of everything but samples: tid, time, cpu, identifier. */
static void add_trailer(struct builder *builder)
{
	add_u32(builder, 500); /* the task that wrote it */
	add_u32(builder, 501);
	add_u64(builder, 987654321);
	add_u32(builder, 1);
	add_u32(builder, 0);
	add_u64(builder, 88);
}

static void check_trailer(const struct record *record)
{
	CHECK_EQ(record->time_ns, 987654321);
	CHECK_EQ(record->cpu, 1);
	CHECK_EQ(record->id, 88);
}

static void add_mmap2(struct builder *builder, uint16_t misc, const uint8_t identity[24],
		      uint32_t protection, const char *path)
{
	begin(builder, PERF_RECORD_MMAP2, misc);
	add_u32(builder, 1000);
	add_u32(builder, 1001);
	add_u64(builder, 0x7f0000000000);
	add_u64(builder, 0x21000);
	add_u64(builder, 0x1000);
	add(builder, identity, 24);
	add_u32(builder, protection);
	add_u32(builder, 2); /* MAP_PRIVATE */
	add_string(builder, path);
	add_trailer(builder);
}

static void mmap2_has_device_and_inode(void)
{
	static struct builder builder;
	struct record record;
	uint8_t identity[24] = {0xfd, 0, 0, 0, 2, 0, 0, 0, 0x39, 0x30, 0, 0, 0, 0, 0, 0, 7};
	add_mmap2(&builder, PERF_RECORD_MISC_USER, identity, 5, "/usr/lib/libx.so");
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.pid, 1000);
	CHECK_EQ(record.tid, 1001); /* the body's, not the trailer's */
	CHECK_EQ(record.mmap.start, 0x7f0000000000);
	CHECK_EQ(record.mmap.length, 0x21000);
	CHECK_EQ(record.mmap.file_offset, 0x1000);
	CHECK_EQ(record.mmap.device_major, 0xfd);
	CHECK_EQ(record.mmap.device_minor, 2);
	CHECK_EQ(record.mmap.inode, 12345);
	CHECK_EQ(record.mmap.generation, 7);
	CHECK_EQ(record.mmap.build_id_size, 0);
	CHECK(record.mmap.executable);
	CHECK_STR(record.mmap.path, "/usr/lib/libx.so");
	check_trailer(&record);
	add_mmap2(&builder, PERF_RECORD_MISC_USER, identity, 3, "data");
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK(!record.mmap.executable);
}

static void mmap2_has_a_build_id_instead(void)
{
	static struct builder builder;
	struct record record;
	uint8_t identity[24] = {20, 0, 0, 0, 0xab, 0xcd};
	identity[23] = 0xef;
	add_mmap2(&builder, PERF_RECORD_MISC_MMAP_BUILD_ID, identity, 5, "/bin/x");
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 20);
	CHECK_EQ(record.mmap.build_id[0], 0xab);
	CHECK_EQ(record.mmap.build_id[19], 0xef);
	CHECK_EQ(record.mmap.inode, 0);
	identity[0] = 21; /* longer than its field: none at all */
	add_mmap2(&builder, PERF_RECORD_MISC_MMAP_BUILD_ID, identity, 5, "/bin/x");
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 0);
}

/* The kernel does so when another profiler, of the same process, has asked for build-ids. */
static void mmap2_says_build_id_and_means_the_device(void)
{
	static const uint8_t majors[] = {8, 20, 254};
	static struct builder builder;
	struct record record;
	for (size_t i = 0; i < sizeof(majors); i++) {
		const uint8_t identity[24] = {majors[i], 0, 0, 0, 2, 0, 0, 0, 0x39, 0x30};
		add_mmap2(&builder, PERF_RECORD_MISC_MMAP_BUILD_ID, identity, 5, "/bin/x");
		CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
		CHECK_EQ(record.mmap.build_id_size, 0);
		CHECK_EQ(record.mmap.device_major, majors[i]);
		CHECK_EQ(record.mmap.device_minor, 2);
		CHECK_EQ(record.mmap.inode, 12345);
	}
}

static void path_without_an_end_is_refused(void)
{
	static struct builder builder;
	static const uint8_t identity[24];
	struct record record;
	add_mmap2(&builder, 0, identity, 5, "1234567");
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	((char *)builder.words)[builder.bytes - 32 - 1] = '8'; /* the only NUL before the trailer */
	CHECK_EQ(parse(&builder, &dwarf_format, &record), -EINVAL);
}

static void old_mmap_is_executable_unless_data(void)
{
	static const uint16_t miscs[] = {0, PERF_RECORD_MISC_MMAP_DATA};
	for (size_t i = 0; i < 2; i++) {
		static struct builder builder;
		struct record record;
		begin(&builder, PERF_RECORD_MMAP, miscs[i]);
		add_u32(&builder, 5);
		add_u32(&builder, 6);
		add_u64(&builder, 0x1000);
		add_u64(&builder, 0x2000);
		add_u64(&builder, 0);
		add_string(&builder, "//anon");
		add_trailer(&builder);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
		CHECK_EQ(record.mmap.executable, i == 0);
		CHECK_STR(record.mmap.path, "//anon");
	}
}

static void comm_says_whether_it_is_an_exec(void)
{
	static struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add_u32(&builder, 10);
	add_u32(&builder, 11);
	add_string(&builder, "a ) comm");
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.pid, 10);
	CHECK_EQ(record.tid, 11);
	CHECK(record.comm.exec);
	CHECK_STR(record.comm.name, "a ) comm");
	check_trailer(&record);
}

static void fork_and_exit_name_the_task_and_its_parent(void)
{
	static const uint32_t types[] = {PERF_RECORD_FORK, PERF_RECORD_EXIT};
	for (size_t i = 0; i < 2; i++) {
		static struct builder builder;
		struct record record;
		begin(&builder, types[i], 0);
		add_u32(&builder, 20); /* pid, ppid, tid, ptid, time */
		add_u32(&builder, 21);
		add_u32(&builder, 22);
		add_u32(&builder, 23);
		add_u64(&builder, 1);
		add_trailer(&builder);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
		CHECK_EQ(record.pid, 20);
		CHECK_EQ(record.fork.parent_pid, 21);
		CHECK_EQ(record.tid, 22);
		CHECK_EQ(record.fork.parent_tid, 23);
		check_trailer(&record);
	}
}

static void a_longer_body_leaves_the_trailer_at_the_end(void)
{
	static struct builder builder;
	struct record record;
	uint64_t time_ns;
	begin(&builder, PERF_RECORD_LOST_SAMPLES, 0);
	add_u64(&builder, 1234);
	add_u64(&builder, 0xfeed); /* of a newer kernel */
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.lost, 1234);
	check_trailer(&record);
	CHECK_EQ(record_time(builder.words, builder.bytes, &dwarf_format, &time_ns), 0);
	CHECK_EQ(time_ns, record.time_ns);
}

static void losses_are_counted(void)
{
	static struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_LOST, 0);
	add_u64(&builder, 88);
	add_u64(&builder, 1234);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.lost, 1234);
	check_trailer(&record);
	begin(&builder, PERF_RECORD_LOST_SAMPLES, 0);
	add_u64(&builder, 55);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.lost, 55);
}

static void switches_and_throttles_belong_to_the_trailers_task(void)
{
	static struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_SWITCH,
	      PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK(record.switched.out && record.switched.preempted);
	CHECK_EQ(record.pid, 500);
	CHECK_EQ(record.tid, 501);
	begin(&builder, PERF_RECORD_THROTTLE, 0);
	for (int i = 0; i < 3; i++)
		add_u64(&builder, 1);
	add_trailer(&builder);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), 0);
	CHECK_EQ(record.tid, 501);
	check_trailer(&record);
}

static void record_without_a_trailer_is_refused(void)
{
	static struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_LOST_SAMPLES, 0);
	add_u64(&builder, 55);
	CHECK_EQ(parse(&builder, &dwarf_format, &record), -EINVAL);
	struct record_format bare = dwarf_format;
	bare.sample_id_all = false;
	CHECK_EQ(parse(&builder, &bare, &record), 0);
	CHECK_EQ(record.lost, 55);
	CHECK_EQ(record.time_ns, 0);
	CHECK_EQ(record.tid, -1);
}

static void unknown_types_are_told_apart_from_damage(void)
{
	static const uint32_t types[] = {0,    PERF_RECORD_AUX, PERF_RECORD_KSYMBOL, 22,
					 1000, UINT32_MAX};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		static struct builder builder;
		struct record record;
		begin(&builder, types[i], 0);
		CHECK_EQ(parse(&builder, &dwarf_format, &record), -ENOTSUP);
	}
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
	RUN(mmap2_has_device_and_inode);
	RUN(mmap2_has_a_build_id_instead);
	RUN(mmap2_says_build_id_and_means_the_device);
	RUN(path_without_an_end_is_refused);
	RUN(old_mmap_is_executable_unless_data);
	RUN(comm_says_whether_it_is_an_exec);
	RUN(fork_and_exit_name_the_task_and_its_parent);
	RUN(a_longer_body_leaves_the_trailer_at_the_end);
	RUN(losses_are_counted);
	RUN(switches_and_throttles_belong_to_the_trailers_task);
	RUN(record_without_a_trailer_is_refused);
	RUN(unknown_types_are_told_apart_from_damage);
	RUN(time_is_the_same_without_the_rest);
	RUN(foreign_fields_are_skipped);
	RUN(branches_are_skipped_in_each_layout);
	RUN(noise_is_survived);
	return test_done();
}
