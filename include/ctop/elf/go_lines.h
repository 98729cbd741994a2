/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_GO_LINES_H
#define CTOP_ELF_GO_LINES_H

/*
 * Where the code of a Go program comes from, without DWARF: its lines, and the functions that were inlined there, as its runtime knows
 * them for its own stack traces, of Go 1.16 and later. What was inlined is told by trees that lie elsewhere in the file; only the
 * runtime's own description of the program, somewhere in its data, says where. That is looked for, and believed if all that it leads to makes sense.
 * Where it is not found, a function has a line only where nothing was inlined. The bytes are untrusted; nothing is copied.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

#include <ctop/elf/go_functions.h>

struct go_lines {
	Elf *elf;
	struct go_functions functions;
	bool has_trees;
	uint64_t trees; /* what they are counted from */
	/* The section that was asked for last. */
	struct {
		uint64_t address;
		const uint8_t *bytes; /* NULL: none */
		size_t size;
	} section;
	/* Found last, and for calls that were asked for: the next question is mostly about the next ones. */
	struct go_values {
		struct go_value file, line, call;
	} here, callers;
};

struct go_place {
	const char *function; /* borrowed from libelf, as is the file */
	const char *file;     /* "": not known */
	uint32_t line;	      /* 0: not known */
};

/* False: it is no Go program, or of Go 1.15 or older. elf must outlive this. */
bool go_lines_open(struct go_lines *lines, Elf *elf);
/*
 * At an elf address, what was inlined there, the innermost first, and the function that the code belongs to last; at most `most`. If they are more,
 * or make no sense, there is only that, without a line. Returns how many; 0: no function is there.
 */
size_t go_lines_find(struct go_lines *lines, uint64_t elf_address, struct go_place *places,
		     size_t most);
/* The innermost of these, without its function, up to *end. False: it has no line; then *end is an address behind this one. */
bool go_lines_row(struct go_lines *lines, uint64_t elf_address, struct go_place *place,
		  uint64_t *end);

/*
 * Which call was inlined at an elf address, the innermost one, up to *end: its id, below 2^63; 0: none was. False: no function is there, or it is
 * not known.
 */
bool go_lines_inlined(struct go_lines *lines, uint64_t elf_address, uint64_t *id, uint64_t *end);
/* What such a call is of: the function that was inlined, where its call is, and the id of what that was inlined into, 0: the function itself. */
bool go_lines_call(struct go_lines *lines, uint64_t id, struct go_place *place, uint64_t *outer);

#endif
