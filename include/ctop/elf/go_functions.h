/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_GO_FUNCTIONS_H
#define CTOP_ELF_GO_FUNCTIONS_H

/*
 * The functions of a Go program, how large their frames are, and where more is said of them, by the table that its runtime itself needs:
 * .gopclntab, which no strip takes away. Formats of Go 1.2, 1.16, 1.18 and 1.20, in the byte order and with the pointers of 64-bit little-endian
 * machines. The bytes are untrusted; nothing is copied.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

/* Longer ones are nobody's: a function with such a name is left out. */
enum { GO_NAME_MAX = 4096 };

enum go_format { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

struct go_functions {
	const uint8_t *table;
	size_t bytes;
	uint64_t address; /* elf address of the table */
	uint64_t text;	  /* elf address that functions are counted from; 0: theirs are addresses */
	size_t functions_at, names_at, lists_at, units_at, files_at; /* in the table */
	size_t nr;
	enum go_format format;
	uint8_t instruction_bytes; /* of the shortest */
};

struct go_function {
	const char *name;    /* borrowed from libelf; "pkg.name", of generic ones "pkg.name[...]" */
	uint64_t start, end; /* elf addresses; start < end */
};

/* False: the file has none, or none that can be read. */
bool go_functions_open(struct go_functions *functions, Elf *elf);
/* In the order of their addresses, with gaps in the numbers: false for one that makes no sense. index < nr. */
bool go_functions_get(const struct go_functions *functions, size_t index,
		      struct go_function *function);

/* The one that an elf address is in; false: none, or one that makes no sense. */
bool go_functions_at(const struct go_functions *functions, uint64_t elf_address,
		     struct go_function *function);

/* How large a function's frame is, without the return address, from start to end. */
struct go_frame {
	uint64_t start, end; /* elf addresses */
	uint32_t bytes;
};
/* Of the function at an elf address, just there. False: no function is there, or what is said of its frame makes no sense. */
bool go_functions_frame(const struct go_functions *functions, uint64_t elf_address,
			struct go_frame *frame);

/* ---- for lines ---- */

#define GO_NO_TREE UINT64_MAX

/* What is said of one function. A list has values along its code; 0: there is none. */
struct go_details {
	struct go_function function;
	uint32_t frames, files, lines;
	uint32_t calls; /* which call of its tree was inlined there */
	uint32_t unit;	/* what numbers of files are counted from */
	uint64_t
		tree; /* where those are: from where all of them begin, of Go 1.16 and 1.17 an elf address; or GO_NO_TREE */
};
/* False: of that number there is no function, or it makes no sense. Of Go 1.2 to 1.15 there are only frames. */
bool go_functions_details(const struct go_functions *functions, size_t index,
			  struct go_details *details);
/* The last function that begins at an elf address or before it; functions->nr: none. */
size_t go_functions_before(const struct go_functions *functions, uint64_t elf_address);

/* A value of a list, for the code from start to end. All zero at first; what it was last is gone on from. */
struct go_value {
	uint64_t start, end; /* elf addresses */
	uint32_t value;	     /* UINT32_MAX: none */
	uint32_t list;
	uint64_t function; /* where that begins */
	size_t next;	   /* in the table */
};
/* The one at an elf address of the function's. Each that is passed takes one of *steps. False: none is there, or they were too few. */
bool go_functions_value(const struct go_functions *functions, const struct go_details *details,
			uint32_t list, uint64_t elf_address, int *steps, struct go_value *value);

/* A name, or a file's, at so much from where those begin in the table: NULL: none begins there, or it has no end. */
const char *go_functions_string(const struct go_functions *functions, size_t base, uint32_t at);
/* The name of a unit's file of that number. NULL: it has none. */
const char *go_functions_file(const struct go_functions *functions, uint32_t unit, uint32_t number);

#endif
