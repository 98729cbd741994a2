/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_KALLSYMS_H
#define CTOP_SYMBOL_KALLSYMS_H

/*
 * The kernel's functions, from the text of /proc/kallsyms: "ADDRESS TYPE NAME",
 * and for a module's a tab and "[module]"; or from what is kept of that text (symbol/kept_names.h), at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/symbol/hit.h>

struct kallsyms;

struct kallsyms *kallsyms_new(int fd); /* takes fd over, unless it is NULL: out of memory */
/*
 * Reads a further part, from fd's first byte to its last: the kernel prints all of it for each reader, 40 ms of CPU time in all, and others are
 * not to wait that long. 1: there may be more; 0: that was all, and functions can be found; or -errno: -EPERM when addresses are hidden
 * (kernel.kptr_restrict shows them all as 0), -ENODATA when there is no function in it.
 */
int kallsyms_read_part(struct kallsyms *kallsyms);
void kallsyms_free(struct kallsyms *kallsyms); /* NULL is fine */

/* Of one that was read: it is what was kept, and an address that it does not know may be in the kernel's own text. */
bool kallsyms_is_kept(const struct kallsyms *kallsyms);
/* Where the kernel's own code is; false: it does not say so. */
bool kallsyms_text(const struct kallsyms *kallsyms, uint64_t *start, uint64_t *end);
/* The hit's strings are there until the next look-up. */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, struct symbol_hit *hit);
size_t kallsyms_bytes(const struct kallsyms *kallsyms);

#endif
