/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_SECTION_H
#define CTOP_ELF_SECTION_H

/* Sections of an ELF file, by name. */

#include <stdbool.h>
#include <gelf.h>
#include <libelf.h>

struct named_section {
	Elf_Scn *section; /* NULL: none yet */
	Elf64_Shdr header;
	const char *name; /* "": it has none; untrusted */
};
/* The next one that takes room in the file, behind this one. False: there is none. */
bool elf_next_section(Elf *elf, struct named_section *at);

/* A section's data and header, or else NULL; never of one that takes no room in the file. */
Elf_Data *elf_section_named(Elf *elf, const char *name, Elf64_Shdr *header);

#endif
