/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_BOUNDS_H
#define CTOP_SYMBOL_ELF_BOUNDS_H

/*
 * Where functions of an ELF file may begin and end, whatever their names: its executable sections and the entries of
 * its unwind table. The table is untrusted: an entry counts where it begins in code, and up to the next one.
 *
 *     add (any number of files), finish, look up...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

struct elf_range {
	uint64_t start, end; /* elf addresses, start < end */
};

struct elf_ranges {
	struct elf_range *items; /* sorted by finish() */
	size_t nr, capacity;
};

struct elf_bounds {
	struct elf_ranges code;	   /* executable sections; segments where there are none */
	struct elf_ranges entries; /* of the unwind table; they do not overlap */
};

void elf_bounds_release(struct elf_bounds *bounds); /* all zero is fine */
/* Each: 0 or -ENOMEM. */
int elf_bounds_add_code(struct elf_bounds *bounds, Elf *elf);
int elf_bounds_add_unwind_table(struct elf_bounds *bounds, Elf *elf);
/* Needed after whatever was added. */
void elf_bounds_finish(struct elf_bounds *bounds);
size_t elf_bounds_bytes(const struct elf_bounds *bounds); /* of heap */

/* The code that holds the address; NULL when none does. */
const struct elf_range *elf_bounds_code(const struct elf_bounds *bounds, uint64_t address);
/* Where what is at the address ends at the latest: its code, the entry around it, the next one's start. */
uint64_t elf_bounds_end(const struct elf_bounds *bounds, uint64_t address);
/* Whether the unwind table has an entry for it. */
bool elf_bounds_has_entry(const struct elf_bounds *bounds, uint64_t address);
/* The last place at or before the address where code or an entry begins or ends; only of an address in code. */
uint64_t elf_bounds_start(const struct elf_bounds *bounds, uint64_t address);

#endif
