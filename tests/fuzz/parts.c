/* SPDX-License-Identifier: MIT */
/*
 * What the children that read parts of a file write into their tables, merged into main's. Steps, a byte each that says which, and which of
 * two children: rows and samples as honest ones write them, but for what they refer to; bytes anywhere in the region; how far
 * the child says that it is; its next tables; its end.
 */
#include "main/session/session_internal.h"

#include "fuzz.h"

enum { NR = 2, STEPS_MAX = 256 };

static struct session session;
static struct child_status status[NR];
static struct input input;

struct child {
	struct part *part;
	struct tables tables; /* its own mapping */
	struct tables_writer *writer;
};
static struct child children[NR];

static void enter(struct child *child, struct region *region)
{
	tables_writer_free(child->writer);
	tables_unmap(&child->tables);
	REQUIRE(region_open(region, ++child->part->nr_epochs) == 0);
	REQUIRE(tables_map(&child->tables, region->tables_fd, &tables_capacity_default, true) == 0);
	child->writer = tables_writer_new(&child->tables);
	REQUIRE(child->writer);
}

/* The id, the one behind it, or one far away. */
static uint32_t astray(uint32_t id, uint32_t number)
{
	return number < 192 ? id : number < 224 ? id + 1 : id + 0x7f000000;
}

static void write_rows(struct child *child)
{
	struct tables_writer *writer = child->writer;
	struct task_row task = {.pid = 1, .tid = input_u8(&input) % 4};
	struct module_row module = {0};
	struct sample sample = {.event = 1};
	struct event_row event = {0};
	struct module_id in;
	uint32_t id;
	char text[9] = "";
	input_take(&input, text, 8);
	const uint32_t odd[] = {input_u8(&input), input_u8(&input), input_u8(&input)};
	if (tables_add_string(writer, text, 8, &event.name) ||
	    tables_add_event(writer, &event, &id))
		return;
	task.comm.index = astray(event.name.index, odd[0]);
	task.process.index = odd[1] % 8;
	module = (struct module_row){.path = event.name,
				     .kind = odd[0] % (NR_MODULE_KINDS + 1),
				     .pid = (int32_t)odd[1],
				     .identity.build_id_size = odd[2] / 8};
	if (tables_add_module(writer, &module, &in) ||
	    tables_add_task_row(writer, &task, &sample.task))
		return;
	in.index = astray(in.index, odd[1]);
	for (uint32_t i = 0; i <= odd[2] % 8; i++) {
		if (tables_add_frame(writer, in, odd[0] + i, &sample.leaf) ||
		    tables_add_node(writer, sample.node, sample.leaf, FRAME_CFI, &sample.node))
			return;
		struct sample put = sample;
		put.task.index = astray(put.task.index, odd[i % 3] * 3 % 256);
		put.node.index = astray(put.node.index, odd[i % 3] * 5 % 256);
		put.leaf.index = astray(put.leaf.index, odd[i % 3] * 7 % 256);
		sample_set_number(&put, input_u16(&input));
		tables_add_sample(writer, &put);
	}
	tables_publish(writer);
}

static void write_bytes(struct child *child)
{
	size_t at = input_u32(&input) % child->tables.bytes, size = input_u8(&input);
	const uint8_t *bytes = input_bytes(&input, &size);
	size_t room = child->tables.bytes - at;
	memcpy((uint8_t *)child->tables.header + at, bytes, size < room ? size : room);
}

static void say_how_far(struct child *child)
{
	const uint16_t number = input_u16(&input);
	atomic_store(&status[child - children].published,
		     number == UINT16_MAX ? UINT64_MAX : number);
}

static void go_on(struct child *child)
{
	if (child->part->next->epoch)
		return;
	tables_close_epoch(child->writer);
	enter(child, child->part->next);
}

static void end(struct child *child)
{
	child->part->is_done = true;
}

static void (*const steps[])(struct child *) = {write_rows,  write_rows, write_bytes,
						say_how_far, go_on,	 end};

/* All that readers of main's tables get refers to rows that are there. */
static void read_samples(void)
{
	static struct sample samples[SESSION_BATCH];
	struct tables_reader *reader = &session.current->reader;
	uint64_t missed = 0;
	size_t nr;
	while ((nr = tables_read_samples(&session.current->tables, samples, SESSION_BATCH,
					 &missed))) {
		tables_reader_refresh(reader);
		for (size_t i = 0; i < nr; i++) {
			struct task_row task;
			struct frame_row frame;
			struct node_row node;
			REQUIRE(tables_task(reader, samples[i].task, &task));
			REQUIRE(tables_frame(reader, samples[i].leaf, &frame));
			REQUIRE(tables_node(reader, samples[i].node, &node));
			REQUIRE(sample_number(&samples[i]) == 0);
		}
	}
	REQUIRE(missed == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int open_before = fuzz_open_descriptors();
	bool more = true;
	memset(&session, 0, sizeof(session));
	memset(status, 0, sizeof(status));
	input = (struct input){bytes, size};
	session.current = &session.regions[0];
	session.next = &session.regions[1];
	REQUIRE(region_open(session.current, 1) == 0);
	session.parts = parts_new(NR);
	REQUIRE(session.parts);
	for (size_t i = 0; i < NR; i++) {
		children[i] = (struct child){.part = &session.parts->items[i]};
		children[i].part->worker.status = &status[i];
		enter(&children[i], children[i].part->current);
	}
	for (size_t i = 0; i < STEPS_MAX && input.left; i++) {
		const uint8_t which = input_u8(&input);
		steps[which / NR % (sizeof(steps) / sizeof(*steps))](&children[which % NR]);
		REQUIRE(parts_merge(&session, &more) == 0);
		read_samples();
	}
	for (size_t i = 0; i < NR; i++) {
		children[i].part->is_done = true;
		tables_writer_free(children[i].writer);
		tables_unmap(&children[i].tables);
	}
	for (size_t i = 0; i < STEPS_MAX && !session.parts->are_merged; i++) {
		REQUIRE(parts_merge(&session, &more) == 0);
		read_samples();
	}
	for (size_t i = 0; i < NR; i++)
		children[i].part->worker.status = NULL;
	parts_free(session.parts);
	region_close(session.current);
	region_close(session.next);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}
