/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PROC_SPACE_H
#define CTOP_PROC_SPACE_H

/*
 * One address space: executable mappings, sorted by start, without overlaps.
 * Shared by processes until one of them changes it (fork copies late).
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/proc/process_table.h>

struct space {
	unsigned nr_users;
	struct mapping *items;
	size_t nr, capacity;
};

struct space *space_new(void); /* one user; NULL: out of memory */
struct space *space_share(struct space *space);
void space_leave(struct space *space); /* frees with the last user; NULL is fine */
/* Makes *space one that only its caller uses. 0 or -ENOMEM. */
int space_own(struct space **space);
/* Anything in [start, end)? */
bool space_has_any(const struct space *space, uint64_t start, uint64_t end);
/* Removes what lies in [start, end), cutting maps that reach into it. 0 or -ENOMEM. */
int space_cut(struct space *space, uint64_t start, uint64_t end);
/* Adds a map over whatever was there. 0 or -ENOMEM. */
int space_add(struct space *space, const struct mapping *map);
struct mapping *space_at(const struct space *space, uint64_t address);

#endif
