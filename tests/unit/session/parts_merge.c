/* SPDX-License-Identifier: MIT */
/* Samples of the parts of a file become those of the session's tables; what a child writes may be anything. */
#include <stdlib.h>

#include "main/session/session_internal.h"

#include "test.h"

enum { NR = 2, HZ = 999 };

static struct {
	struct session *session;
	struct child_status status[NR];
	struct tables_writer *writer[NR];
} t;

static struct part *part_at(size_t i)
{
	return &t.session->parts->items[i];
}

static struct string_id string(size_t i, const char *text)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(t.writer[i], text, strlen(text), &id), 0);
	return id;
}

static void begin_tables(size_t i, struct region *region)
{
	struct event_row event = {.frequency_hz = HZ};
	uint32_t id;
	if (t.writer[i]) {
		tables_close_epoch(t.writer[i]);
		tables_writer_free(t.writer[i]);
	}
	CHECK_EQ(region_open(region, (uint32_t)(i + 1) << 24 | ++part_at(i)->nr_epochs), 0);
	t.writer[i] = tables_writer_new(&region->tables);
	CHECK(t.writer[i]);
	event.name = string(i, "cycles");
	event.asked = string(i, "cycles");
	CHECK_EQ(tables_add_event(t.writer[i], &event, &id), 0);
	tables_publish(t.writer[i]);
}

static void stop(void)
{
	if (!t.session)
		return;
	for (size_t i = 0; i < NR; i++) {
		part_at(i)->worker.status = NULL;
		tables_writer_free(t.writer[i]);
	}
	parts_free(t.session->parts);
	region_close(t.session->current);
	region_close(t.session->next);
	free(t.session);
	memset(&t, 0, sizeof(t));
}

static void start(void)
{
	stop();
	t.session = calloc(1, sizeof(*t.session));
	CHECK(t.session);
	t.session->current = &t.session->regions[0];
	t.session->next = &t.session->regions[1];
	CHECK_EQ(region_open(t.session->current, 1), 0);
	t.session->parts = parts_new(NR);
	CHECK(t.session->parts);
	for (size_t i = 0; i < NR; i++) {
		part_at(i)->worker.status = &t.status[i];
		begin_tables(i, part_at(i)->current);
		CHECK_EQ(tables_add_info(t.writer[i], "recorder", "perf"), 0);
	}
}

/* How far a part is in the file. */
static void publish(size_t i, uint64_t number)
{
	tables_publish(t.writer[i]);
	atomic_store(&t.status[i].published, number);
}

static bool merge(void)
{
	bool more;
	CHECK_EQ(parts_merge(t.session, &more), 0);
	return more;
}

static size_t merged(struct sample *samples, size_t most)
{
	uint64_t missed = 0;
	const size_t nr = tables_read_samples(&t.session->current->tables, samples, most, &missed);
	CHECK_EQ(missed, 0);
	tables_reader_refresh(&t.session->current->reader);
	return nr;
}

static struct module_row a_module(size_t i, int32_t pid)
{
	return (struct module_row){.path = string(i, "/usr/bin/program"),
				   .kind = MODULE_FILE,
				   .pid = pid,
				   .identity = {.inode = 7},
				   .start = 0x1000 * (uint64_t)pid,
				   .end = 0x2000 * (uint64_t)pid};
}

/* One caller, and a leaf. */
static struct sample a_sample(size_t i, int32_t tid, struct module_id module, uint64_t address)
{
	const struct task_row process = {.pid = 10, .tid = 10, .comm = string(i, "main")};
	struct task_row thread = {.pid = 10, .tid = tid, .comm = string(i, "thread")};
	struct sample sample = {.event = 1, .end = STACK_COMPLETE};
	struct frame_id caller;
	CHECK_EQ(tables_add_task_row(t.writer[i], &process, &thread.process), 0);
	CHECK_EQ(tables_add_task_row(t.writer[i], &thread, &sample.task), 0);
	CHECK_EQ(tables_add_frame(t.writer[i], module, 0x40, &caller), 0);
	CHECK_EQ(tables_add_node(t.writer[i], (struct node_id){0}, caller, FRAME_CFI, &sample.node),
		 0);
	CHECK_EQ(tables_add_frame(t.writer[i], module, address, &sample.leaf), 0);
	return sample;
}

static void put(size_t i, struct sample sample, uint64_t number)
{
	sample.time_ns = number;
	sample_set_number(&sample, number);
	tables_add_sample(t.writer[i], &sample);
}

static void in_the_order_of_the_file_and_none_too_early(void)
{
	struct sample samples[16];
	start();
	for (uint64_t number = 0; number < 8; number += 2)
		put(0, a_sample(0, 11, (struct module_id){0}, 1), number);
	publish(0, 8);
	merge();
	CHECK_EQ(merged(samples, 16), 0); /* the other may have one of before */
	put(1, a_sample(1, 12, (struct module_id){0}, 1), 1);
	publish(1, 4);
	merge();
	CHECK_EQ(merged(samples, 16), 3);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(samples[i].time_ns, i);
	CHECK_EQ(sample_number(&samples[1]), 0);
	CHECK(!t.session->parts->are_merged);
	put(1, a_sample(1, 12, (struct module_id){0}, 1), 7);
	publish(1, 9);
	part_at(0)->is_done = part_at(1)->is_done = true;
	merge();
	CHECK_EQ(merged(samples, 16), 3);
	CHECK_EQ(samples[0].time_ns, 4);
	CHECK_EQ(samples[2].time_ns, 7);
	CHECK(t.session->parts->are_merged);
	CHECK_EQ(t.session->parts->damaged, 0);
}

static void the_same_rows_are_one_and_say_nothing_of_who_was_first(void)
{
	struct sample samples[16];
	struct module_row row;
	struct task_row task;
	start();
	for (size_t i = 0; i < NR; i++) {
		const struct module_row module = a_module(i, 5 - (int32_t)i);
		struct module_id ids[2];
		CHECK_EQ(tables_add_module(t.writer[i], &module, &ids[0]), 0);
		CHECK_EQ(tables_add_module(t.writer[i], &module, &ids[1]), 0);
		for (uint64_t nr = 0; nr < 2; nr++)
			put(i, a_sample(i, 11 + (int32_t)i, ids[nr], 0x10), 2 * nr + i);
		publish(i, 10);
	}
	merge();
	CHECK_EQ(merged(samples, 16), 4);
	const struct tables_reader *reader = &t.session->current->reader;
	CHECK_EQ(reader->nr[TABLE_MODULES], 2);
	CHECK_EQ(reader->nr[TABLE_FRAMES], 3);
	CHECK_EQ(reader->nr[TABLE_NODES], 2);
	CHECK_EQ(reader->nr[TABLE_EVENTS], 2);
	CHECK_EQ(reader->nr[TABLE_METADATA], 2);
	tables_module(reader, (struct module_id){1}, &row);
	CHECK_EQ(row.pid, 0);
	CHECK_EQ(row.start, 0);
	CHECK_EQ(row.identity.inode, 7);
	CHECK(!strcmp(tables_string(reader, row.path), "/usr/bin/program"));
	/* A thread, its process, the other thread. */
	CHECK_EQ(reader->nr[TABLE_TASKS], 4);
	tables_task(reader, (struct task_id){2}, &task);
	CHECK_EQ(task.tid, 10);
	CHECK_EQ(task.process.index, 0);
}

static void what_was_merged_of_a_predecessor_is_passed_over(void)
{
	struct sample samples[16];
	start();
	for (uint64_t number = 0; number < 3; number++)
		put(0, a_sample(0, 11, (struct module_id){0}, 1), number);
	publish(0, 3);
	publish(1, 3);
	merge();
	CHECK_EQ(merged(samples, 16), 3);
	/* As part_restart() leaves it. */
	tables_writer_free(t.writer[0]);
	t.writer[0] = NULL;
	region_close(part_at(0)->current);
	part_forget_rows(part_at(0));
	begin_tables(0, part_at(0)->current);
	publish(0, 0);
	for (uint64_t number = 0; number < 5; number++)
		put(0, a_sample(0, 11, (struct module_id){0}, 1), number);
	publish(0, 5);
	publish(1, 5);
	merge();
	CHECK_EQ(merged(samples, 16), 2);
	CHECK_EQ(samples[0].time_ns, 3);
}

static void full_tables_of_a_child_and_of_the_session(void)
{
	enum { LEAVES = 200000 };
	static struct sample samples[LEAVES];
	size_t nr = 0;
	start();
	publish(1, UINT64_MAX);
	for (uint64_t number = 0; number < LEAVES; number++) {
		if (tables_nr_rows(t.writer[0], TABLE_FRAMES) + 4 >
		    tables_capacity_default.nr[TABLE_FRAMES])
			begin_tables(0, part_at(0)->next);
		put(0, a_sample(0, 11, (struct module_id){0}, 0x100 + number), number);
		if (number % 1024 && number + 1 < LEAVES)
			continue;
		publish(0, number + 1);
		merge();
		nr += merged(samples + nr, LEAVES - nr);
		if (!t.session->next->epoch)
			continue;
		/* Its readers are through. */
		CHECK(t.session->current->reader.closed);
		region_close(t.session->current);
		struct region *old = t.session->current;
		t.session->current = t.session->next;
		t.session->next = old;
		merge();
		nr += merged(samples + nr, LEAVES - nr);
	}
	CHECK_EQ(nr, LEAVES);
	for (uint64_t i = 0; i < LEAVES; i++)
		CHECK_EQ(samples[i].time_ns, i);
	CHECK_EQ(t.session->current->epoch, 2);
	CHECK_EQ(t.session->current->reader.nr[TABLE_EVENTS], 2);
}

/* Rows and samples that no honest child writes. */
static void nonsense_is_left_out_and_counted(void)
{
	struct sample samples[64];
	struct module_id bad_kind, module;
	start();
	struct module_row row = a_module(0, 1);
	CHECK_EQ(tables_add_module(t.writer[0], &row, &module), 0);
	row.kind = NR_MODULE_KINDS;
	CHECK_EQ(tables_add_module(t.writer[0], &row, &bad_kind), 0);
	const struct sample good = a_sample(0, 11, module, 1);
	struct sample bad[] = {good, good, good, good, a_sample(0, 11, bad_kind, 1), good};
	bad[0].task.index = UINT32_MAX;
	bad[1].node.index = 1 << 20;
	bad[2].leaf.index = 1 << 20;
	bad[3].task.index = tables_nr_rows(t.writer[0], TABLE_TASKS);
	/* A node that is its own caller's caller. */
	struct node_row *nodes = part_at(0)->current->tables.rows[TABLE_NODES];
	struct node_id deep;
	CHECK_EQ(tables_add_node(t.writer[0], good.node, good.leaf, FRAME_CFI, &deep), 0);
	nodes[deep.index].parent.index = deep.index;
	bad[5].node = deep;
	uint64_t number = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		put(0, bad[i], number++);
	put(0, good, number);
	publish(0, UINT64_MAX); /* a lie about how far it is is one about the order alone */
	put(0, good, 3);
	tables_publish(t.writer[0]);
	publish(1, UINT64_MAX);
	merge();
	CHECK_EQ(merged(samples, 64), 1);
	CHECK_EQ(t.session->parts->damaged, sizeof(bad) / sizeof(*bad));
	CHECK_EQ(samples[0].time_ns, number);
}

int main(void)
{
	RUN(in_the_order_of_the_file_and_none_too_early);
	RUN(the_same_rows_are_one_and_say_nothing_of_who_was_first);
	RUN(what_was_merged_of_a_predecessor_is_passed_over);
	RUN(full_tables_of_a_child_and_of_the_session);
	RUN(nonsense_is_left_out_and_counted);
	stop();
	return test_done();
}
