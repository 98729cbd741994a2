/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SPLIT_OBJECTS_H
#define CTOP_LINES_SPLIT_OBJECTS_H

/* What came of the files in which -gsplit-dwarf has left functions of one module, asked for by the ids of its units. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object;
struct source_lines;

struct split_object {
	uint64_t id;	       /* asked for by */
	struct object *object; /* NULL: it is not to be had */
};

struct split_objects {
	struct split_object *items;
	size_t nr, capacity;
};

void split_objects_release(struct split_objects *objects); /* all zero is fine */
/* Takes the object over, which may be NULL. 0 or -ENOMEM. */
int split_objects_add(struct split_objects *objects, uint64_t id, struct object *object);

/*
 * Gives the lines what an address lacks, from any of them; where it is in none that could be had, they are told so. False: the unit's
 * file was not asked for yet, by that id.
 */
bool split_objects_give(struct split_objects *objects, struct source_lines *lines,
			uint64_t elf_address, uint64_t *id);

/* The file that the lines had their last answer from, if it has changed since it was opened; NULL: all is well. */
struct split_object *split_objects_changed(struct split_objects *objects,
					   const struct source_lines *lines);

#endif
