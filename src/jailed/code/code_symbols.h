/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_SYMBOLS_H
#define CTOP_CODE_CODE_SYMBOLS_H

/*
 * Where functions begin and end by a file's .symtab, of those that have a size there: node's builtins are 1,900 of which no unwind table
 * tells. So the other functions' code need not be read for a rule. What it says need not be true.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/code/code_rule.h>

struct object;

/* Of larger ones nothing is said: they are looked at within a round's allowance. */
enum { CODE_SYMBOL_BYTES_MAX = 1 << 16 };

struct code_symbol {
	uint64_t start;
	uint32_t bytes;
	bool is_part; /* gcc's foo.cold begins amid foo */
};

/* All zero: nothing was read yet. */
struct code_symbols {
	struct code_symbol *items; /* by address */
	size_t nr, capacity;
	bool is_read;
};

/* Once. Takes what it cost from *steps. */
void code_symbols_read(struct code_symbols *symbols, const struct object *object, uint64_t *steps);
void code_symbols_release(struct code_symbols *symbols);

/* The one that an address is in. False: it is in none, or in a part of one that begins elsewhere. */
bool code_symbols_find(const struct code_symbols *symbols, uint64_t address,
		       struct code_function *function);

/* What a view of a segment has of them. One bit a byte. */
struct code_marks {
	uint64_t *starts, *parts, *branches;
	struct code_function function; /* whose branches these are */
};

/* False: out of memory. */
bool code_marks_make(struct code_marks *marks, const struct code_symbols *symbols,
		     const struct code_view *view);
void code_marks_release(struct code_marks *marks);
/*
 * The view of one function, which lies in it, until the next one's: rules depend on no function that was looked at before. Takes what it
 * cost from *steps, of which there is one for each of its bytes.
 */
void code_marks_look(struct code_marks *marks, struct code_view *view,
		     const struct code_function *function, uint64_t *steps);

#endif
