/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SOURCE_LINES_H
#define CTOP_LINES_SOURCE_LINES_H

/*
 * Where the code at an address comes from, by DWARF 2 to 5 of one file: the function, those that the compiler put into it there, and the
 * line of each. The bytes are untrusted: work and memory are bounded, and what exceeds the bounds has no lines. Opens nothing: what
 * -gsplit-dwarf has put into other files is found in those that it is given.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

struct source_lines;

/* Of one address; of more the innermost are missing. */
enum { SOURCE_FRAMES_MAX = 64 };

struct source_frame {
	const char *function; /* mangled, as the linker calls it; "": not known */
	const char *file;     /* "": not known */
	uint32_t line;	      /* 0: not known; of a caller, where the one before it was put in */
};

/* Before the jail: libraries are loaded. Without it compressed sections take longer. */
void source_lines_prepare(void);

/*
 * NULL: the file has no DWARF that can be read, or out of memory. common: where dwz has put what it has in common with others; NULL: nowhere,
 * or not at hand, and then some functions have no names. Both must outlive this.
 */
struct source_lines *source_lines_new(Elf *elf, Elf *common);
/* Whether that is somewhere, and not at hand. */
bool source_lines_lack_common(const struct source_lines *lines);
Elf *source_lines_elf(const struct source_lines *lines);
/* Some of its units cannot be read, or none of what is behind one. */
bool source_lines_are_damaged(const struct source_lines *lines);
void source_lines_free(struct source_lines *lines); /* NULL is fine */

/* The id of the unit in another file that has the functions at an address; 0: none has, it was given, or is not to be had. */
uint64_t source_lines_split_id(const struct source_lines *lines, uint64_t elf_address);
/* Gives that unit, from a file that must outlive this; NULL: it is not to be had. False: it is not in the file. */
bool source_lines_give_split(struct source_lines *lines, uint64_t elf_address, Elf *elf);
/* The file that had the functions of the last answer; NULL: the lines' own. */
const Elf *source_lines_last_split(const struct source_lines *lines);

/*
 * The frames at an elf address, the innermost first, the function that the code belongs to last; at most `most`, then the
 * outermost are missing. Strings are borrowed until the next call. Returns how many; 0: nothing is known.
 */
size_t source_lines_find(struct source_lines *lines, uint64_t elf_address,
			 struct source_frame *frames, size_t most);

/* A row of a line table: what the code from an address on was compiled from. Strings are borrowed until the next call. */
struct source_row {
	const char *file, *directory; /* where the compiler ran; "": not known */
	uint32_t line;
	uint64_t end; /* the next row's address */
};
/* The row that has an elf address. False: none does; then *row only says where that ends, as far as is known. */
bool source_lines_row(struct source_lines *lines, uint64_t elf_address, struct source_row *row);

/* Which call was put in at an address, the innermost one, and up to where: for who asks of all addresses of a function, one after the other. */
struct source_inlined {
	uint64_t call; /* its id; 0: none was */
	uint64_t end;
	bool is_too_much; /* it is not known: the function has more of them than is read */
};
/* False: no function is known there. */
bool source_lines_inlined(struct source_lines *lines, uint64_t elf_address,
			  struct source_inlined *inlined);
struct source_call {
	const char *function,
		*file; /* that was put in; where its call is. As in struct source_frame */
	uint32_t line;
	uint64_t outer; /* the call that this one was put into; 0: the function itself */
};
/* Of an id of the function that was asked for last. False: there is none. Strings are borrowed until the next call. */
bool source_lines_call(struct source_lines *lines, uint64_t id, struct source_call *call);

size_t source_lines_bytes(const struct source_lines *lines); /* of the heap, about */

#endif
