/* SPDX-License-Identifier: MIT */
/*
 * A recording. First a byte: with bit 0, the rest is the file as it is; without, the rest is a row of
 * chunks (a byte that chooses the type, or the next epoch, a length of two bytes, the payload), which are put into
 * a file with the right checksums, so that changes reach what is behind them. Bit 1: small tables, which
 * overflow. What was read must hang together, and main's history must take all of it.
 */
#include <errno.h>

#include <ctop/reader/recording_reader.h>

#include <ctop/recording/chunk.h>
#include <ctop/store/kept_code.h>
#include "fuzz.h"
#include "profile_check.h"

enum { AS_IT_IS = 1, SMALL_TABLES = 2 };
enum { EPOCHS_MAX = 8, NEXT_EPOCH = 0 };

static const struct tables_capacity capacity = {
	.nr = {4096, 64, 16, 64, 256, 4096, 4096},
	.nr_samples = 256,
};
static const struct tables_capacity small_capacity = {
	.nr = {16, 3, 3, 3, 4, 8, 8},
	.nr_samples = 2,
};
static const struct symbols_capacity names_capacity = {
	.nr_frames = 4096,
	.string_units = 4096,
	.nr_modules = 64,
	.nr_lines = 64,
	.nr_code = 64,
	.code_bytes = 1 << 14,
};
static const struct symbols_capacity small_names_capacity = {.nr_frames = 6,
							     .string_units = 16,
							     .nr_modules = 2,
							     .nr_lines = 3,
							     .nr_code = 2,
							     .code_bytes = 8};

/* ---- the file ---- */

static int make_file(struct input *input)
{
	static const uint32_t types[] = {
		NEXT_EPOCH,   CHUNK_STRINGS, CHUNK_EVENTS, CHUNK_MODULES, CHUNK_TASKS,
		CHUNK_FRAMES, CHUNK_NODES,   CHUNK_NAMES,  CHUNK_SAMPLES, CHUNK_METADATA,
		CHUNK_END,    0x3f3f3f3f,    CHUNK_LINES,  CHUNK_CODE,	  CHUNK_MADE,
	};
	int fd = fuzz_file("", 0);
	struct chunk_writer *writer = chunk_writer_new(dup(fd));
	REQUIRE(writer && chunk_write_head(writer) == 0);
	uint32_t epoch = 1;
	while (input->left) {
		uint32_t type = types[input_u8(input) % (sizeof(types) / sizeof(types[0]))];
		struct buffer payload = {0};
		size_t size = input_u16(input);
		const uint8_t *bytes = input_bytes(input, &size);
		buffer_add(&payload, bytes, size);
		epoch += type == NEXT_EPOCH;
		REQUIRE(type == NEXT_EPOCH || chunk_write(writer, type, epoch, &payload) == 0);
		buffer_release(&payload);
	}
	chunk_writer_free(writer);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* ---- who reads it ---- */

struct epoch {
	struct tables tables;
	struct symbols symbols;
};

struct sink {
	bool small;
	struct epoch epochs[EPOCHS_MAX];
	size_t nr;
	uint64_t samples;
	struct history *history;
};

static void check_epoch(const struct epoch *epoch)
{
	struct tables_reader reader;
	tables_reader_init(&reader, &epoch->tables);
	tables_reader_refresh(&reader);
	REQUIRE(reader.closed);
	check_tables(&epoch->tables);
	for (uint32_t i = 1; i < reader.nr[TABLE_FRAMES]; i++) {
		struct symbol_row row = symbols_row(&epoch->symbols, (struct frame_id){i});
		REQUIRE(row.state == SYMBOL_PENDING || row.state == SYMBOL_NAMED ||
			row.state == SYMBOL_BOUNDED);
		REQUIRE(strlen(symbols_string(&epoch->symbols, row.name)) <= SYMBOLS_STRING_MAX);
		REQUIRE(strlen(symbols_string(&epoch->symbols, row.module)) <= SYMBOLS_STRING_MAX);
		struct line_row lines[SYMBOLS_LINES_MAX];
		const size_t nr = symbols_lines(&epoch->symbols, (struct frame_id){i}, lines);
		for (size_t line = 0; line < nr; line++)
			REQUIRE(!line == !lines[line].function.index);
	}
}

static int check_code(void *context, uint64_t start, const struct history_code *code)
{
	uint64_t *left = context;
	unsigned sum = 0;
	REQUIRE(code->size && code->size <= KEPT_FUNCTION_MAX && code->size <= *left &&
		start + code->size > start);
	*left -= code->size;
	for (uint32_t i = 0; i < code->size; i++)
		sum += code->bytes[i];
	REQUIRE(sum <= code->size * 255u);
	return 0;
}

/* Of every module together no more than a recording may have. */
static void check_kept_code(const struct history *history)
{
	uint64_t left = KEPT_CODE_MAX;
	for (uint32_t module = 0; module < 256; module++)
		REQUIRE(history_each_code(history, module, check_code, &left) == 0);
}

static void drain(struct sink *sink)
{
	struct sample samples[64];
	uint64_t missed = 0;
	size_t nr;
	if (!sink->nr)
		return;
	struct epoch *epoch = &sink->epochs[sink->nr - 1];
	while ((nr = tables_read_samples(&epoch->tables, samples, 64, &missed))) {
		check_samples(&epoch->tables, samples, nr);
		sink->samples += nr;
		REQUIRE(history_import(sink->history, samples, nr) == 0);
	}
	REQUIRE(missed == 0); /* the reader waits for room */
}

static int begin_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	struct sink *sink = context;
	drain(sink);
	if (sink->nr == EPOCHS_MAX)
		return -ECANCELED;
	struct epoch *epoch = &sink->epochs[sink->nr++];
	REQUIRE(tables_map(&epoch->tables, -1, sink->small ? &small_capacity : &capacity, true) ==
		0);
	REQUIRE(symbols_map(&epoch->symbols, -1,
			    sink->small ? &small_names_capacity : &names_capacity, true) == 0);
	REQUIRE(history_begin_epoch(sink->history, &epoch->tables, &epoch->symbols) == 0);
	*tables = &epoch->tables;
	*symbols = &epoch->symbols;
	return 0;
}

static int wait_room(void *context)
{
	drain(context);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	unsigned flags = input_u8(&input);
	struct sink sink = {.small = flags & SMALL_TABLES, .history = history_new()};
	REQUIRE(sink.history != NULL);
	int fd = flags & AS_IT_IS ? fuzz_file(input.at, input.left) : make_file(&input);
	const struct recording_sink callbacks = {&sink, begin_epoch, wait_room};
	struct recording_read read;
	struct error error = {0};
	int result = recording_read(fd, &callbacks, &read, &error);
	REQUIRE(result == 0 || error.cause[0]);
	REQUIRE(result == 0 || result == -EINVAL || result == -EPROTO || result == -ECANCELED);
	drain(&sink);
	REQUIRE(sink.samples == read.samples);
	for (size_t i = 0; i < sink.nr; i++)
		check_epoch(&sink.epochs[i]);
	check_history(sink.history, sink.samples);
	check_kept_code(sink.history);
	history_free(sink.history);
	for (size_t i = 0; i < sink.nr; i++) {
		tables_unmap(&sink.epochs[i].tables);
		symbols_unmap(&sink.epochs[i].symbols);
	}
	close(fd);
	return 0;
}
