/* SPDX-License-Identifier: MIT */
#include <ctop/store/symbols.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ctop/base/index.h>
#include <ctop/store/kept_code.h>

#include "code_area.h"
#include "shared_memory.h"

enum { UNIT_BYTES = 4, MISSING_SHIFT = 16 };

struct symbols_header {
	_Atomic uint64_t version;
	_Atomic uint32_t string_units; /* published */
	_Atomic uint32_t nr_lines;     /* likewise */
};

struct symbols_writer {
	struct symbols *symbols;
	uint32_t string_units, nr_lines;
	struct index strings;
};

const struct symbols_capacity symbols_capacity_default = {
	.nr_frames = 128u << 10,
	.string_units = 4u << 20, /* 16 MiB: demangled names are long */
	.nr_modules = 16u << 10,
	.nr_lines = 512u << 10,
	.nr_code = KEPT_PIECES_MAX,
	.code_bytes = KEPT_CODE_MAX,
};

/* The room that strings of lines leave to names. */
static uint32_t units_for_names(const struct symbols *symbols)
{
	return symbols->capacity.string_units / 4;
}

static size_t rows_bytes(const struct symbols_capacity *capacity)
{
	return whole_pages(capacity->nr_frames * sizeof(struct symbol_row));
}

static size_t lines_bytes(const struct symbols_capacity *capacity)
{
	return whole_pages(capacity->nr_lines * sizeof(struct line_row));
}

uint64_t symbols_string_bytes(const struct symbols_capacity *capacity)
{
	return (uint64_t)capacity->string_units * UNIT_BYTES;
}

static size_t region_bytes(const struct symbols_capacity *capacity)
{
	return whole_pages(sizeof(struct symbols_header)) + rows_bytes(capacity) +
	       lines_bytes(capacity) + whole_pages(symbols_string_bytes(capacity)) +
	       whole_pages((size_t)capacity->nr_modules * sizeof(uint32_t)) +
	       whole_pages(code_area_bytes(capacity));
}

int symbols_memfd_new(const struct symbols_capacity *capacity)
{
	return shared_memory_new("ctop-symbols", region_bytes(capacity));
}

int symbols_map(struct symbols *symbols, int fd, const struct symbols_capacity *capacity,
		bool writable)
{
	void *memory;
	size_t bytes = region_bytes(capacity);
	int result = shared_memory_map(fd, bytes, writable, &memory);
	if (result)
		return result;
	uint8_t *rows = (uint8_t *)memory + whole_pages(sizeof(struct symbols_header));
	uint8_t *lines = rows + rows_bytes(capacity);
	uint8_t *strings = lines + lines_bytes(capacity);
	uint8_t *modules = strings + whole_pages(symbols_string_bytes(capacity));
	uint8_t *code = modules + whole_pages((size_t)capacity->nr_modules * sizeof(uint32_t));
	*symbols = (struct symbols){
		.header = memory,
		.capacity = *capacity,
		.rows = (struct symbol_row *)(void *)rows,
		.lines = (struct line_row *)(void *)lines,
		.strings = (char *)strings,
		.modules = (uint32_t *)(void *)modules,
		.code = (struct code_area *)(void *)code,
		.bytes = bytes,
	};
	return 0;
}

void symbols_unmap(struct symbols *symbols)
{
	if (symbols->header)
		munmap(symbols->header, symbols->bytes);
	*symbols = (struct symbols){0};
}

/* ---- the writer ---- */

static char *string_at(const struct symbols *symbols, uint32_t unit)
{
	return symbols->strings + (size_t)unit * UNIT_BYTES;
}

struct symbols_writer *symbols_writer_new(struct symbols *symbols)
{
	struct symbols_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return NULL;
	writer->symbols = symbols;
	writer->string_units = atomic_load(&symbols->header->string_units);
	if (writer->string_units > symbols->capacity.string_units)
		writer->string_units = symbols->capacity.string_units;
	if (!writer->string_units)
		writer->string_units = 1; /* string 0 is "" */
	writer->nr_lines = atomic_load(&symbols->header->nr_lines);
	if (writer->nr_lines > symbols->capacity.nr_lines)
		writer->nr_lines = symbols->capacity.nr_lines;
	for (uint32_t unit = 0; unit < writer->string_units;) {
		size_t left = (size_t)(writer->string_units - unit) * UNIT_BYTES;
		size_t size = strnlen(string_at(symbols, unit), left);
		if (index_reserve(&writer->strings)) {
			symbols_writer_free(writer);
			return NULL;
		}
		if (size < left) /* else it has no end: nobody's string */
			index_add(&writer->strings, hash_bytes(string_at(symbols, unit), size),
				  unit);
		unit += (uint32_t)(size / UNIT_BYTES) + 1;
	}
	return writer;
}

void symbols_writer_free(struct symbols_writer *writer)
{
	if (!writer)
		return;
	index_release(&writer->strings);
	free(writer);
}

/* No further than `end` of the units. */
static int add_string(struct symbols_writer *writer, const char *string, uint32_t end,
		      struct string_id *id)
{
	struct symbols *symbols = writer->symbols;
	size_t size = string ? strnlen(string, SYMBOLS_STRING_MAX) : 0;
	if (!size) {
		id->index = 0;
		return 0;
	}
	uint64_t hash = hash_bytes(string, size);
	struct index_probe probe = index_find(&writer->strings, hash);
	while (index_next(&writer->strings, &probe, &id->index)) {
		const char *known = string_at(symbols, id->index);
		/* Stops at the known string's end, when that is the shorter one. */
		if (strncmp(known, string, size) == 0 && known[size] == '\0')
			return 0;
	}
	size_t units = size / UNIT_BYTES + 1;
	if (writer->string_units > end || units > end - writer->string_units)
		return -ENOSPC;
	if (index_reserve(&writer->strings))
		return -ENOMEM;
	id->index = writer->string_units;
	char *to = string_at(symbols, id->index);
	memset(to, 0, units * UNIT_BYTES); /* a predecessor may have left something there */
	memcpy(to, string, size);
	index_add(&writer->strings, hash, id->index);
	writer->string_units += (uint32_t)units;
	atomic_store_explicit(&symbols->header->string_units, writer->string_units,
			      memory_order_release);
	return 0;
}

int symbols_set(struct symbols_writer *writer, struct frame_id frame, enum symbol_state state,
		const char *name, const char *module, uint32_t offset)
{
	struct symbols *symbols = writer->symbols;
	if (frame.index >= symbols->capacity.nr_frames)
		return -EINVAL;
	struct symbol_row *to = &symbols->rows[frame.index];
	if (to->state == SYMBOL_NAMED && state != SYMBOL_NAMED)
		return 0; /* a name is never lost */
	struct symbol_row row = {.offset = offset};
	const uint32_t end = symbols->capacity.string_units;
	int result = add_string(writer, name, end, &row.name);
	if (!result)
		result = add_string(writer, module, end, &row.module);
	if (result)
		return result;
	to->name = row.name;
	to->module = row.module;
	to->offset = row.offset;
	/* Pairs with the acquire in symbols_row(): whoever sees the state sees the name. */
	__atomic_store_n(&to->state, (uint32_t)state, __ATOMIC_RELEASE);
	atomic_fetch_add_explicit(&symbols->header->version, 1, memory_order_release);
	return 0;
}

void symbols_set_module(struct symbols_writer *writer, struct module_id module,
			const struct module_names *names)
{
	struct symbols *symbols = writer->symbols;
	const uint32_t packed = names->from | names->missing << MISSING_SHIFT;
	if (module.index >= symbols->capacity.nr_modules ||
	    symbols->modules[module.index] == packed)
		return;
	__atomic_store_n(&symbols->modules[module.index], packed, __ATOMIC_RELAXED);
	/* Pairs with the acquire in symbols_version(). */
	atomic_fetch_add_explicit(&symbols->header->version, 1, memory_order_release);
}

static const uint32_t NO_LINES = UINT32_MAX;

static void publish_lines(struct symbols *symbols, struct frame_id frame, uint32_t lines)
{
	/* Pairs with the acquire in symbols_lines(). */
	__atomic_store_n(&symbols->rows[frame.index].lines, lines, __ATOMIC_RELEASE);
	atomic_fetch_add_explicit(&symbols->header->version, 1, memory_order_release);
}

/* -ENOSPC: there is no room. */
static int add_lines(struct symbols_writer *writer, const struct symbol_line *lines, size_t nr)
{
	struct symbols *symbols = writer->symbols;
	const uint32_t end = symbols->capacity.string_units - units_for_names(symbols);
	if (nr > symbols->capacity.nr_lines - writer->nr_lines)
		return -ENOSPC;
	for (size_t i = 0; i < nr; i++) {
		struct line_row row = {.line = lines[i].line};
		int result = add_string(writer, lines[i].function, end, &row.function);
		if (!result)
			result = add_string(writer, lines[i].file, end, &row.file);
		if (result)
			return result;
		symbols->lines[writer->nr_lines + i] = row;
	}
	writer->nr_lines += (uint32_t)nr;
	atomic_store_explicit(&symbols->header->nr_lines, writer->nr_lines, memory_order_release);
	return 0;
}

int symbols_set_lines(struct symbols_writer *writer, struct frame_id frame,
		      const struct symbol_line *lines, size_t nr)
{
	struct symbols *symbols = writer->symbols;
	if (frame.index >= symbols->capacity.nr_frames || nr > SYMBOLS_LINES_MAX)
		return -EINVAL;
	const uint32_t first = writer->nr_lines;
	int result = nr ? add_lines(writer, lines, nr) : -ENOSPC;
	if (result && result != -ENOSPC)
		return result;
	symbols->rows[frame.index].nr_lines = (uint32_t)nr;
	publish_lines(symbols, frame, result ? NO_LINES : first + 1);
	return 0;
}

/* ---- readers ---- */

uint64_t symbols_version(const struct symbols *symbols)
{
	return atomic_load_explicit(&symbols->header->version, memory_order_acquire);
}

struct symbol_row symbols_row(const struct symbols *symbols, struct frame_id frame)
{
	struct symbol_row row = {.state = SYMBOL_PENDING};
	if (frame.index >= symbols->capacity.nr_frames)
		return row;
	const struct symbol_row *from = &symbols->rows[frame.index];
	uint32_t state = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);
	row = *from;
	row.state = state < NR_SYMBOL_STATES ? state : SYMBOL_UNKNOWN;
	return row;
}

struct module_names symbols_module(const struct symbols *symbols, struct module_id module)
{
	if (module.index >= symbols->capacity.nr_modules)
		return (struct module_names){0};
	const uint32_t packed = __atomic_load_n(&symbols->modules[module.index], __ATOMIC_RELAXED);
	struct module_names names = {packed & ((1u << MISSING_SHIFT) - 1), packed >> MISSING_SHIFT};
	if (names.from >= NR_NAMES_FROM)
		names.from = NAMES_FROM_UNKNOWN;
	if (names.missing >= NR_NAMES_MISSING)
		names.missing = NAMES_MISSING_NOTHING;
	return names;
}

bool symbols_has_looked_up_lines(const struct symbols *symbols, struct frame_id frame)
{
	return frame.index < symbols->capacity.nr_frames &&
	       __atomic_load_n(&symbols->rows[frame.index].lines, __ATOMIC_ACQUIRE);
}

size_t symbols_lines(const struct symbols *symbols, struct frame_id frame,
		     struct line_row lines[SYMBOLS_LINES_MAX])
{
	if (frame.index >= symbols->capacity.nr_frames)
		return 0;
	const struct symbol_row *row = &symbols->rows[frame.index];
	const uint32_t first = __atomic_load_n(&row->lines, __ATOMIC_ACQUIRE);
	const uint32_t nr = __atomic_load_n(&row->nr_lines, __ATOMIC_RELAXED);
	if (!first || nr > SYMBOLS_LINES_MAX || first > symbols->capacity.nr_lines ||
	    nr > symbols->capacity.nr_lines - (first - 1))
		return 0;
	memcpy(lines, &symbols->lines[first - 1], nr * sizeof(*lines));
	return nr;
}

static uint32_t published_units(const struct symbols *symbols)
{
	uint32_t nr = atomic_load_explicit(&symbols->header->string_units, memory_order_acquire);
	return nr < symbols->capacity.string_units ? nr : symbols->capacity.string_units;
}

const char *symbols_string(const struct symbols *symbols, struct string_id id)
{
	uint32_t nr = published_units(symbols);
	if (id.index >= nr)
		return "";
	/* Bounded, or a region of one long string would cost its reader seconds a name. */
	const char *string = string_at(symbols, id.index);
	size_t left = (size_t)(nr - id.index) * UNIT_BYTES;
	size_t most = left < SYMBOLS_STRING_MAX + 1 ? left : SYMBOLS_STRING_MAX + 1;
	return memchr(string, '\0', most) ? string : "";
}

uint64_t symbols_used_bytes(const struct symbols *symbols)
{
	uint64_t units = published_units(symbols);
	uint64_t nr_lines = atomic_load_explicit(&symbols->header->nr_lines, memory_order_relaxed);
	uint64_t version = symbols_version(symbols);
	/* Rows are touched one a change at most. */
	uint64_t rows =
		version < symbols->capacity.nr_frames ? version : symbols->capacity.nr_frames;
	nr_lines = nr_lines < symbols->capacity.nr_lines ? nr_lines : symbols->capacity.nr_lines;
	return SHARED_PAGE_BYTES + units * UNIT_BYTES + rows * sizeof(struct symbol_row) +
	       nr_lines * sizeof(struct line_row) + symbols->capacity.code_bytes -
	       symbols_code_room(symbols);
}
