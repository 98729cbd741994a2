/* SPDX-License-Identifier: MIT */
/* Code that a recording keeps: what was kept comes back, once, within bounds, whatever a child or a file says of it. */
#include <errno.h>
#include <sys/mman.h>

#include <ctop/recorder/recording_writer.h>
#include <ctop/reader/recording_reader.h>
#include <ctop/store/kept_code.h>

#include "chunks.h"

static const struct tables_capacity test_capacity = {
	.nr = {4096, 64, 16, 64, 256, 4096, 8192},
	.nr_samples = 16,
};
static const struct symbols_capacity roomy = {.nr_frames = 64,
					      .string_units = 64,
					      .nr_modules = 16,
					      .nr_code = KEPT_PIECES_MAX,
					      .code_bytes = KEPT_CODE_MAX};

static uint8_t code_bytes[KEPT_FUNCTION_MAX + 1];
static uint8_t written[8 << 20];

/* ---- a file with code alone ---- */

struct made {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *rows;
	struct module_id module;
};

static void make(struct made *made, uint64_t inode)
{
	struct module_row row = {.kind = MODULE_FILE, .identity.inode = inode};
	CHECK_EQ(tables_map(&made->tables, -1, &test_capacity, true), 0);
	CHECK_EQ(symbols_map(&made->symbols, -1, &roomy, true), 0);
	made->rows = tables_writer_new(&made->tables);
	CHECK_EQ(tables_add_string(made->rows, "/program", 8, &row.path), 0);
	CHECK_EQ(tables_add_module(made->rows, &row, &made->module), 0);
	tables_publish(made->rows);
}

static void unmake(struct made *made)
{
	tables_writer_free(made->rows);
	tables_unmap(&made->tables);
	symbols_unmap(&made->symbols);
}

static int keep(struct made *made, uint64_t start, uint32_t size, uint8_t fill)
{
	const struct kept_code code = {
		.start = start, .module = made->module, .size = size, .machine = 62};
	memset(code_bytes, fill, size);
	return symbols_keep_code(&made->symbols, &code, code_bytes);
}

static const struct sample any_sample = {.time_ns = 1};

/* Returns the size of the file, which is at `written`. */
static size_t record(struct made *epochs, size_t nr)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	struct recording_writer *writer = recording_writer_new(dup(fd));
	uint64_t bytes;
	for (size_t i = 0; i < nr; i++) {
		CHECK_EQ(recording_begin_epoch(writer, &epochs[i].tables, &epochs[i].symbols), 0);
		CHECK_EQ(recording_add_samples(writer, &any_sample, 1), 0);
		CHECK_EQ(recording_flush(writer), 0);
	}
	CHECK_EQ(recording_finish(writer, &bytes), 0);
	CHECK(bytes <= sizeof(written));
	CHECK_EQ(pread(fd, written, bytes, 0), (ssize_t)bytes);
	close(fd);
	return bytes;
}

/* ---- what comes back ---- */

struct got {
	struct tables tables[8];
	struct symbols symbols[8];
	size_t nr;
};

static struct got got;

static int begin_epoch(void *context, struct tables **tables, struct symbols **symbols)
{
	(void)context;
	CHECK(got.nr < 8);
	CHECK_EQ(tables_map(&got.tables[got.nr], -1, &test_capacity, true), 0);
	CHECK_EQ(symbols_map(&got.symbols[got.nr], -1, &roomy, true), 0);
	*tables = &got.tables[got.nr];
	*symbols = &got.symbols[got.nr++];
	return 0;
}

static int wait_room(void *context)
{
	(void)context;
	return -ENOSPC;
}

static void forget(void)
{
	while (got.nr) {
		tables_unmap(&got.tables[--got.nr]);
		symbols_unmap(&got.symbols[got.nr]);
	}
}

static struct recording_read read_file(const uint8_t *bytes, size_t size)
{
	const struct recording_sink sink_here = {NULL, begin_epoch, wait_room};
	struct recording_read read;
	struct error error = {0};
	int fd = memfd_create("recording", MFD_CLOEXEC);
	CHECK_EQ(write(fd, bytes, size), (ssize_t)size);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(recording_read(fd, &sink_here, &read, &error), 0);
	close(fd);
	return read;
}

static uint64_t total(uint32_t *nr)
{
	uint64_t bytes = 0;
	*nr = 0;
	for (size_t i = 0; i < got.nr; i++)
		for (uint32_t piece = 0; piece < symbols_nr_code(&got.symbols[i]); piece++) {
			struct kept_code code;
			const uint8_t *at;
			CHECK(symbols_code(&got.symbols[i], piece, &code, &at));
			bytes += code.size;
			++*nr;
		}
	return bytes;
}

/* ---- tests ---- */

static void code_comes_back(void)
{
	struct made made;
	struct kept_code code;
	const uint8_t *at;
	make(&made, 5);
	CHECK_EQ(keep(&made, 0x1000, 100, 0x90), 0);
	CHECK_EQ(keep(&made, 0x2000, KEPT_FUNCTION_MAX, 0xcc), 0);
	const struct recording_read read = read_file(written, record(&made, 1));
	CHECK(read.whole && !read.lost_chunks && !read.damaged_places);
	CHECK_EQ(got.nr, 1);
	CHECK_EQ(symbols_nr_code(&got.symbols[0]), 2);
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(symbols_code(&got.symbols[0], i, &code, &at));
		CHECK_EQ(code.start, i ? 0x2000 : 0x1000);
		CHECK_EQ(code.size, i ? KEPT_FUNCTION_MAX : 100);
		CHECK_EQ(code.machine, 62);
		CHECK_EQ(code.module.index, 1);
		memset(code_bytes, i ? 0xcc : 0x90, code.size);
		CHECK(memcmp(at, code_bytes, code.size) == 0);
	}
	forget();
	unmake(&made);
}

static int keep_named(struct made *made, const char *name, uint64_t read_ns, uint8_t fill)
{
	const struct kept_code code = {
		.start = 0x1000,
		.module = made->module,
		.size = 10,
		.machine = 62,
		.read_ns = read_ns,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
	};
	memset(code_bytes, fill, code.size);
	return symbols_keep_code(&made->symbols, &code, code_bytes);
}

/* Of one place: each function once, but again where its code was other code. */
static void functions_of_one_place_come_back_by_their_names(void)
{
	static const struct {
		const char *name;
		uint64_t read_ns;
		uint8_t fill;
	} pieces[] = {{"first", 0, 1}, {"second", 5, 2}, {"first", 0, 3}};
	struct made made;
	struct kept_code code;
	const uint8_t *at;
	make(&made, 5);
	for (size_t twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < 3; i++)
			CHECK_EQ(keep_named(&made, pieces[i].name, pieces[i].read_ns,
					    pieces[i].fill),
				 0);
	CHECK_EQ(keep(&made, 0x2000, 20, 4), 0);
	const struct recording_read read = read_file(written, record(&made, 1));
	CHECK(read.whole && !read.lost_chunks && !read.damaged_places);
	CHECK_EQ(symbols_nr_code(&got.symbols[0]), 4);
	for (uint32_t i = 0; i < 3; i++) {
		/* What has no name stands in a chunk of its own, which older readers know. */
		CHECK(symbols_code(&got.symbols[0], i + 1, &code, &at));
		CHECK_EQ(code.start, 0x1000);
		CHECK_EQ(code.name_bytes, strlen(pieces[i].name));
		CHECK(memcmp(code.name, pieces[i].name, code.name_bytes) == 0);
		CHECK_EQ(code.read_ns, pieces[i].read_ns);
		CHECK_EQ(at[9], pieces[i].fill);
	}
	forget();
	unmake(&made);
}

static void a_recording_has_a_mebibyte_at_most(void)
{
	struct made epochs[3];
	uint32_t nr;
	for (uint64_t i = 0; i < 3; i++) {
		make(&epochs[i], i + 1); /* each another file */
		for (uint64_t start = 1; keep(&epochs[i], start << 20, 100 << 10, 1) == 0; start++)
			;
		CHECK_EQ(symbols_nr_code(&epochs[i].symbols), 10);
	}
	read_file(written, record(epochs, 3));
	CHECK(total(&nr) <= KEPT_CODE_MAX);
	CHECK_EQ(nr, 10);
	forget();
	for (size_t i = 0; i < 3; i++)
		unmake(&epochs[i]);
}

static void a_function_is_written_once(void)
{
	struct made epochs[3];
	uint32_t nr;
	for (uint64_t i = 0; i < 3; i++) {
		make(&epochs[i], i / 2); /* the last one is another file */
		CHECK_EQ(keep(&epochs[i], 0x1000, 64, (uint8_t)i), 0);
		CHECK_EQ(keep(&epochs[i], 0x1000, 64, (uint8_t)i), 0);
	}
	read_file(written, record(epochs, 3));
	CHECK_EQ(total(&nr), 2 * 64);
	CHECK_EQ(nr, 2);
	forget();
	for (size_t i = 0; i < 3; i++)
		unmake(&epochs[i]);
}

static void a_child_that_lies_is_not_believed(void)
{
	struct made made;
	uint32_t nr;
	static const uint32_t no_modules[] = {0, 2, 31, 1000, UINT32_MAX};
	make(&made, 5);
	for (size_t i = 0; i < sizeof(no_modules) / sizeof(*no_modules); i++) {
		const struct kept_code code = {
			.start = 0x1000, .module = {no_modules[i]}, .size = 10};
		CHECK_EQ(symbols_keep_code(&made.symbols, &code, code_bytes), 0);
	}
	CHECK_EQ(keep(&made, 0x1000, 10, 1), 0);
	read_file(written, record(&made, 1));
	CHECK_EQ(total(&nr), 10);
	CHECK_EQ(nr, 1);
	forget();
	unmake(&made);
}

/* ---- files that lie ---- */

static size_t put_varint_at(uint8_t *to, uint64_t value)
{
	size_t size = 0;
	for (; value >= 0x80; value >>= 7)
		to[size++] = (uint8_t)(value | 0x80);
	to[size++] = (uint8_t)value;
	return size;
}

struct row {
	uint64_t module, start, bias, machine, flags, size, has;
};

/* Of made code: bytes that it claims, and that are there. */
struct row_name {
	uint64_t size, has;
};

/* In a file of one module, behind a good piece. */
static struct recording_read read_row_of(const struct row *row, const struct row_name *name)
{
	static uint8_t payload_here[1 << 20], bytes_here[2 << 20];
	struct raw_chunk chunks_here[16];
	struct made made;
	make(&made, 5);
	CHECK_EQ(keep(&made, 0x1000, 10, 1), 0);
	const size_t size = record(&made, 1);
	const size_t nr = take_apart(written, size, chunks_here);
	const size_t end = chunks_here[nr - 1].at;
	unmake(&made);
	size_t used = 0;
	const uint64_t numbers[] = {row->module,  row->start, row->bias,
				    row->machine, row->flags, row->size};
	for (size_t i = 0; i < 6; i++)
		used += put_varint_at(payload_here + used, numbers[i]);
	memset(payload_here + used, 0x90, row->has);
	used += row->has;
	if (name) {
		used += put_varint_at(payload_here + used, name->size);
		memset(payload_here + used, 'n', name->has);
		used += name->has;
		used += put_varint_at(payload_here + used, 1);
	}
	memcpy(bytes_here, written, end);
	const size_t at =
		end + put_chunk(bytes_here + end, name ? "MADE" : "CODE", chunks_here[0].recording,
				1, (uint32_t)nr, payload_here, used);
	memcpy(bytes_here + at, written + end, size - end);
	set_word(bytes_here + at + 28, (uint32_t)nr + 1);
	seal(bytes_here + at);
	return read_file(bytes_here, at + size - end);
}

static struct recording_read read_row(const struct row *row)
{
	return read_row_of(row, NULL);
}

static void rows_that_lie_are_damage(void)
{
	static const struct row lies[] = {
		{1, 0x2000, 0, 62, 0, 0, 0},					     /* nothing */
		{1, 0x2000, 0, 62, 0, KEPT_FUNCTION_MAX + 1, KEPT_FUNCTION_MAX + 1}, /* too much */
		{1, 0x2000, 0, 62, 0, 100, 99}, /* more than is there */
		{1, 0x2000, 0, 62, 0, UINT64_MAX, 9},
		{1, 0x2000, 0, 1 << 16, 0, 10, 10}, /* no machine */
		{1, UINT64_MAX - 4, 0, 62, 0, 10, 10},
		{1, 0x2000, UINT64_MAX - 0x2004, 62, 0, 10, 10},
	};
	uint32_t nr;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		const struct recording_read read = read_row(&lies[i]);
		CHECK(read.whole);
		CHECK_EQ(read.lost_chunks, 1);
		total(&nr);
		CHECK_EQ(nr, 1);
		forget();
	}
}

static void names_that_lie_are_damage(void)
{
	static const struct row good = {1, 0x2000, 0, 62, 0, 10, 10},
				too_large = {1, 0x2000, 0, 62, 0, KEPT_FUNCTION_MAX + 1, 10};
	static const struct row_name right = {5, 5}, lies[] = {
							     {0, 0},
							     {KEPT_NAME_MAX + 1, KEPT_NAME_MAX + 1},
							     {9, 5},
							     {UINT64_MAX, 5},
						     };
	uint32_t nr;
	for (size_t i = 0; i <= sizeof(lies) / sizeof(*lies); i++) {
		const struct recording_read read =
			i ? read_row_of(&good, &lies[i - 1]) : read_row_of(&too_large, &right);
		CHECK_EQ(read.lost_chunks, 1);
		total(&nr);
		CHECK_EQ(nr, 1);
		forget();
	}
	CHECK_EQ(read_row_of(&good, &right).lost_chunks, 0);
	total(&nr);
	CHECK_EQ(nr, 2);
	forget();
}

static void code_of_no_module_is_left_out(void)
{
	static const uint64_t modules[] = {0, 2, 1 << 20, UINT64_MAX};
	uint32_t nr;
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		const struct row row = {modules[i], 0x2000, 0, 62, 0, 10, 10};
		const struct recording_read read = read_row(&row);
		CHECK_EQ(read.lost_chunks, 0);
		total(&nr);
		CHECK_EQ(nr, 1);
		forget();
	}
	const struct row good = {1, 0x2000, 0, 62, 0, 10, 10};
	CHECK_EQ(read_row(&good).lost_chunks, 0);
	total(&nr);
	CHECK_EQ(nr, 2);
	forget();
}

int main(void)
{
	RUN(code_comes_back);
	RUN(functions_of_one_place_come_back_by_their_names);
	RUN(a_recording_has_a_mebibyte_at_most);
	RUN(a_function_is_written_once);
	RUN(a_child_that_lies_is_not_believed);
	RUN(rows_that_lie_are_damage);
	RUN(names_that_lie_are_damage);
	RUN(code_of_no_module_is_left_out);
	return test_done();
}
