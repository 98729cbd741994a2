/* SPDX-License-Identifier: MIT */
#include <ctop/store/kept_code.h>

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "code_area.h"

/* At the start of a region's part for code; rows, then bytes stand behind it. */
struct code_area {
	_Atomic uint32_t nr; /* published */
	uint32_t used_bytes;
};

struct code_row {
	uint64_t start, bias, read_ns;
	uint32_t module, at, size; /* at: of the first byte; its name stands behind the last */
	uint32_t name_bytes;
	uint16_t machine, is_cut;
	uint32_t reserved;
};

size_t code_area_bytes(const struct symbols_capacity *capacity)
{
	return sizeof(struct code_area) + capacity->nr_code * sizeof(struct code_row) +
	       capacity->code_bytes;
}

static struct code_row *rows_of(const struct symbols *symbols)
{
	return (struct code_row *)(void *)(symbols->code + 1);
}

static uint8_t *bytes_of(const struct symbols *symbols)
{
	return (uint8_t *)(rows_of(symbols) + symbols->capacity.nr_code);
}

/* What a predecessor left there may be anything. */
static uint32_t used_bytes(const struct symbols *symbols)
{
	const uint32_t used = symbols->code->used_bytes, most = symbols->capacity.code_bytes;
	return used < most ? used : most;
}

bool kept_code_makes_sense(const struct kept_code *code)
{
	return code->size && code->size <= KEPT_FUNCTION_MAX && code->name_bytes <= KEPT_NAME_MAX &&
	       code->start <= UINT64_MAX - code->size &&
	       code->start + code->bias <= UINT64_MAX - code->size;
}

int symbols_keep_code(struct symbols *symbols, const struct kept_code *code, const void *bytes)
{
	const uint32_t nr = symbols_nr_code(symbols), at = used_bytes(symbols);
	if (!kept_code_makes_sense(code))
		return -EINVAL;
	const uint32_t size = code->size + code->name_bytes;
	if (nr == symbols->capacity.nr_code || size > symbols_code_room(symbols))
		return -ENOSPC;
	memcpy(bytes_of(symbols) + at, bytes, code->size);
	if (code->name_bytes)
		memcpy(bytes_of(symbols) + at + code->size, code->name, code->name_bytes);
	rows_of(symbols)[nr] = (struct code_row){
		.start = code->start,
		.bias = code->bias,
		.read_ns = code->read_ns,
		.module = code->module.index,
		.at = at,
		.size = code->size,
		.name_bytes = code->name_bytes,
		.machine = code->machine,
		.is_cut = code->is_cut,
	};
	symbols->code->used_bytes = at + size;
	/* Pairs with the acquire in symbols_nr_code(). */
	atomic_store_explicit(&symbols->code->nr, nr + 1, memory_order_release);
	return 0;
}

uint32_t symbols_nr_code(const struct symbols *symbols)
{
	const uint32_t nr = atomic_load_explicit(&symbols->code->nr, memory_order_acquire);
	return nr < symbols->capacity.nr_code ? nr : symbols->capacity.nr_code;
}

uint32_t symbols_code_room(const struct symbols *symbols)
{
	return symbols->capacity.code_bytes - used_bytes(symbols);
}

bool symbols_code(const struct symbols *symbols, uint32_t number, struct kept_code *code,
		  const uint8_t **bytes)
{
	if (number >= symbols->capacity.nr_code)
		return false;
	const struct code_row row = rows_of(symbols)[number];
	const uint32_t room = symbols->capacity.code_bytes;
	*bytes = bytes_of(symbols) + (row.at < room ? row.at : 0);
	*code = (struct kept_code){
		.start = row.start,
		.bias = row.bias,
		.read_ns = row.read_ns,
		.name_bytes = row.name_bytes,
		.module = {row.module},
		.size = row.size,
		.machine = row.machine,
		.is_cut = row.is_cut != 0,
	};
	if (!kept_code_makes_sense(code) || row.at >= room ||
	    row.size + row.name_bytes > room - row.at)
		return false;
	code->name = (const char *)*bytes + row.size;
	return true;
}
