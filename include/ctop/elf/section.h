/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_SECTION_H
#define CTOP_ELF_SECTION_H

/* Sections of an ELF file, by name. */

#include <libelf.h>

/* A section's data and header, or else NULL; never of one that takes no room in the file. */
Elf_Data *elf_section_named(Elf *elf, const char *name, Elf64_Shdr *header);

#endif
