/* SPDX-License-Identifier: MIT */
#include <ctop/store/symbols.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/index.h>

enum { PAGE_BYTES = 4096, UNIT_BYTES = 4 };

struct symbols_header {
	_Atomic uint64_t version;
	_Atomic uint32_t string_units; /* published */
};

struct symbols_writer {
	struct symbols *symbols;
	uint32_t string_units;
	struct index strings;
};

const struct symbols_capacity symbols_capacity_default = {
	.nr_frames = 128u << 10, .string_units = 2u << 20, /* 8 MiB: demangled names are long */
};

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

static size_t region_bytes(const struct symbols_capacity *capacity)
{
	return whole_pages(sizeof(struct symbols_header)) +
	       whole_pages(capacity->nr_frames * sizeof(struct symbol_row)) +
	       whole_pages((size_t)capacity->string_units * UNIT_BYTES);
}

int symbols_memfd_new(const struct symbols_capacity *capacity)
{
	int fd = memfd_create("ctop-symbols", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)region_bytes(capacity)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return error;
}

int symbols_map(struct symbols *symbols, int fd, const struct symbols_capacity *capacity,
		bool writable)
{
	struct stat stat;
	size_t bytes = region_bytes(capacity);
	int protection = PROT_READ | (writable || fd < 0 ? PROT_WRITE : 0);
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	if (fd >= 0 && (fstat(fd, &stat) < 0 || stat.st_size < (off_t)bytes))
		return -EINVAL;
	void *memory = mmap(NULL, bytes, protection, flags, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	uint8_t *rows = (uint8_t *)memory + whole_pages(sizeof(struct symbols_header));
	*symbols = (struct symbols){
		.header = memory,
		.capacity = *capacity,
		.rows = (struct symbol_row *)(void *)rows,
		.strings =
			(char *)rows + whole_pages(capacity->nr_frames * sizeof(struct symbol_row)),
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

static int add_string(struct symbols_writer *writer, const char *string, struct string_id *id)
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
	if (units > symbols->capacity.string_units - writer->string_units)
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
	int result = add_string(writer, name, &row.name);
	if (!result)
		result = add_string(writer, module, &row.module);
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
	uint64_t version = symbols_version(symbols);
	/* Rows are touched one a change at most. */
	uint64_t rows =
		version < symbols->capacity.nr_frames ? version : symbols->capacity.nr_frames;
	return PAGE_BYTES + units * UNIT_BYTES + rows * sizeof(struct symbol_row);
}
