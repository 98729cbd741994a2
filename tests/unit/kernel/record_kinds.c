/* SPDX-License-Identifier: MIT */
/* The records that are no samples: mappings, names, forks, losses, switches. */
#include "record_bytes.h"

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

/* Whoever makes a file chooses its build-id: one that looks like a device is not believed, where none was asked for. */
static void mmap2_of_rings_has_no_build_id(void)
{
	static struct builder builder;
	struct record record;
	struct record_format format = dwarf_format;
	format.inodes_only = true;
	const uint8_t identity[24] = {20, 0, 0, 0, 0xab, 0xcd, 1, 0, 0x39, 0x30};
	add_mmap2(&builder, PERF_RECORD_MISC_MMAP_BUILD_ID, identity, 5, "/bin/x");
	CHECK_EQ(parse(&builder, &format, &record), 0);
	CHECK_EQ(record.mmap.build_id_size, 0);
	CHECK_EQ(record.mmap.device_major, 20);
	CHECK_EQ(record.mmap.inode, 12345);
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

int main(void)
{
	RUN(mmap2_has_device_and_inode);
	RUN(mmap2_has_a_build_id_instead);
	RUN(mmap2_says_build_id_and_means_the_device);
	RUN(mmap2_of_rings_has_no_build_id);
	RUN(path_without_an_end_is_refused);
	RUN(old_mmap_is_executable_unless_data);
	RUN(comm_says_whether_it_is_an_exec);
	RUN(fork_and_exit_name_the_task_and_its_parent);
	RUN(a_longer_body_leaves_the_trailer_at_the_end);
	RUN(losses_are_counted);
	RUN(switches_and_throttles_belong_to_the_trailers_task);
	RUN(record_without_a_trailer_is_refused);
	RUN(unknown_types_are_told_apart_from_damage);
	return test_done();
}
