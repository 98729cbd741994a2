/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_FRAME_ENTRY_H
#define CTOP_CFI_FRAME_ENTRY_H

/*
 * The FDE of an address and its CIE (DWARF 5, 6.4.1; Linux Standard Base, "Exception Frames"), found by .eh_frame_hdr and read
 * where they lie in the file. Only what compilers and linkers write: whatever is
 * otherwise is said to be not plain, and is libdw's to judge.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include <ctop/elf/eh_scan.h>

struct frame_section {
	const uint8_t *bytes; /* of .eh_frame: the Elf's */
	size_t size;
	uint64_t address;
	struct eh_lookup lookup;
};

/* False when the file has no .eh_frame with a lookup table of the usual form; elf must outlive the section. */
bool frame_section_open(struct frame_section *section, Elf *elf);

struct frame_entry {
	uint64_t start, end;	/* elf addresses it covers */
	const uint8_t *section; /* what expressions are counted from */
	const uint8_t *initial; /* the CIE's program, which every one of its FDEs begins with */
	const uint8_t *program, *end_of_program;
	size_t initial_bytes;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t return_column;
};

/* False when no plain FDE covers the address. */
bool frame_section_find(const struct frame_section *section, uint64_t address,
			struct frame_entry *entry);

#endif
