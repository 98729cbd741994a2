/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_SYMBOLS_H
#define CTOP_STORE_SYMBOLS_H

/*
 * Names of frames, for one epoch of the tables: row i names frame i. Written by
 * the symbolizer (or, for a recording, by the reader child), read by main. A
 * sealed memfd like the tables, with strings of its own. Rows are filled in any
 * order; a row's state is stored last with release order. A frame without a name
 * may get one later (a perf map that grew); it never loses one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>

enum symbol_state {
	SYMBOL_PENDING, /* not looked at yet */
	SYMBOL_NAMED,
	SYMBOL_UNKNOWN,	  /* looked at: the module has no symbol there */
	SYMBOL_NO_MODULE, /* the module's file could not be had or read */
	SYMBOL_BOUNDED, /* the module has no symbol there, but says where the function begins: offset before */
	NR_SYMBOL_STATES
};

struct symbol_row {
	uint32_t state;
	struct string_id name; /* demangled, full */
	struct string_id
		module; /* the name to show for the module, when better than its path (a kernel module's); 0: none */
	uint32_t offset; /* of the look-up address from the function's start; UINT32_MAX: unknown */
};

/* The longest string; longer ones are cut when they are added, and are "" when a region holds one. */
enum { SYMBOLS_STRING_MAX = 8192 };

struct symbols_capacity {
	uint32_t nr_frames;
	uint32_t string_units; /* of 4 bytes */
};
extern const struct symbols_capacity
	symbols_capacity_default; /* as many frames as tables_capacity_default */

struct symbols_header;
struct symbols {
	struct symbols_header *header;
	struct symbols_capacity capacity;
	struct symbol_row *rows;
	char *strings;
	size_t bytes;
};

int symbols_memfd_new(const struct symbols_capacity *capacity); /* sealed; a descriptor or -errno */
int symbols_map(struct symbols *symbols, int fd, const struct symbols_capacity *capacity,
		bool writable); /* fd -1: private memory */
void symbols_unmap(struct symbols *symbols);

/* ---- the writer ---- */
struct symbols_writer;
struct symbols_writer *
symbols_writer_new(struct symbols *symbols); /* rebuilds its string index from a region in use */
void symbols_writer_free(struct symbols_writer *writer);
/* name and module may be NULL. 0, -ENOSPC, -ENOMEM, -EINVAL when the frame is out of range. */
int symbols_set(struct symbols_writer *writer, struct frame_id frame, enum symbol_state state,
		const char *name, const char *module, uint32_t offset);

/* ---- readers ---- */
/* Increases whenever any row changed: look again when it moved. */
uint64_t symbols_version(const struct symbols *symbols);
/* A copy; PENDING when out of range. */
struct symbol_row symbols_row(const struct symbols *symbols, struct frame_id frame);
const char *symbols_string(const struct symbols *symbols,
			   struct string_id id); /* borrowed, "" if bad */
uint64_t symbols_used_bytes(const struct symbols *symbols);

#endif
