/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_KERNEL_CHOICE_H
#define CTOP_SYMBOL_KERNEL_CHOICE_H

/* What lines of /proc/kallsyms mean, wherever they are: which name of an address is shown, and where a function ends. */

#include <stdbool.h>
#include <stdint.h>

/* Of a line's type; false: it is no function's. */
bool kernel_demerits(char type, unsigned *demerits);
bool kernel_is_better(const char *name, unsigned demerits, const char *than,
		      unsigned than_demerits);
/*
 * The bytes in front of a function have a name of their own where the kernel was built with room there (__pfx_NAME, since 6.2). None
 * of them runs; but of a function interrupted at its first instruction the address is taken for a return address, and looked for one before.
 */
bool kernel_is_prefix(const char *name, const char *of_next);
/*
 * Functions have no sizes here: each ends where the next begins (0: there is none), unless that is another module's: then with its page,
 * or so many bytes later.
 */
uint64_t kernel_function_end(uint64_t start, uint64_t next, bool is_same_module,
			     uint64_t more_bytes);

#endif
