/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/wait.h>

#include <ctop/recorder/recording_writer.h>
#include <ctop/reader/recording_reader.h>
#include <ctop/recording/chunk.h>

#include "test.h"

static const struct tables_capacity capacity = {
	.nr = {4096, 64, 16, 64, 256, 4096, 8192},
	.nr_samples = 1024,
};
static const struct symbols_capacity names_capacity = {
	.nr_frames = 4096, .string_units = 16384, .nr_modules = 64, .nr_lines = 4096};

enum { NR_SAMPLES = 300, NR_EPOCHS = 2 };

struct epoch {
	struct tables tables;
	struct symbols symbols;
	struct sample samples[NR_SAMPLES + 1];
	size_t nr_samples;
};

/* ---- a profile made of numbers, so that it can be made again and compared ---- */

static void fill_epoch(struct epoch *epoch, unsigned seed)
{
	CHECK_EQ(tables_map(&epoch->tables, -1, &capacity, true), 0);
	CHECK_EQ(symbols_map(&epoch->symbols, -1, &names_capacity, true), 0);
	struct tables_writer *writer = tables_writer_new(&epoch->tables);
	struct symbols_writer *namer = symbols_writer_new(&epoch->symbols);
	CHECK(writer && namer);
	struct string_id path, comm;
	struct module_id module;
	struct task_id task;
	CHECK_EQ(tables_add_string(writer, "/usr/bin/some program", 21, &path), 0);
	CHECK_EQ(tables_add_string(writer, "comm;\n", 6, &comm), 0);
	const struct event_row event = {.name = comm, .asked = path, .period = 12345};
	uint32_t event_id;
	CHECK_EQ(tables_add_event(writer, &event, &event_id), 0);
	const struct module_row row = {
		.path = path,
		.kind = MODULE_FILE,
		.identity = {.build_id_size = 20, .build_id = {1, 2, 3, 255}, .inode = 1u << 30},
		.pid = 42,
		.start = 0x7fff00000000,
		.end = 0x7fff00010000,
		.file_offset = 0x1000,
	};
	CHECK_EQ(tables_add_module(writer, &row, &module), 0);
	CHECK_EQ(tables_add_task(writer, 42, 43, 0, comm, &task), 0);
	struct node_id node = {0};
	for (unsigned i = 0; i < NR_SAMPLES; i++) {
		struct frame_id frame, leaf;
		unsigned number = (i * 7919 + seed) % 97;
		CHECK_EQ(tables_add_frame(writer, module, 0x1000 + number * 16, &frame), 0);
		CHECK_EQ(tables_add_frame(writer, module, UINT64_MAX - number, &leaf), 0);
		if (number % 5 == 0)
			node = (struct node_id){0};
		CHECK_EQ(tables_add_node(writer, node, frame, FRAME_CFI, &node), 0);
		char name[32];
		snprintf(name, sizeof(name), "function %u", number % 13);
		if (number % 4)
			CHECK_EQ(symbols_set(namer, frame, SYMBOL_NAMED, name, NULL, number), 0);
		epoch->samples[i] = (struct sample){
			.time_ns = 1000000000 + i * 1000 - (i % 7) * 2000,
			.weight = 1 + number % 3,
			.task = task,
			.node = node,
			.leaf = leaf,
			.cpu = (uint16_t)(number % 4),
			.event = (uint8_t)event_id,
			.end = (uint8_t)(number % NR_STACK_ENDS),
			.reason = (uint8_t)(number % NR_STACK_REASONS),
		};
	}
	epoch->nr_samples = NR_SAMPLES;
	tables_publish(writer);
	tables_writer_free(writer);
	symbols_writer_free(namer);
}

static int memory_file(void)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* Writes both epochs in several flushes; returns a descriptor at the file's begin. */
static int write_recording(struct epoch epochs[NR_EPOCHS])
{
	int fd = memory_file();
	struct recording_writer *writer = recording_writer_new(dup(fd));
	CHECK(writer != NULL);
	CHECK_EQ(recording_add_info(writer, "hostname", "here"), 0);
	for (unsigned e = 0; e < NR_EPOCHS; e++) {
		fill_epoch(&epochs[e], e);
		CHECK_EQ(recording_begin_epoch(writer, &epochs[e].tables, &epochs[e].symbols), 0);
		for (size_t i = 0; i < NR_SAMPLES; i += 100) {
			CHECK_EQ(recording_add_samples(writer, &epochs[e].samples[i], 100), 0);
			CHECK_EQ(recording_flush(writer), 0);
		}
	}
	CHECK_EQ(recording_add_info(writer, "hostname", "there"), 0);
	uint64_t bytes;
	CHECK_EQ(recording_finish(writer, &bytes), 0);
	CHECK_EQ(bytes, lseek(fd, 0, SEEK_END));
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* ---- reading it back ---- */

struct sink {
	struct epoch epochs[64];
	size_t nr;
};

static void drain(struct sink *sink)
{
	struct sample samples[256];
	uint64_t missed = 0;
	size_t nr;
	if (!sink->nr)
		return;
	struct epoch *epoch = &sink->epochs[sink->nr - 1];
	while ((nr = tables_read_samples(&epoch->tables, samples, 256, &missed))) {
		for (size_t i = 0; i < nr && epoch->nr_samples < NR_SAMPLES; i++)
			epoch->samples[epoch->nr_samples++] = samples[i];
	}
	CHECK_EQ(missed, 0);
}

static int sink_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	struct sink *sink = context;
	drain(sink);
	if (sink->nr == 64)
		return -ENOSPC;
	struct epoch *epoch = &sink->epochs[sink->nr++];
	epoch->nr_samples = 0;
	if (tables_map(&epoch->tables, -1, &capacity, true) ||
	    symbols_map(&epoch->symbols, -1, &names_capacity, true))
		return -ENOMEM;
	*tables = &epoch->tables;
	*symbols = &epoch->symbols;
	return 0;
}

static int sink_room(void *context)
{
	drain(context);
	return 0;
}

static int read_back(int fd, struct sink *sink, struct recording_read *read, struct error *error)
{
	const struct recording_sink callbacks = {sink, sink_epoch, sink_room};
	sink->nr = 0;
	int result = recording_read(fd, &callbacks, read, error);
	drain(sink);
	return result;
}

static void release(struct epoch *epochs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		tables_unmap(&epochs[i].tables);
		symbols_unmap(&epochs[i].symbols);
	}
}

/* The whole stack of a sample as text: what must survive, whatever the ids are. */
static void describe(const struct epoch *epoch, const struct sample *sample, char *text,
		     size_t size)
{
	struct tables_reader reader;
	tables_reader_init(&reader, &epoch->tables);
	tables_reader_refresh(&reader);
	struct task_row task;
	struct frame_row frame;
	tables_task(&reader, sample->task, &task);
	tables_frame(&reader, sample->leaf, &frame);
	struct module_row module;
	tables_module(&reader, frame.module, &module);
	int used = snprintf(text, size, "%llu %llu %d %d %s %u %u %u %u %llx %s %u",
			    (unsigned long long)sample->time_ns, (unsigned long long)sample->weight,
			    task.pid, task.tid, tables_string(&reader, task.comm), sample->cpu,
			    sample->event, sample->end, sample->reason,
			    (unsigned long long)frame.address, tables_string(&reader, module.path),
			    module.identity.build_id[3]);
	for (struct node_id node = sample->node; node.index && used < (int)size;) {
		struct node_row row;
		CHECK(tables_node(&reader, node, &row));
		tables_frame(&reader, row.frame, &frame);
		struct symbol_row symbol = symbols_row(&epoch->symbols, row.frame);
		used += snprintf(text + used, size - (size_t)used, " %llx/%u/%s+%u",
				 (unsigned long long)frame.address, row.method,
				 symbols_string(&epoch->symbols, symbol.name),
				 symbol.state == SYMBOL_NAMED ? symbol.offset : 0);
		node = row.parent;
	}
}

static struct epoch written[NR_EPOCHS];
static struct sink sink;

static void everything_comes_back(void)
{
	struct recording_read read;
	struct error error = {0};
	int fd = write_recording(written);
	CHECK_EQ(read_back(fd, &sink, &read, &error), 0);
	CHECK(read.whole);
	CHECK_EQ(read.lost_chunks, 0);
	CHECK_EQ(read.damaged_places, 0);
	CHECK_EQ(read.samples, NR_EPOCHS * NR_SAMPLES);
	size_t at = 0; /* metadata before the first epoch make an epoch of their own */
	while (sink.epochs[at].nr_samples == 0)
		at++;
	for (size_t e = 0; e < NR_EPOCHS; e++)
		for (size_t i = 0; i < NR_SAMPLES; i++) {
			char wanted[8192], got[8192];
			describe(&written[e], &written[e].samples[i], wanted, sizeof(wanted));
			describe(&sink.epochs[at + e], &sink.epochs[at + e].samples[i], got,
				 sizeof(got));
			CHECK_STR(got, wanted);
		}
	release(sink.epochs, sink.nr);
	release(written, NR_EPOCHS);
	close(fd);
}

static void a_full_device_is_told(void)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct recording_writer *writer = recording_writer_new(fd);
	uint64_t bytes;
	CHECK_EQ(recording_add_info(writer, "a", "b"), 0);
	CHECK_EQ(recording_flush(writer), -ENOSPC);
	CHECK_EQ(recording_finish(writer, &bytes), -ENOSPC);
	CHECK_EQ(bytes, 0);
}

/* A slow disk: nobody reads the pipe for a while. What was let in comes out whole; the rest was refused. */
static bool is_named(const struct epoch *epoch, const char *name)
{
	struct tables_reader reader;
	tables_reader_init(&reader, &epoch->tables);
	tables_reader_refresh(&reader);
	for (uint32_t i = 1; i < reader.nr[TABLE_FRAMES]; i++) {
		struct symbol_row row = symbols_row(&epoch->symbols, (struct frame_id){i});
		if (row.state == SYMBOL_NAMED &&
		    !strcmp(symbols_string(&epoch->symbols, row.name), name))
			return true;
	}
	return false;
}

static void what_a_slow_file_does_not_take_is_refused(void)
{
	static struct epoch epoch, next;
	int pipe_fds[2];
	fill_epoch(&epoch, 0);
	CHECK_EQ(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	struct recording_writer *writer = recording_writer_new(pipe_fds[1]);
	CHECK_EQ(recording_begin_epoch(writer, &epoch.tables, &epoch.symbols), 0);
	uint64_t taken = 0;
	uint32_t state = 1;
	int result = 0;
	while (!result) {
		struct sample samples[NR_SAMPLES];
		for (size_t i = 0; i < NR_SAMPLES; i++) {
			samples[i] = epoch.samples[i];
			state = state * 1103515245 + 12345;
			samples[i].time_ns = state; /* no compressor makes these small */
		}
		result = recording_add_samples(writer, samples, NR_SAMPLES);
		taken += result ? 0 : NR_SAMPLES;
		CHECK_EQ(recording_flush(writer), 0);
		CHECK(taken < (64 << 20));
	}
	CHECK_EQ(result, -EAGAIN);
	CHECK(recording_waiting_bytes(writer) > RECORDING_WAITING_MAX);

	/* The epoch ends meanwhile: what it still has to say must not go with it. */
	struct symbols_writer *namer = symbols_writer_new(&epoch.symbols);
	uint32_t frame = 1;
	while (symbols_row(&epoch.symbols, (struct frame_id){frame}).state == SYMBOL_NAMED)
		frame++;
	CHECK_EQ(symbols_set(namer, (struct frame_id){frame}, SYMBOL_NAMED, "late", NULL, 1), 0);
	symbols_writer_free(namer);
	CHECK_EQ(recording_flush(writer), 0);
	fill_epoch(&next, 1);
	CHECK_EQ(recording_begin_epoch(writer, &next.tables, &next.symbols), 0);
	/* While nothing is let in, further epochs cost nothing. */
	size_t waiting_bytes = recording_waiting_bytes(writer);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(recording_begin_epoch(writer, &next.tables, &next.symbols), 0);
	CHECK_EQ(recording_waiting_bytes(writer), waiting_bytes);

	/* The disk is back. */
	pid_t reader = fork();
	if (reader == 0) {
		struct recording_read read;
		struct error error;
		close(pipe_fds[1]);
		fcntl(pipe_fds[0], F_SETFL, 0);
		int failed = read_back(pipe_fds[0], &sink, &read, &error);
		_exit(failed || !read.whole || read.lost_chunks || read.samples != taken ||
		      !is_named(&sink.epochs[0], "late"));
	}
	close(pipe_fds[0]);
	uint64_t bytes;
	int wait_status;
	CHECK_EQ(recording_finish(writer, &bytes), 0);
	CHECK_EQ(waitpid(reader, &wait_status, 0), reader);
	CHECK(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0);
}

/* Samples that lie evenly pack to a thousandth: the writer stays below what a reader takes for a lie. */
static void what_packs_well_is_no_bomb(void)
{
	enum { NR_FLUSHES = 64, A_FLUSH = 1 << 16, RAW_BYTES_A_SAMPLE = 4, RAW_A_BYTE = 256 };
	static struct epoch epoch;
	struct recording_read read;
	struct error error = {0};
	int fd = memory_file();
	fill_epoch(&epoch, 0);
	struct recording_writer *writer = recording_writer_new(dup(fd));
	CHECK_EQ(recording_begin_epoch(writer, &epoch.tables, &epoch.symbols), 0);
	struct sample sample = epoch.samples[0];
	for (int i = 0; i < NR_FLUSHES; i++) {
		for (int j = 0; j < A_FLUSH; j++) {
			sample.time_ns += 100000;
			CHECK_EQ(recording_add_samples(writer, &sample, 1), 0);
		}
		CHECK_EQ(recording_flush(writer), 0);
	}
	uint64_t bytes;
	CHECK_EQ(recording_finish(writer, &bytes), 0);
	const uint64_t raw_bytes = (uint64_t)NR_FLUSHES * A_FLUSH * RAW_BYTES_A_SAMPLE;
	CHECK(bytes > (raw_bytes - (1 << 20)) / RAW_A_BYTE && bytes < raw_bytes / 32);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(read_back(fd, &sink, &read, &error), 0);
	CHECK(read.whole);
	CHECK_EQ(read.lost_chunks, 0);
	CHECK_EQ(read.samples, (uint64_t)NR_FLUSHES * A_FLUSH);
	release(sink.epochs, sink.nr);
	release(&epoch, 1);
	close(fd);
}

/* Names and lines, of all frames one end or another of one string: it is written as often as it would fit into the region. */
static void names_that_overlap_cost_little(void)
{
	enum { NR_FRAMES = 1500, FIRST = 200 };
	struct epoch epoch = {0};
	struct chunk chunk;
	struct chunk_damage damage = {0};
	char text[SYMBOLS_STRING_MAX];
	uint64_t bytes, names = 0, lines = 0;
	int fd = memory_file();
	fill_epoch(&epoch, 0);
	struct tables_writer *rows = tables_writer_new(&epoch.tables);
	struct symbols_writer *namer = symbols_writer_new(&epoch.symbols);
	CHECK(rows && namer);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ(symbols_set(namer, (struct frame_id){FIRST}, SYMBOL_NAMED, text, NULL, 0), 0);
	const uint32_t string = epoch.symbols.rows[FIRST].name.index;
	for (uint32_t i = 0; i < NR_FRAMES; i++) {
		struct frame_id frame;
		CHECK_EQ(tables_add_frame(rows, (struct module_id){1}, 0x100000 + i, &frame), 0);
		epoch.symbols.lines[i] = (struct line_row){{string + i}, {string + i}, i};
		epoch.symbols.rows[frame.index] = (struct symbol_row){.state = SYMBOL_NAMED,
								      .name = {string + i},
								      .lines = 1 + i,
								      .nr_lines = 64};
	}
	tables_publish(rows);
	struct recording_writer *writer = recording_writer_new(dup(fd));
	CHECK_EQ(recording_begin_epoch(writer, &epoch.tables, &epoch.symbols), 0);
	CHECK_EQ(recording_finish(writer, &bytes), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	struct chunk_reader *reader = chunk_reader_new(fd);
	CHECK_EQ(chunk_read_head(reader), 0);
	while (chunk_read(reader, &chunk, &damage) == 1) {
		const uint64_t size = (uint64_t)(chunk.payload.end - chunk.payload.at);
		names += chunk.type == CHUNK_NAMES ? size : 0;
		lines += chunk.type == CHUNK_LINES ? size : 0;
	}
	CHECK(names > 0 && names < 3 * symbols_string_bytes(&names_capacity) / 2);
	CHECK(lines > 0 && lines < 3 * symbols_string_bytes(&names_capacity) / 2);
	chunk_reader_free(reader);
	tables_writer_free(rows);
	symbols_writer_free(namer);
	release(&epoch, 1);
	close(fd);
}

int main(void)
{
	RUN(what_packs_well_is_no_bomb);
	RUN(everything_comes_back);
	RUN(names_that_overlap_cost_little);
	RUN(a_full_device_is_told);
	RUN(what_a_slow_file_does_not_take_is_refused);
	return test_done();
}
