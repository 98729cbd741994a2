/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_SYMBOLS_H
#define CTOP_STORE_SYMBOLS_H

/*
 * Names of frames, for one epoch of the tables: row i names frame i; and where the names of each module come from. Written by
 * the symbolizer (or, for a recording, by the reader child), read by main. A
 * sealed memfd like the tables, with strings of its own. Rows are filled in any
 * order; a row's state is stored last with release order. A frame without a name
 * may get one later (a perf map that grew); it never loses one.
 *
 * Beside its name a frame has the lines of its address: of its own function, then of each that the compiler put into the one
 * before. They come later than names, or never, once for each frame.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/names_from.h>

enum symbol_state {
	SYMBOL_PENDING, /* not looked at yet */
	SYMBOL_NAMED,
	SYMBOL_UNKNOWN,	  /* looked at: the module has no symbol there */
	SYMBOL_NO_MODULE, /* the module's file could not be opened or read */
	SYMBOL_BOUNDED, /* the module has no symbol there, but says where the function begins: offset before */
	NR_SYMBOL_STATES
};

struct symbol_row {
	uint32_t state;
	struct string_id name; /* demangled, full */
	struct string_id
		module; /* the name to show for the module, when better than its path (a kernel module's); 0: none */
	uint32_t offset; /* of the look-up address from the function's start; UINT32_MAX: unknown */
	uint32_t
		lines; /* 1 + the first of its lines; 0: not looked at yet, UINT32_MAX: it has none */
	uint32_t nr_lines;
};

/* Where in a function the address is; in one that others were put into: where the next one was. */
struct line_row {
	struct string_id
		function; /* demangled, full; the first one's is the frame's name, and 0 here */
	struct string_id file; /* 0: not known */
	uint32_t line;	       /* 0: not known */
};

/* Of one frame; what a region claims beyond that is not looked at. */
enum { SYMBOLS_LINES_MAX = 64 };

/* The longest string; longer ones are cut when they are added, and are "" when a region holds one. */
enum { SYMBOLS_STRING_MAX = 8192 };

struct symbols_capacity {
	uint32_t nr_frames;
	uint32_t string_units; /* of 4 bytes */
	uint32_t nr_modules;
	uint32_t nr_lines;	      /* of all frames */
	uint32_t nr_code, code_bytes; /* pieces of code, see store/kept_code.h */
};
extern const struct symbols_capacity
	symbols_capacity_default; /* as many frames and modules as tables_capacity_default */

struct symbols_header;
struct code_area;
struct symbols {
	struct symbols_header *header;
	struct symbols_capacity capacity;
	struct symbol_row *rows;
	uint32_t *
		modules; /* both numbers of struct module_names in one, so that they are read together */
	struct line_row *lines;
	struct code_area *code; /* see store/kept_code.h */
	char *strings;
	size_t bytes;
};

/* The room for strings. */
uint64_t symbols_string_bytes(const struct symbols_capacity *capacity);
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
/* What is known now of where a module's names come from. Modules that the region has no room for stay unknown. */
void symbols_set_module(struct symbols_writer *writer, struct module_id module,
			const struct module_names *names);

/* As struct line_row; function NULL: the frame's own. */
struct symbol_line {
	const char *function, *file;
	uint32_t line;
};
/*
 * The outermost first; nr 0: it has none. Where there is no room for them (names come first) it has none, either. 0, -ENOMEM, -EINVAL
 * when the frame is out of range or nr too large.
 */
int symbols_set_lines(struct symbols_writer *writer, struct frame_id frame,
		      const struct symbol_line *lines, size_t nr);

/* ---- readers ---- */
/* Increases whenever any row changed: look again when it moved. */
uint64_t symbols_version(const struct symbols *symbols);
/* Numbers out of range are unknown, and nothing. */
struct module_names symbols_module(const struct symbols *symbols, struct module_id module);
/* A copy; PENDING when out of range. */
struct symbol_row symbols_row(const struct symbols *symbols, struct frame_id frame);
/* Whether its lines have been looked up, with whatever result. */
bool symbols_has_looked_up_lines(const struct symbols *symbols, struct frame_id frame);
/* Copies of its lines, the outermost first; returns how many: 0: none, or none yet. */
size_t symbols_lines(const struct symbols *symbols, struct frame_id frame,
		     struct line_row lines[SYMBOLS_LINES_MAX]);
const char *symbols_string(const struct symbols *symbols,
			   struct string_id id); /* borrowed, "" if bad */
uint64_t symbols_used_bytes(const struct symbols *symbols);

#endif
