/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/store/tables.h>

#include "test.h"

static const struct tables_capacity small = {
	.nr = {64, 8, 4, 8, 8, 32, 32},
	.nr_samples = 256,
};

static void equal_rows_are_one(void)
{
	struct tables tables;
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	struct string_id a, b, none;
	CHECK_EQ(tables_add_string(writer, "main", 4, &a), 0);
	CHECK_EQ(tables_add_string(writer, "main()", 4, &b), 0);
	CHECK_EQ(a.index, b.index);
	CHECK_EQ(tables_add_string(writer, "", 0, &none), 0);
	CHECK_EQ(none.index, 0);
	struct frame_id f, g;
	struct node_id n, m, root = {0};
	CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, 77, &f), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, 77, &g), 0);
	CHECK_EQ(f.index, g.index);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){2}, 77, &g), 0);
	CHECK(f.index != g.index);
	CHECK_EQ(tables_add_node(writer, root, f, FRAME_CFI, &n), 0);
	CHECK_EQ(tables_add_node(writer, root, f, FRAME_FP, &m), 0);
	CHECK(n.index != m.index);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void a_full_table_says_so(void)
{
	struct tables tables;
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	struct frame_id frame;
	for (uint64_t i = 1; i < 32; i++)
		CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, i, &frame), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, 32, &frame), -ENOSPC);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, 5, &frame), 0);
	struct string_id string;
	CHECK_EQ(tables_add_string(writer, "x", 1, &string), 0);
	char longer[256];
	memset(longer, 'y', sizeof(longer));
	CHECK_EQ(tables_add_string(writer, longer, sizeof(longer), &string), -ENOSPC);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void a_successor_goes_on_with_the_same_ids(void)
{
	struct tables tables;
	struct string_id string, again;
	struct frame_id frame, frame_again;
	struct task_id task, task_again;
	struct node_id node, node_again, root = {0};
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	CHECK_EQ(tables_add_string(writer, "a longer string", 15, &string), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){3}, 99, &frame), 0);
	CHECK_EQ(tables_add_node(writer, root, frame, FRAME_CFI, &node), 0);
	CHECK_EQ(tables_add_task(writer, 1, 2, 0, string, &task), 0);
	tables_publish(writer);
	tables_writer_free(writer);
	writer = tables_writer_new(&tables);
	CHECK_EQ(tables_add_string(writer, "a longer string", 15, &again), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){3}, 99, &frame_again), 0);
	CHECK_EQ(tables_add_node(writer, root, frame, FRAME_CFI, &node_again), 0);
	CHECK_EQ(tables_add_task(writer, 1, 2, 0, string, &task_again), 0);
	CHECK_EQ(again.index, string.index);
	CHECK_EQ(task_again.index, task.index);
	CHECK_EQ(frame_again.index, frame.index);
	CHECK_EQ(node_again.index, node.index);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void nobody_can_cut_the_region(void)
{
	int fd = tables_memfd_new(&small);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 0), -1);
	CHECK_EQ(errno, EPERM);
	CHECK_EQ(ftruncate(fd, 1 << 30), -1);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	close(fd);
}

static void a_region_of_another_size_is_refused(void)
{
	struct tables tables;
	int fd = memfd_create("short", MFD_CLOEXEC);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_EQ(tables_map(&tables, fd, &small, true), -EINVAL);
	close(fd);
	for (uint32_t slots = 0; slots < 8; slots++) {
		struct tables_capacity capacity = small;
		capacity.nr_samples = slots;
		bool fine = slots == 2 || slots == 4;
		CHECK_EQ(tables_map(&tables, -1, &capacity, true), fine ? 0 : -EINVAL);
		if (fine)
			tables_unmap(&tables);
	}
}

static void a_region_of_another_layout_is_refused(void)
{
	struct tables tables;
	uint64_t other = 0x0201010101010101;
	int fd = tables_memfd_new(&small);
	CHECK(fd >= 0);
	CHECK_EQ(tables_map(&tables, fd, &small, false), -EINVAL); /* nobody has begun it */
	CHECK_EQ(tables_map(&tables, fd, &small, true), 0);
	tables_unmap(&tables);
	CHECK_EQ(tables_map(&tables, fd, &small, false), 0);
	tables_unmap(&tables);
	CHECK_EQ(pwrite(fd, &other, sizeof(other), 0), (long long)sizeof(other));
	CHECK_EQ(tables_map(&tables, fd, &small, true), -EINVAL);
	CHECK_EQ(tables_map(&tables, fd, &small, false), -EINVAL);
	close(fd);
}

static void what_was_overwritten_is_counted(void)
{
	struct tables tables;
	struct sample samples[512];
	uint64_t missed = 0;
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	for (uint64_t i = 0; i < 1000; i++)
		tables_add_sample(writer, &(struct sample){.time_ns = i});
	tables_publish(writer);
	/* A quarter of so small a ring may be in the making. */
	size_t nr = tables_read_samples(&tables, samples, 512, &missed);
	CHECK_EQ(nr, 192);
	CHECK_EQ(missed, 808);
	for (size_t i = 0; i < nr; i++)
		CHECK_EQ(samples[i].time_ns, 808 + i);
	CHECK_EQ(tables_read_samples(&tables, samples, 512, &missed), 0);
	/* What fits is never missed. */
	for (uint64_t i = 0; i < 192; i++)
		tables_add_sample(writer, &(struct sample){.time_ns = 1000 + i});
	tables_publish(writer);
	CHECK_EQ(tables_read_samples(&tables, samples, 100, &missed), 100);
	CHECK_EQ(tables_read_samples(&tables, samples, 100, &missed), 92);
	CHECK_EQ(samples[91].time_ns, 1191);
	CHECK_EQ(missed, 808);
	/* One more than fits. */
	for (uint64_t i = 0; i < 193; i++)
		tables_add_sample(writer, &(struct sample){.time_ns = 1192 + i});
	tables_publish(writer);
	CHECK_EQ(tables_read_samples(&tables, samples, 512, &missed), 192);
	CHECK_EQ(missed, 809);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void every_ring_size_works(void)
{
	for (uint32_t size = 2; size <= 1024; size *= 2) {
		struct tables tables;
		struct tables_capacity capacity = small;
		struct sample sample;
		uint64_t missed = 0, read = 0;
		capacity.nr_samples = size;
		CHECK_EQ(tables_map(&tables, -1, &capacity, true), 0);
		struct tables_writer *writer = tables_writer_new(&tables);
		uint32_t room = tables_samples_room(writer);
		CHECK(room > 0 && room < size);
		for (uint64_t i = 0; i < 3 * size; i++)
			tables_add_sample(writer, &(struct sample){.time_ns = i});
		tables_publish(writer);
		while (tables_read_samples(&tables, &sample, 1, &missed)) {
			CHECK_EQ(sample.time_ns, missed + read);
			read++;
		}
		CHECK_EQ(read, room);
		CHECK_EQ(read + missed, 3 * size);
		tables_writer_free(writer);
		tables_unmap(&tables);
	}
}

static void rows_are_seen_once_published(void)
{
	struct tables tables;
	struct tables_reader reader;
	struct frame_id frame;
	struct frame_row row;
	struct node_row root;
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	tables_reader_init(&reader, &tables);
	tables_reader_refresh(&reader);
	/* Row 0 of each table is there from the start. */
	for (int kind = 0; kind < NR_TABLES; kind++)
		CHECK_EQ(reader.nr[kind], 1);
	CHECK_STR(tables_string(&reader, (struct string_id){0}), "");
	CHECK(tables_node(&reader, (struct node_id){0}, &root));
	CHECK_EQ(tables_add_frame(writer, (struct module_id){1}, 77, &frame), 0);
	tables_reader_refresh(&reader);
	CHECK(!tables_frame(&reader, frame, &row));
	CHECK_EQ(row.address, 0);
	tables_publish(writer);
	CHECK(!tables_frame(&reader, frame, &row)); /* not before the reader looks again */
	tables_reader_refresh(&reader);
	CHECK(tables_frame(&reader, frame, &row));
	CHECK_EQ(row.address, 77);
	CHECK(!reader.closed);
	tables_close_epoch(writer);
	tables_reader_refresh(&reader);
	CHECK(reader.closed);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void long_strings_are_cut(void)
{
	static char bytes[TABLES_STRING_MAX + 100];
	struct tables tables;
	struct tables_reader reader;
	struct tables_capacity capacity = small;
	struct string_id string;
	capacity.nr[TABLE_STRINGS] = 8192;
	memset(bytes, 'x', sizeof(bytes));
	CHECK_EQ(tables_map(&tables, -1, &capacity, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	CHECK_EQ(tables_add_string(writer, bytes, sizeof(bytes), &string), 0);
	tables_publish(writer);
	tables_reader_init(&reader, &tables);
	tables_reader_refresh(&reader);
	CHECK_EQ(strlen(tables_string(&reader, string)), TABLES_STRING_MAX);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

static void room_is_kept_for_a_file(void)
{
	struct tables tables;
	struct sample samples[64];
	uint64_t missed = 0, read = 0, wrote = 0;
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	while (wrote < 5000) {
		while (tables_samples_room(writer) && wrote < 5000)
			tables_add_sample(writer, &(struct sample){.time_ns = wrote++});
		tables_publish(writer);
		size_t nr = tables_read_samples(&tables, samples, 64, &missed);
		for (size_t i = 0; i < nr; i++)
			CHECK_EQ(samples[i].time_ns, read++);
	}
	CHECK_EQ(missed, 0);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

/* One process writes as fast as it can, the other reads: no sample is torn, every one is read or counted. */
static void two_processes_agree(void)
{
	enum { NR = 5000000 }; /* whole rings are read at once: one is often overtaken */
	struct tables tables;
	int fd = tables_memfd_new(&small);
	CHECK_EQ(tables_map(&tables, fd, &small, true), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct tables_writer *writer = tables_writer_new(&tables);
		for (uint64_t i = 1; i <= NR; i++)
			tables_add_sample(writer, &(struct sample){
							  .time_ns = i,
							  .weight = i * 3,
							  .node = {(uint32_t)i},
							  .cpu = (uint16_t)i,
						  });
		tables_close_epoch(writer);
		tables_writer_free(writer);
		_exit(0);
	}
	struct sample samples[256];
	uint64_t missed = 0, read = 0, last = 0;
	bool ended = false, ordered = true;
	for (;;) {
		size_t nr = tables_read_samples(&tables, samples, 256, &missed);
		for (size_t i = 0; i < nr; i++) {
			const struct sample *sample = &samples[i];
			ordered = ordered && sample->time_ns > last &&
				  sample->weight == sample->time_ns * 3 &&
				  sample->node.index == (uint32_t)sample->time_ns &&
				  sample->cpu == (uint16_t)sample->time_ns;
			last = sample->time_ns;
		}
		read += nr;
		if (!nr && ended)
			break;
		ended = ended || waitpid(pid, NULL, WNOHANG) == pid;
	}
	CHECK(ordered);
	CHECK_EQ(read + missed, NR);
	CHECK_EQ(last, NR);
	tables_unmap(&tables);
	close(fd);
}

/* A frame's time goes to the next unit, and is what it was until that is very long ago. */
static void times_of_frames(void)
{
	static const uint64_t ages_ns[] = {0, 1, 1 << 16, 1000000, UINT64_C(3600000000000)};
	static const uint64_t nows_ns[] = {UINT64_C(1) << 50, (UINT64_C(1) << 48) + 12345,
					   UINT64_C(5000000000000)};
	for (size_t i = 0; i < sizeof(nows_ns) / sizeof(*nows_ns); i++)
		for (size_t k = 0; k < sizeof(ages_ns) / sizeof(*ages_ns); k++) {
			const uint64_t time_ns = nows_ns[i] - ages_ns[k];
			const uint64_t seen_ns = frame_seen_ns(frame_seen(time_ns), nows_ns[i]);
			CHECK(seen_ns >= time_ns && seen_ns - time_ns <= 1 << FRAME_SEEN_SHIFT);
		}
	CHECK_EQ(frame_seen_ns(0, 1000000), 1000000);
	CHECK_EQ(frame_seen_ns(12345, 1000000), 1000000); /* later than now */
	CHECK_EQ(frame_seen_ns(UINT32_MAX, 0), 0);
}

int main(void)
{
	RUN(equal_rows_are_one);
	RUN(a_full_table_says_so);
	RUN(a_successor_goes_on_with_the_same_ids);
	RUN(nobody_can_cut_the_region);
	RUN(a_region_of_another_size_is_refused);
	RUN(a_region_of_another_layout_is_refused);
	RUN(rows_are_seen_once_published);
	RUN(long_strings_are_cut);
	RUN(what_was_overwritten_is_counted);
	RUN(every_ring_size_works);
	RUN(room_is_kept_for_a_file);
	RUN(two_processes_agree);
	RUN(times_of_frames);
	return test_done();
}
