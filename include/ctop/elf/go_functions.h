/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_GO_FUNCTIONS_H
#define CTOP_ELF_GO_FUNCTIONS_H

/*
 * The functions of a Go program, and how large their frames are, by the table that its runtime itself needs: .gopclntab, which no strip
 * takes away. Formats of Go 1.2, 1.16, 1.18 and 1.20, in the byte order and with the pointers of 64-bit little-endian
 * machines. The bytes are untrusted; nothing is copied.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

/* Longer ones are nobody's: a function with such a name is left out. */
enum { GO_NAME_MAX = 4096 };

struct go_functions {
	const uint8_t *table;
	size_t bytes;
	uint64_t text; /* elf address that functions are counted from; 0: theirs are addresses */
	size_t functions_at, names_at, lines_at; /* in the table */
	size_t nr;
	uint8_t instruction_bytes; /* of the shortest */
	bool wide;		   /* addresses and offsets have 64 bits, not 32 */
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

#endif
