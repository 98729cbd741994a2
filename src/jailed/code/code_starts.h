/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_STARTS_H
#define CTOP_CODE_CODE_STARTS_H

/*
 * Where the functions of one executable segment start, whether they have names or not: where its calls lead, which
 * code it takes the address of or its data points to, its symbols. One bit a byte.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/code/code_rule.h>

struct object;

struct code_jump {
	uint32_t to, from; /* from the view's start */
};

struct code_starts {
	struct code_view view;
	const struct object *object;
	uint64_t *bits; /* NULL: there is too much code, or no memory */
	/* Those of them that are likelier to be functions, not labels: not only data points there; not only code takes the address. */
	uint64_t *taken, *called;
	uint64_t *branches; /* the view's branched_to */
	uint64_t *parts;    /* the view's */
	uint64_t *gaps;	    /* just behind what does not go on; NULL when all is read */
	/* To behind a gap, out of a function: by target when all is read. */
	struct {
		struct code_jump *items;
		size_t nr, capacity;
	} jumps;
	/* How far it is read: each pass from the segment's first byte, or the file's first symbol. */
	enum { CODE_PASS_SYMBOLS, CODE_PASS_TARGETS, CODE_PASS_JUMPS, CODE_IS_READ } pass;
	uint64_t at;
	size_t section;	    /* CODE_PASS_SYMBOLS: whose symbol or relocation it is */
	size_t relocations; /* the section that has those of pointers; 0: none */
};

/* Of the segment that holds the address, to be read. False when no code does. Borrows the object; is not to be moved. */
bool code_starts_open(struct code_starts *starts, const struct object *object,
		      uint64_t elf_address);
void code_starts_release(struct code_starts *starts); /* all zero is fine */

/* Reads on, and takes what it cost from *steps. True when all is read; false: not enough were left. */
bool code_starts_read(struct code_starts *starts, uint64_t *steps);

/*
 * The functions that an address may be in: the one that it surely lies behind, those that jump to just before it, what
 * may be others. None when none is near. When all is read. Takes what it cost from *steps.
 */
void code_starts_find(const struct code_starts *starts, uint64_t address,
		      struct code_functions *functions, uint64_t *steps);

#endif
