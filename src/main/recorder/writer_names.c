/* SPDX-License-Identifier: MIT */
/* What symbols say of the epoch's frames and modules: names, lines, code. */
#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "writer_internal.h"

static int list_new_frames(const struct recording_writer *writer, uint32_t from,
			   struct frame_list *list)
{
	uint32_t nr = writer->reader.nr[TABLE_FRAMES];
	if (from >= nr)
		return 0;
	if (vec_reserve(list, list->nr + (nr - from)))
		return -ENOMEM;
	for (uint32_t frame = from; frame < nr; frame++)
		list->items[list->nr++] = frame;
	return 0;
}

int writer_list_frames(struct recording_writer *writer)
{
	const uint32_t nr_written = writer->nr_written[TABLE_FRAMES];
	const int result = list_new_frames(writer, nr_written, &writer->unnamed);
	return result ? result : list_new_frames(writer, nr_written, &writer->unlined);
}

/* A string of the symbols: its number, written out where it is new. */
static int put_name(struct recording_writer *writer, struct numbers *numbers, struct string_id id)
{
	const char *string = symbols_string(writer->symbols, id);
	size_t size = strnlen(string, STRING_MAX);
	/* Strings of a region that lies overlap: no more of them are written than fit there side by side. */
	if (numbers->bytes_written > symbols_string_bytes(&writer->symbols->capacity))
		size = 0;
	if (!size) {
		put_varint(&writer->rows, 0);
		return 0;
	}
	size_t nr = (size_t)id.index + 1;
	if (nr > numbers->nr) {
		if (vec_reserve(numbers, nr))
			return -ENOMEM;
		memset(numbers->items + numbers->nr, 0, (nr - numbers->nr) * sizeof(uint32_t));
		numbers->nr = nr;
	}
	uint32_t *number = &numbers->items[id.index];
	bool is_new = !*number;
	if (is_new)
		*number = ++numbers->nr_written;
	put_varint(&writer->rows, *number);
	if (is_new) {
		put_string(&writer->rows, string, size);
		numbers->bytes_written += size;
	}
	return 0;
}

static int write_names(struct recording_writer *writer)
{
	if (!writer->symbols || !writer->unnamed.nr)
		return 0;
	struct buffer *rows = &writer->rows;
	uint32_t before = 0;
	size_t kept = 0, nr = writer->unnamed.nr;
	rows->size = 0;
	/* The number of names before this chunk: a reader that lost one keeps its count. */
	put_varint(rows, writer->name_numbers.nr_written);
	size_t head = rows->size;
	for (size_t i = 0; i < nr; i++) {
		uint32_t frame = writer->unnamed.items[i];
		struct symbol_row row = symbols_row(writer->symbols, (struct frame_id){frame});
		if (row.state != SYMBOL_NAMED && row.state != SYMBOL_BOUNDED) {
			writer->unnamed.items[kept++] = frame;
			continue;
		}
		put_signed(rows, (int64_t)frame - before);
		before = frame;
		if (put_name(writer, &writer->name_numbers, row.name) ||
		    put_name(writer, &writer->name_numbers, row.module))
			return -ENOMEM;
		put_varint(rows, (uint64_t)row.offset + 1 > UINT32_MAX ? 0 : row.offset + 1);
	}
	writer->unnamed.nr = kept;
	return rows->size > head ? writer_chunk(writer, CHUNK_NAMES, rows) : 0;
}

/* Where the names of modules come from, as far as that is new. */
static int write_sources(struct recording_writer *writer)
{
	const uint32_t nr = writer->reader.nr[TABLE_MODULES];
	struct buffer *rows = &writer->rows;
	if (!writer->symbols)
		return 0;
	if (vec_reserve(&writer->sources, nr))
		return -ENOMEM;
	for (; writer->sources.nr < nr; writer->sources.nr++)
		writer->sources.items[writer->sources.nr] = (struct module_names){0};
	rows->size = 0;
	for (uint32_t id = 1; id < nr; id++) {
		struct module_names *written = &writer->sources.items[id];
		const struct module_names names =
			symbols_module(writer->symbols, (struct module_id){id});
		if (names.from == written->from && names.missing == written->missing)
			continue;
		put_varint(rows, id);
		put_varint(rows, names.from);
		put_varint(rows, names.missing);
		*written = names;
	}
	return rows->size ? writer_chunk(writer, CHUNK_SOURCES, rows) : 0;
}

static int put_lines(struct recording_writer *writer, const struct line_row *lines, size_t nr)
{
	put_varint(&writer->rows, nr);
	for (size_t i = 0; i < nr; i++) {
		if (put_name(writer, &writer->line_numbers, lines[i].function) ||
		    put_name(writer, &writer->line_numbers, lines[i].file))
			return -ENOMEM;
		put_varint(&writer->rows, lines[i].line);
	}
	return 0;
}

static int write_lines(struct recording_writer *writer)
{
	struct buffer *rows = &writer->rows;
	struct frame_list *unlined = &writer->unlined;
	uint32_t before = 0;
	size_t kept = 0;
	if (!writer->symbols || !unlined->nr)
		return 0;
	rows->size = 0;
	/* As names, which have numbers of their own: who skips what he does not know loses none of them. */
	put_varint(rows, writer->line_numbers.nr_written);
	const size_t head = rows->size;
	for (size_t i = 0; i < unlined->nr; i++) {
		const struct frame_id frame = {unlined->items[i]};
		struct line_row lines[SYMBOLS_LINES_MAX];
		if (!symbols_has_looked_up_lines(writer->symbols, frame)) {
			unlined->items[kept++] = frame.index;
			continue;
		}
		const size_t nr = symbols_lines(writer->symbols, frame, lines);
		writer->nr_lines += nr;
		/* Rows may overlap as strings do. */
		if (!nr || writer->nr_lines > writer->symbols->capacity.nr_lines)
			continue;
		put_signed(rows, (int64_t)frame.index - before);
		before = frame.index;
		if (put_lines(writer, lines, nr))
			return -ENOMEM;
	}
	unlined->nr = kept;
	return rows->size > head ? writer_chunk(writer, CHUNK_LINES, rows) : 0;
}

static int write_code(struct recording_writer *writer)
{
	if (!writer->symbols)
		return 0;
	struct buffer made = {0};
	writer->rows.size = 0;
	int result = recording_code_put(&writer->code, &writer->reader, writer->symbols,
					writer->shift_ns, &writer->rows, &made);
	if (!result && writer->rows.size)
		result = writer_chunk(writer, CHUNK_CODE, &writer->rows);
	if (!result && made.size)
		result = writer_chunk(writer, CHUNK_MADE, &made);
	buffer_release(&made);
	return result;
}

int writer_put_names(struct recording_writer *writer)
{
	int result = write_names(writer);
	if (!result)
		result = write_sources(writer);
	if (!result)
		result = write_lines(writer);
	return result ? result : write_code(writer);
}
