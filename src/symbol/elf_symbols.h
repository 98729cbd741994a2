/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_SYMBOLS_H
#define CTOP_SYMBOL_ELF_SYMBOLS_H

#include <libelf.h>

#include "function_table.h"

/*
 * Adds the functions of .symtab, or else of .dynsym.
 * Names point into libelf's memory: the Elf outlives the table. 0 or -ENOMEM.
 * *has_symtab tells whether a separate debug file is worth asking for.
 */
int elf_symbols_add(Elf *elf, struct function_table *table, bool *has_symtab);

/* Name in .gnu_debuglink; "" when there is none. Borrowed from libelf. */
const char *elf_debuglink(Elf *elf);

#endif
