/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_PLT_H
#define CTOP_SYMBOL_ELF_PLT_H

#include <ctop/symbol/elf_symbols.h>

/*
 * Adds "name@plt" for the stubs of .plt, .plt.sec and .plt.got (x86-64), which
 * no symbol table names. symbols must be finished, and must be finished again
 * after this: they tell the names of indirect functions. 0 or -ENOMEM.
 */
int elf_plt_add(struct elf_symbols *symbols, Elf *elf);

#endif
