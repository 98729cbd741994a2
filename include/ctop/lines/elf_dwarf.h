/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_ELF_DWARF_H
#define CTOP_LINES_ELF_DWARF_H

/* Whether a file's DWARF may be read at all, and what its functions are called. */

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>
#include <libelf.h>

/* Whether the file has DWARF, and its compressed sections are bounded, together: what they unpack to. */
bool elf_dwarf_is_bearable(Elf *elf, uint64_t *unpacked_bytes);
/* The same of a .dwo file, or a package of these. */
bool elf_dwarf_split_is_bearable(Elf *elf, uint64_t *unpacked_bytes);
/* What a function is called, as the linker would, else as the source does; NULL: it says nothing. */
const char *elf_dwarf_name(Dwarf_Die *die);

#endif
