/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_FORMAT_PROFILES_H
#define CTOP_TEST_FORMAT_PROFILES_H

/*
 * Profiles made of random numbers, recorded and read back, and the comparison of
 * the two: stack by stack and name by name, since ids may differ. A recording that was damaged may
 * miss things, and say so; it must not tell anything else than what was recorded.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/recorder/recording_writer.h>
#include <ctop/reader/recording_reader.h>

#include "test.h"

struct numbers {
	uint64_t state;
};

static inline uint64_t next(struct numbers *numbers)
{
	/* xorshift64*: the same numbers everywhere. */
	numbers->state ^= numbers->state >> 12;
	numbers->state ^= numbers->state << 25;
	numbers->state ^= numbers->state >> 27;
	return numbers->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t below(struct numbers *numbers, uint32_t limit)
{
	return (uint32_t)((next(numbers) >> 33) % limit);
}

static const struct tables_capacity test_capacity = {
	.nr = {16384, 256, 32, 256, 256, 8192, 16384},
	.nr_samples = 256,
};
static const struct symbols_capacity test_names_capacity = {
	.nr_frames = 8192, .string_units = 65536, .nr_modules = 256, .nr_lines = 8192};

enum { EPOCHS_MAX = 64, SAMPLES_MAX = 4096, EPOCH_NS = 1 << 30, STEP_NS = 1000 };

struct epoch {
	struct tables tables;
	struct symbols symbols;
	struct sample samples[SAMPLES_MAX];
	size_t nr_samples;
	/* While it is made. */
	struct numbers numbers;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct task_id tasks[128];
	struct module_id modules[128];
	struct frame_id frames[2048];
	struct node_id nodes[4096];
	uint32_t nr_tasks, nr_modules, nr_frames, nr_nodes, nr_events;
	uint64_t start_ns;
};

static inline void epoch_map(struct epoch *epoch)
{
	CHECK_EQ(tables_map(&epoch->tables, -1, &test_capacity, true), 0);
	CHECK_EQ(symbols_map(&epoch->symbols, -1, &test_names_capacity, true), 0);
}

static inline void epoch_release(struct epoch *epoch)
{
	tables_writer_free(epoch->writer);
	symbols_writer_free(epoch->namer);
	tables_unmap(&epoch->tables);
	symbols_unmap(&epoch->symbols);
	epoch->writer = NULL;
	epoch->namer = NULL;
}

/* ---- making ---- */

static inline void epoch_init(struct epoch *epoch, unsigned number, uint64_t seed)
{
	memset(epoch, 0, sizeof(*epoch));
	epoch_map(epoch);
	epoch->numbers.state = seed * 7919 + number + 1;
	epoch->start_ns = (uint64_t)(number + 1) * EPOCH_NS;
	epoch->writer = tables_writer_new(&epoch->tables);
	epoch->namer = symbols_writer_new(&epoch->symbols);
	CHECK(epoch->writer && epoch->namer);
}

static inline struct string_id any_string(struct epoch *epoch)
{
	struct numbers *numbers = &epoch->numbers;
	struct string_id id;
	char text[64];
	size_t size = below(numbers, sizeof(text));
	for (size_t i = 0; i < size; i++)
		text[i] = (char)(1 + below(numbers, 255));
	CHECK_EQ(tables_add_string(epoch->writer, text, size, &id), 0);
	return id;
}

static inline void add_event(struct epoch *epoch)
{
	uint32_t id;
	const struct event_row row = {
		.name = any_string(epoch),
		.asked = any_string(epoch),
		.period = next(&epoch->numbers) >> below(&epoch->numbers, 64),
		.frequency_hz = below(&epoch->numbers, 10000),
		.weight_unit = below(&epoch->numbers, NR_WEIGHT_UNITS),
	};
	CHECK_EQ(tables_add_event(epoch->writer, &row, &id), 0);
	epoch->nr_events++;
}

static inline void add_module(struct epoch *epoch)
{
	struct numbers *numbers = &epoch->numbers;
	struct module_row row = {
		.path = any_string(epoch),
		.kind = 1 + below(numbers, NR_MODULE_KINDS - 1),
		.identity.build_id_size = below(numbers, 2) ? BUILD_ID_MAX : 0,
		.pid = (int32_t)next(numbers),
		.identity.generation = (uint32_t)next(numbers),
		.identity.device_major = below(numbers, 256),
		.identity.device_minor = (uint32_t)next(numbers),
		.identity.inode = next(numbers),
		.start = next(numbers),
		.end = next(numbers),
		.file_offset = next(numbers),
	};
	for (size_t i = 0; i < row.identity.build_id_size; i++)
		row.identity.build_id[i] = (uint8_t)next(numbers);
	CHECK_EQ(tables_add_module(epoch->writer, &row, &epoch->modules[epoch->nr_modules++]), 0);
}

static inline void add_task(struct epoch *epoch)
{
	struct numbers *numbers = &epoch->numbers;
	int32_t pid = (int32_t)next(numbers),
		tid = below(numbers, 2) ? pid : (int32_t)next(numbers);
	CHECK_EQ(tables_add_task(epoch->writer, pid, tid, 0, any_string(epoch),
				 &epoch->tasks[epoch->nr_tasks++]),
		 0);
}

static inline void add_frame(struct epoch *epoch)
{
	struct numbers *numbers = &epoch->numbers;
	struct module_id module = epoch->modules[below(numbers, epoch->nr_modules)];
	uint64_t address = next(numbers) >> (below(numbers, 2) ? 44 : 0);
	CHECK_EQ(tables_add_frame(epoch->writer, module, address,
				  &epoch->frames[epoch->nr_frames++]),
		 0);
}

static inline void add_node(struct epoch *epoch)
{
	struct numbers *numbers = &epoch->numbers;
	struct node_id parent = {0};
	if (epoch->nr_nodes && below(numbers, 20)) /* mostly deep: near the last one */
		parent = epoch->nodes[epoch->nr_nodes - 1 -
				      below(numbers, epoch->nr_nodes < 8 ? epoch->nr_nodes : 8)];
	CHECK_EQ(tables_add_node(epoch->writer, parent,
				 epoch->frames[below(numbers, epoch->nr_frames)],
				 (enum frame_method)below(numbers, NR_FRAME_METHODS),
				 &epoch->nodes[epoch->nr_nodes++]),
		 0);
}

/* Names for some of the frames; those that have none yet may get one later. */
static inline void add_names(struct epoch *epoch, uint32_t nr)
{
	struct numbers *numbers = &epoch->numbers;
	while (nr--) {
		struct frame_id frame = epoch->frames[below(numbers, epoch->nr_frames)];
		char name[128];
		snprintf(name, sizeof(name), "space%.*s::function %u(int)", (int)below(numbers, 60),
			 "________________________________________"
			 "____________________",
			 below(numbers, 50));
		enum symbol_state state = 1 + below(numbers, 3);
		if (symbols_row(&epoch->symbols, frame).state == SYMBOL_NAMED)
			continue; /* a name stays */
		CHECK_EQ(symbols_set(epoch->namer, frame, state,
				     state == SYMBOL_NAMED ? name : NULL,
				     frame.index % 3 ? NULL : "[a kernel's module]",
				     below(numbers, 3) ? below(numbers, 10000) : UINT32_MAX),
			 0);
	}
}

/* Lines for some of the frames, once. */
static inline void add_lines(struct epoch *epoch, uint32_t nr)
{
	struct numbers *numbers = &epoch->numbers;
	while (nr--) {
		struct frame_id frame = epoch->frames[below(numbers, epoch->nr_frames)];
		struct symbol_line lines[3];
		char names[3][32], files[3][32];
		for (uint32_t i = 0; i < 3; i++) {
			snprintf(names[i], sizeof(names[i]), "inlined %u", below(numbers, 50));
			snprintf(files[i], sizeof(files[i]), "/src/%u.c", below(numbers, 50));
			lines[i] = (struct symbol_line){
				i ? names[i] : NULL, below(numbers, 9) ? files[i] : "",
				below(numbers, 9) ? below(numbers, 1 << 20) : 0};
		}
		if (!symbols_has_looked_up_lines(&epoch->symbols, frame))
			CHECK_EQ(symbols_set_lines(epoch->namer, frame, lines, below(numbers, 4)),
				 0);
	}
}

static inline void add_samples(struct epoch *epoch, size_t nr)
{
	struct numbers *numbers = &epoch->numbers;
	struct sample sample = {.cpu = UINT16_MAX, .weight = UINT64_MAX};
	for (size_t i = 0; i < nr; i++) {
		if (below(numbers, 2))
			sample.task = epoch->tasks[below(numbers, epoch->nr_tasks)];
		if (below(numbers, 2))
			sample.cpu = (uint16_t)below(numbers, 1u << below(numbers, 17));
		if (!below(numbers, 10))
			sample.event = (uint8_t)(1 + below(numbers, epoch->nr_events));
		if (below(numbers, 2)) {
			sample.end = (uint8_t)below(numbers, NR_STACK_ENDS);
			sample.reason = (uint8_t)below(numbers, NR_STACK_REASONS);
		}
		if (!below(numbers, 5))
			sample.weight = next(numbers) >> below(numbers, 64);
		if (below(numbers, 3))
			sample.node = below(numbers, 20)
					      ? epoch->nodes[below(numbers, epoch->nr_nodes)]
					      : (struct node_id){0};
		if (below(numbers, 3))
			sample.leaf = below(numbers, 20)
					      ? epoch->frames[below(numbers, epoch->nr_frames)]
					      : (struct frame_id){0};
		/* A time tells which sample it is; now and then one comes late. */
		sample.time_ns =
			epoch->start_ns + epoch->nr_samples * STEP_NS + below(numbers, STEP_NS);
		epoch->samples[epoch->nr_samples++] = sample;
		if (i && !below(numbers, 10)) {
			struct sample *two = &epoch->samples[epoch->nr_samples - 2];
			uint64_t time_ns = two[0].time_ns;
			two[0].time_ns = two[1].time_ns;
			two[1].time_ns = time_ns;
		}
	}
}

/* Some more of everything, published. The samples in it are the last nr ones. */
static inline void epoch_grow(struct epoch *epoch, uint32_t nr)
{
	if (!epoch->nr_events || !below(&epoch->numbers, 3))
		add_event(epoch);
	for (uint32_t i = 0; i <= nr / 20; i++) {
		add_module(epoch);
		add_task(epoch);
	}
	for (uint32_t i = 0; i < nr; i++)
		add_frame(epoch);
	for (uint32_t i = 0; i < 2 * nr; i++)
		add_node(epoch);
	add_names(epoch, nr);
	add_lines(epoch, nr);
	add_samples(epoch, nr);
	tables_publish(epoch->writer);
}

/* ---- recording ---- */

static inline int memory_file(void)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* Grows each epoch in rounds of nr and records them into fd, which stays open. */
static inline void record_epochs(int fd, struct epoch *epochs, size_t nr_epochs, unsigned rounds,
				 uint32_t nr, uint64_t seed)
{
	struct recording_writer *writer = recording_writer_new(dup(fd));
	uint64_t bytes;
	CHECK(writer != NULL);
	for (size_t e = 0; e < nr_epochs; e++) {
		epoch_init(&epochs[e], (unsigned)e, seed);
		CHECK_EQ(recording_begin_epoch(writer, &epochs[e].tables, &epochs[e].symbols), 0);
		CHECK_EQ(recording_add_info(writer, "hostname", "here"), 0);
		for (unsigned round = 0; round < rounds; round++) {
			size_t before = epochs[e].nr_samples;
			epoch_grow(&epochs[e], nr);
			CHECK_EQ(recording_add_info(writer, "round", round % 2 ? "odd" : "even"),
				 0);
			CHECK_EQ(recording_add_samples(writer, &epochs[e].samples[before],
						       epochs[e].nr_samples - before),
				 0);
			CHECK_EQ(recording_flush(writer), 0);
		}
		/* Names that come last of all. */
		add_names(&epochs[e], nr);
		CHECK_EQ(recording_flush(writer), 0);
	}
	CHECK_EQ(recording_finish(writer, &bytes), 0);
}

/* ---- reading back ---- */

struct sink {
	struct epoch epochs[EPOCHS_MAX];
	size_t nr;
};

static inline void sink_drain(struct sink *sink)
{
	uint64_t missed = 0;
	if (!sink->nr)
		return;
	struct epoch *epoch = &sink->epochs[sink->nr - 1];
	for (;;) {
		size_t nr = tables_read_samples(&epoch->tables, epoch->samples + epoch->nr_samples,
						SAMPLES_MAX - epoch->nr_samples, &missed);
		if (!nr)
			break;
		epoch->nr_samples += nr;
	}
	CHECK_EQ(missed, 0);
}

static inline int sink_begin_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	struct sink *sink = context;
	sink_drain(sink);
	if (sink->nr == EPOCHS_MAX)
		return -E2BIG;
	struct epoch *epoch = &sink->epochs[sink->nr];
	epoch->nr_samples = 0;
	if (tables_map(&epoch->tables, -1, &test_capacity, true) ||
	    symbols_map(&epoch->symbols, -1, &test_names_capacity, true))
		return -ENOMEM;
	sink->nr++;
	*tables = &epoch->tables;
	*symbols = &epoch->symbols;
	return 0;
}

static inline int sink_wait_room(void *context)
{
	struct sink *sink = context;
	size_t before = sink->epochs[sink->nr - 1].nr_samples;
	sink_drain(sink);
	/* A reader of the ring that never gets on would hang. */
	return sink->epochs[sink->nr - 1].nr_samples > before ? 0 : -EPIPE;
}

static inline void sink_clear(struct sink *sink)
{
	for (size_t i = 0; i < sink->nr; i++)
		epoch_release(&sink->epochs[i]);
	sink->nr = 0;
}

/* Reads fd from where it stands; sink_clear() afterwards. */
static inline int read_back(int fd, struct sink *sink, struct recording_read *read,
			    struct error *error)
{
	const struct recording_sink callbacks = {sink, sink_begin_epoch, sink_wait_room};
	sink->nr = 0;
	int result = recording_read(fd, &callbacks, read, error);
	sink_drain(sink);
	return result;
}

static inline int read_bytes(const uint8_t *bytes, size_t size, struct sink *sink,
			     struct recording_read *read)
{
	struct error error = {0};
	int fd = memory_file();
	CHECK_EQ(write(fd, bytes, size), size);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	int result = read_back(fd, sink, read, &error);
	close(fd);
	CHECK(result == 0 || error.cause[0]);
	return result;
}

/* ---- comparing ---- */

struct compared {
	uint64_t same;	     /* samples with all that belongs to them, but perhaps names */
	uint64_t incomplete; /* something of the stack or the thread is not there, and it shows */
	uint64_t unnamed;    /* names of frames, threads and events that were lost */
};

/* A sample as it came back, and as it was recorded. */
struct pair {
	const struct epoch *got_epoch, *wanted_epoch;
	struct tables_reader got, wanted;
	uint32_t epoch; /* its number in the file */
	struct compared *compared;
};

static inline void same_string(const struct pair *pair, struct string_id got_id,
			       struct string_id wanted_id, const char *instead)
{
	const char *got = tables_string(&pair->got, got_id);
	const char *wanted = tables_string(&pair->wanted, wanted_id);
	if (strcmp(got, instead) == 0 && strcmp(wanted, instead) != 0)
		pair->compared->unnamed++;
	else
		CHECK_STR(got, wanted);
}

static inline void same_name(const struct pair *pair, struct frame_id got_id,
			     struct frame_id wanted_id)
{
	struct symbol_row got = symbols_row(&pair->got_epoch->symbols, got_id);
	struct symbol_row wanted = symbols_row(&pair->wanted_epoch->symbols, wanted_id);
	if (got.state != SYMBOL_NAMED) {
		pair->compared->unnamed += wanted.state == SYMBOL_NAMED;
		return;
	}
	CHECK_STR(symbols_string(&pair->got_epoch->symbols, got.name),
		  symbols_string(&pair->wanted_epoch->symbols, wanted.name));
	CHECK_EQ(got.offset, wanted.offset);
	const char *module = symbols_string(&pair->got_epoch->symbols, got.module);
	if (module[0])
		CHECK_STR(module, symbols_string(&pair->wanted_epoch->symbols, wanted.module));
}

/* All of its lines, or, of damaged recordings, none. */
static inline void same_lines(const struct pair *pair, struct frame_id got_id,
			      struct frame_id wanted_id)
{
	const struct symbols *ours = &pair->got_epoch->symbols,
			     *theirs = &pair->wanted_epoch->symbols;
	struct line_row got[SYMBOLS_LINES_MAX], wanted[SYMBOLS_LINES_MAX];
	const size_t nr = symbols_lines(ours, got_id, got),
		     nr_wanted = symbols_lines(theirs, wanted_id, wanted);
	if (!nr) {
		pair->compared->unnamed += nr_wanted > 0;
		return;
	}
	CHECK_EQ(nr, nr_wanted);
	for (size_t i = 0; i < nr; i++) {
		const char *file = symbols_string(ours, got[i].file);
		CHECK_STR(symbols_string(ours, got[i].function),
			  symbols_string(theirs, wanted[i].function));
		if (file[0])
			CHECK_STR(file, symbols_string(theirs, wanted[i].file));
		CHECK_EQ(got[i].line, wanted[i].line);
	}
}

/* True when the frame is the one that was recorded; false when it is lost, and says so. */
static inline bool same_frame(const struct pair *pair, struct frame_id got_id,
			      struct frame_id wanted_id)
{
	struct frame_row got, wanted;
	struct module_row got_module, wanted_module;
	if (wanted_id.index == 0) {
		CHECK_EQ(got_id.index, 0);
		return true;
	}
	CHECK(tables_frame(&pair->got, got_id, &got));
	CHECK(tables_frame(&pair->wanted, wanted_id, &wanted));
	CHECK(tables_module(&pair->got, got.module, &got_module));
	CHECK(tables_module(&pair->wanted, wanted.module, &wanted_module));
	same_name(pair, got_id, wanted_id);
	same_lines(pair, got_id, wanted_id);
	const char *path = tables_string(&pair->got, got_module.path);
	if (got_module.kind == MODULE_NONE) {
		CHECK_STR(path, "[lost]");
		CHECK(got.address == ((uint64_t)pair->epoch << 32 | wanted_id.index));
		return false;
	}
	CHECK(got.address == wanted.address);
	CHECK_STR(path, tables_string(&pair->wanted, wanted_module.path));
	got_module.path = wanted_module.path;
	CHECK(memcmp(&got_module, &wanted_module, sizeof(got_module)) == 0);
	return true;
}

static inline bool same_task(const struct pair *pair, struct task_id got_id,
			     struct task_id wanted_id)
{
	struct task_row got, wanted;
	CHECK(tables_task(&pair->got, got_id, &got));
	CHECK(tables_task(&pair->wanted, wanted_id, &wanted));
	if (got.pid == -1 && wanted.pid != -1) {
		CHECK_STR(tables_string(&pair->got, got.comm), "[lost]");
		return false;
	}
	CHECK_EQ(got.pid, wanted.pid);
	CHECK_EQ(got.tid, wanted.tid);
	same_string(pair, got.comm, wanted.comm, "[lost]");
	return true;
}

static inline void same_event(const struct pair *pair, uint32_t got_id, uint32_t wanted_id)
{
	struct event_row got, wanted;
	char instead[32];
	if (wanted_id == 0) {
		CHECK_EQ(got_id, 0);
		return;
	}
	snprintf(instead, sizeof(instead), "[lost event %u]", wanted_id);
	CHECK(tables_event(&pair->got, got_id, &got));
	CHECK(tables_event(&pair->wanted, wanted_id, &wanted));
	same_string(pair, got.name, wanted.name, instead);
	same_string(pair, got.asked, wanted.asked, instead);
	if (strcmp(tables_string(&pair->got, got.name), instead) == 0 && !got.period)
		return; /* all of the row was lost */
	CHECK(got.period == wanted.period);
	CHECK(got.frequency_hz == wanted.frequency_hz);
	CHECK_EQ(got.weight_unit, wanted.weight_unit);
}

/* The callers: all of them, or none and a stack that says that it is broken. */
static inline bool same_callers(const struct pair *pair, const struct sample *got_sample,
				const struct sample *wanted_sample)
{
	struct node_id got = got_sample->node, wanted = wanted_sample->node;
	bool same = true;
	if (!got.index && wanted.index) {
		CHECK_EQ(got_sample->end, STACK_BROKEN);
		CHECK_EQ(got_sample->reason, STACK_REASON_NONE);
		return false;
	}
	CHECK_EQ(got_sample->end, wanted_sample->end);
	CHECK_EQ(got_sample->reason, wanted_sample->reason);
	while (wanted.index) {
		struct node_row got_row, wanted_row;
		CHECK(tables_node(&pair->got, got, &got_row));
		CHECK(tables_node(&pair->wanted, wanted, &wanted_row));
		CHECK_EQ(got_row.method, wanted_row.method);
		same &= same_frame(pair, got_row.frame, wanted_row.frame);
		got = got_row.parent;
		wanted = wanted_row.parent;
	}
	CHECK_EQ(got.index, 0);
	return same;
}

static inline void compare_sample(const struct pair *pair, const struct sample *got,
				  const struct sample *wanted)
{
	CHECK(got->time_ns == wanted->time_ns);
	CHECK(got->weight == wanted->weight);
	CHECK_EQ(got->cpu, wanted->cpu);
	bool same = same_task(pair, got->task, wanted->task);
	same_event(pair, got->event, wanted->event);
	same &= same_frame(pair, got->leaf, wanted->leaf);
	same &= same_callers(pair, got, wanted);
	pair->compared->same += same;
	pair->compared->incomplete += !same;
}

/* Every sample that came back is one that was recorded, in its order and its epoch. */
static inline struct compared compare(const struct sink *sink, const struct epoch *epochs,
				      size_t nr_epochs)
{
	struct compared compared = {0};
	uint64_t epoch_before = 0;
	for (size_t g = 0; g < sink->nr; g++) {
		size_t from = 0;
		struct pair pair = {.got_epoch = &sink->epochs[g], .compared = &compared};
		tables_reader_init(&pair.got, &sink->epochs[g].tables);
		tables_reader_refresh(&pair.got);
		for (size_t i = 0; i < sink->epochs[g].nr_samples; i++) {
			const struct sample *got = &sink->epochs[g].samples[i];
			uint64_t e = got->time_ns / EPOCH_NS - 1;
			CHECK(e < nr_epochs && e >= epoch_before);
			CHECK(i == 0 || e == epoch_before);
			epoch_before = e;
			while (from < epochs[e].nr_samples &&
			       epochs[e].samples[from].time_ns != got->time_ns)
				from++;
			CHECK(from < epochs[e].nr_samples);
			pair.wanted_epoch = &epochs[e];
			pair.epoch = (uint32_t)e + 1;
			tables_reader_init(&pair.wanted, &epochs[e].tables);
			tables_reader_refresh(&pair.wanted);
			compare_sample(&pair, got, &epochs[e].samples[from]);
			from++;
		}
	}
	return compared;
}

static inline uint64_t count_samples(const struct epoch *epochs, size_t nr_epochs)
{
	uint64_t nr = 0;
	for (size_t e = 0; e < nr_epochs; e++)
		nr += epochs[e].nr_samples;
	return nr;
}

#endif
