/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_KEPT_NAMES_H
#define CTOP_SYMBOL_KEPT_NAMES_H

/*
 * The kernel's functions, from what is kept of /proc/kallsyms (kernel/names_text.h): its lines are in the order of their addresses,
 * and looked up where they are. Nothing is read before, and no table is made. The text is untrusted: where it is not in order, or
 * a line makes no sense, nothing is found, or a name that is not the address's; never anything but a name of the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/symbol/hit.h>

struct kept_names;

/*
 * Maps the file, which nobody may write to or cut; fd stays the caller's. 0: *names is to be freed. -errno: -EINVAL when it is no
 * such text, -ENODATA when there is no function in it.
 */
int kept_names_open(int fd, struct kept_names **names);
void kept_names_free(struct kept_names *names); /* NULL is fine */

/* The hit's strings are there until the next look-up. */
bool kept_names_find(struct kept_names *names, uint64_t address, struct symbol_hit *hit);
/* Where the kernel's own code is; false: it does not say so. */
bool kept_names_code(const struct kept_names *names, uint64_t *start, uint64_t *end);

#endif
