/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_INLINED_TREE_H
#define CTOP_LINES_INLINED_TREE_H

/*
 * Which calls the compiler put into one function, by address: the whole of the function's DWARF is read once, and then every address of it
 * is told in no time. At each address it says what a way down from the function would: of entries beside each other the first that
 * has it, and of these the innermost. The bytes are untrusted: entries, their parts and their depth are bounded.
 */

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "split_unit.h"

struct inlined_call {
	Dwarf_Off die;
	uint32_t
		outer; /* 1 + number of the call that this one was put into; 0: the function itself */
};

struct inlined_span {
	uint64_t start, end;
	uint32_t call; /* number */
};

/* All zero is empty. */
struct inlined_tree {
	/* By where their entries are; a call comes behind what it was put into. */
	struct {
		struct inlined_call *items;
		size_t nr, capacity;
	} calls;
	/* By address, without overlaps; what is in none is the function's own. */
	struct {
		struct inlined_span *items;
		size_t nr, capacity;
	} spans;
};

/* Which entries of a block of code have others inside, as compilers write them: of the rest none is looked into. */
bool inlined_is_block(int tag);

/* In the place of what was read before. split: the unit that has the function; NULL: it is in no other file. False: out of memory, or the function has more than the bounds allow; then it is empty. */
bool inlined_tree_read(struct inlined_tree *tree, const struct split_unit *split,
		       Dwarf_Die *function);
void inlined_tree_release(struct inlined_tree *tree);
/* The call at an elf address; NULL: none. *end: an address behind it, up to which that is so. */
const struct inlined_call *inlined_tree_at(const struct inlined_tree *tree, uint64_t elf_address,
					   uint64_t *end);
/* The call of that entry; NULL: there is none. */
const struct inlined_call *inlined_tree_call(const struct inlined_tree *tree, Dwarf_Off die);

#endif
