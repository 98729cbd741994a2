/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/profile/tables.h>

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
	struct node_id node, node_again, root = {0};
	CHECK_EQ(tables_map(&tables, -1, &small, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	CHECK_EQ(tables_add_string(writer, "a longer string", 15, &string), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){3}, 99, &frame), 0);
	CHECK_EQ(tables_add_node(writer, root, frame, FRAME_CFI, &node), 0);
	tables_publish(writer);
	tables_writer_free(writer);
	writer = tables_writer_new(&tables);
	CHECK_EQ(tables_add_string(writer, "a longer string", 15, &again), 0);
	CHECK_EQ(tables_add_frame(writer, (struct module_id){3}, 99, &frame_again), 0);
	CHECK_EQ(tables_add_node(writer, root, frame, FRAME_CFI, &node_again), 0);
	CHECK_EQ(again.index, string.index);
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
	size_t nr = tables_read_samples(&tables, samples, 512, &missed);
	CHECK(nr > 0 && nr <= small.nr_samples);
	CHECK_EQ(nr + missed, 1000);
	for (size_t i = 0; i < nr; i++)
		CHECK_EQ(samples[i].time_ns, missed + i);
	CHECK_EQ(tables_read_samples(&tables, samples, 512, &missed), 0);
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
	enum { NR = 300000 };
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
		_exit(0);
	}
	struct sample samples[100];
	uint64_t missed = 0, read = 0, last = 0;
	bool ended = false, ordered = true;
	for (;;) {
		size_t nr = tables_read_samples(&tables, samples, 100, &missed);
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

int main(void)
{
	RUN(equal_rows_are_one);
	RUN(a_full_table_says_so);
	RUN(a_successor_goes_on_with_the_same_ids);
	RUN(nobody_can_cut_the_region);
	RUN(a_region_of_another_size_is_refused);
	RUN(what_was_overwritten_is_counted);
	RUN(room_is_kept_for_a_file);
	RUN(two_processes_agree);
	return test_done();
}
