/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SPLIT_FILE_H
#define CTOP_LINES_SPLIT_FILE_H

/*
 * A file in which -gsplit-dwarf has left what it describes: a .dwo file, or a package of such files (.dwp). The bytes are untrusted: what
 * is found lies in the file's sections, as long as the Elf is open, and need not be of the unit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include "memory_elf.h"

enum split_section {
	SPLIT_INFO,
	SPLIT_ABBREV,
	SPLIT_STR,
	SPLIT_STR_OFFSETS,
	SPLIT_RNGLISTS,
	NR_SPLIT_SECTIONS
};

/*
 * The parts of its sections that describe a unit, by the id that its skeleton names: of a .dwo file all, of a package what its index has of
 * that unit. False: it is no such file, the index has none, or what is compressed would become too large.
 */
bool split_file_find(Elf *elf, uint64_t id, struct section_bytes parts[NR_SPLIT_SECTIONS]);
bool split_file_is_package(Elf *elf);

/* A section's bytes, unpacked; 0 of them where there is none. Whether that is bearable was looked at before. */
struct section_bytes split_bytes_of(Elf *elf, const char *name);
/* Without the first bytes. */
struct section_bytes split_bytes_from(struct section_bytes bytes, uint64_t skipped);

#endif
