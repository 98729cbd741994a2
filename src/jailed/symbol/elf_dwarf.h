/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_DWARF_H
#define CTOP_SYMBOL_ELF_DWARF_H

/* The functions that DWARF describes, for files whose symbol tables were taken out and whose debug information was not. */

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <libelf.h>

struct elf_symbols;

/* Adds them. 1: there were some, 0: there are none that can be read, -ENOMEM. */
int elf_dwarf_add(struct elf_symbols *symbols, Elf *elf);

/* Whether the file has DWARF, and its compressed sections are bounded, together: what they unpack to. */
bool elf_dwarf_is_bearable(Elf *elf, uint64_t *unpacked_bytes);
/* The same of a .dwo file, or a package of these. */
bool elf_dwarf_split_is_bearable(Elf *elf, uint64_t *unpacked_bytes);
/* What a function is called, as the linker would, else as the source does; NULL: it says nothing. */
const char *elf_dwarf_name(Dwarf_Die *die);

#endif
