/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_FRAME_TABLE_H
#define CTOP_CFI_FRAME_TABLE_H

/* One section of call frame information, opened with libdw: .eh_frame or .debug_frame. */

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include "elf_image.h"

struct frame_table {
	Dwarf_CFI *cfi;
	Dwarf *dwarf; /* owns cfi when it is .debug_frame; NULL for .eh_frame */
	struct elf_image image;
};

/* Both: 0, -ENOENT when the file has no such section, or another -errno when it could not be used. */
int frame_table_open_eh(struct frame_table *table, Elf *elf);	 /* elf must outlive the table */
int frame_table_open_debug(struct frame_table *table, Elf *elf); /* compressed or not; copies it */
void frame_table_release(struct frame_table *table);		 /* all zero is fine */

/*
 * To be asked when .eh_frame had nothing for an address: reads all of it, and when the file's lookup
 * table is not true, opens the table again with a true one. True when it did. Takes milliseconds on a large file.
 */
bool frame_table_repair_eh(struct frame_table *table, Elf *elf);

#endif
