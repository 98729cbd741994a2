/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IDS_H
#define CTOP_IDS_H

/*
 * Typed ids of the profile's tables, and the names of address spaces.
 *
 * An id is the index of a row in one table of one epoch; wrapping it keeps a
 * node from being passed for a frame. Index 0 of every table is a row that
 * means "none": the empty string, no module, no task, the root node.
 *
 * Addresses are plain uint64_t whose names say their space:
 *   process address  as the target's instruction pointer holds it
 *   elf address      p_vaddr space of a module: what symbol tables and CFI use
 *   file offset      bytes into the module's file
 * A *look-up address* is what a symbol or a rule is searched by: the exact pc of
 * a leaf or of a frame that a signal interrupted, and return address - 1 of a
 * caller. The unwinder converts once; everything after it holds look-up addresses.
 */

#include <stdint.h>

struct string_id {
	uint32_t index;
};
struct module_id {
	uint32_t index;
};
struct task_id {
	uint32_t index;
};
struct frame_id {
	uint32_t index;
};
struct node_id {
	uint32_t index;
};

#endif
