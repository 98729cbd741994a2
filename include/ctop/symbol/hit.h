/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_HIT_H
#define CTOP_SYMBOL_HIT_H

/* The answer of every kind of symbol table. Strings are the table's, at least until its next look-up. */

#include <stdbool.h>
#include <stdint.h>

struct symbol_hit {
	const char *name;   /* as the source has it: mangled, versioned */
	const char *module; /* a kernel module's "[name]"; NULL: none */
	uint64_t start;	    /* of the function, in the address space of the look-up */
	uint64_t end;	    /* behind it; 0: not known */
	const char *file;   /* of the source, where the line came with the name; NULL: none */
	uint32_t line;
	bool by_ada; /* Ada's compiler made the file: see demangle_ada() */
};

/* Which of two names of one address is shown; each source says how good its own
 * are. */
struct symbol_choice {
	const char *name;
	unsigned demerits; /* fewer win */
};

/*
 * < 0 when a is the better one. As perf chooses, so that both tell of the same
 * functions: after the demerits of its kind (no size, weak, not global, in this
 * order), the name with fewer leading underscores, then the longer one.
 */
int symbol_choice_compare(const struct symbol_choice *a, const struct symbol_choice *b);

/* Names beyond this are not distinguished, nor shown in full. */
enum { SYMBOL_NAME_MAX = 4096 };

#endif
