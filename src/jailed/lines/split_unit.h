/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SPLIT_UNIT_H
#define CTOP_LINES_SPLIT_UNIT_H

/*
 * The unit that -gsplit-dwarf has put into a .dwo file or a package of these: libdw reads its entries, which stand there as they do in any
 * file. For that it is given the unit's parts as the sections of an ELF file that is nowhere but in memory, with the addresses that the
 * linker has left beside the skeleton. What it would read without the skeleton, wrongly, is read here: ranges.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "split_file.h"

/* What the program's own file says of a unit. */
struct split_skeleton {
	uint64_t id;	       /* 0: it is no skeleton */
	uint64_t base;	       /* what ranges are counted from */
	uint64_t addresses_at; /* in .debug_addr */
	uint64_t ranges_at;    /* in .debug_ranges, of DWARF 4 */
};

/* Of a unit's entry. id 0: it has all that it describes, or cannot be read. Of names, both borrowed; NULL: none. */
struct split_skeleton split_skeleton_of(Dwarf_Die *unit);
struct split_names {
	const char *name, *directory; /* of the .dwo file; where the compiler ran */
};
struct split_names split_names_of(Dwarf_Die *unit);

struct split_unit;

/*
 * NULL: the file has no such unit, or out of memory. program: where the skeleton is; NULL: only to see whether the file has the unit. Both
 * files must outlive this.
 */
struct split_unit *split_unit_open(Elf *elf, Elf *program, const struct split_skeleton *skeleton);
void split_unit_free(struct split_unit *unit);
/* The entry of the unit itself, and another one by where it is. False: there is none. */
bool split_unit_die(const struct split_unit *unit, Dwarf_Die *die);
/* Where the section of its entries ends. */
const uint8_t *split_unit_end(const struct split_unit *unit);
bool split_unit_die_at(const struct split_unit *unit, Dwarf_Off at, Dwarf_Die *die);

/* What an entry of the unit covers, part by part. */
struct split_ranges {
	const struct split_unit *unit;
	struct section_bytes rest; /* of the list */
	uint64_t base;
	uint64_t start, end; /* of the only part, while there is one */
	bool is_list;
};
void split_ranges_begin(struct split_ranges *ranges, const struct split_unit *unit, Dwarf_Die *die);
/* False: there are no more. */
bool split_ranges_next(struct split_ranges *ranges, uint64_t *start, uint64_t *end);

#endif
