/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_DWARF_SYMBOLS_H
#define CTOP_SYMBOL_DWARF_SYMBOLS_H

/* The functions that DWARF describes, for files whose symbol tables were taken out and whose debug information was not. */

#include <libelf.h>

struct elf_symbols;

/* Adds them. 1: there were some, 0: there are none that can be read, -ENOMEM. */
int dwarf_symbols_add(struct elf_symbols *symbols, Elf *elf);

#endif
