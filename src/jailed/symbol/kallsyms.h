/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_KALLSYMS_H
#define CTOP_SYMBOL_KALLSYMS_H

/*
 * The kernel's functions, from the text of /proc/kallsyms: "ADDRESS TYPE NAME",
 * and for a module's a tab and "[module]".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hit.h"

struct kallsyms;

/*
 * Reads fd from its first byte to its last; fd stays the caller's. 0 and *out, or -errno: -EPERM
 * when addresses are hidden (kernel.kptr_restrict shows them all as 0),
 * -ENODATA when there is no function in it.
 */
int kallsyms_read(int fd, struct kallsyms **out);
void kallsyms_free(struct kallsyms *kallsyms); /* NULL is fine */

bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, struct symbol_hit *hit);
size_t kallsyms_bytes(const struct kallsyms *kallsyms);

#endif
