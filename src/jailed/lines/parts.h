/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_PARTS_H
#define CTOP_LINES_PARTS_H

/* What an entry of DWARF covers, part by part: of one in a split unit, and of any other. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "split_unit.h"

struct parts {
	Dwarf_Die *die;
	bool is_split;
	struct split_ranges split;
	Dwarf_Addr base;
	ptrdiff_t next; /* negative: what there is cannot be read */
};

/* split: the unit that has the entry; NULL: it is in no other file. Both are borrowed until the last part. */
struct parts parts_of(const struct split_unit *split, Dwarf_Die *die);
/* False: there are no more. A part may have no code. */
bool parts_next(struct parts *parts, uint64_t *start, uint64_t *end);

#endif
