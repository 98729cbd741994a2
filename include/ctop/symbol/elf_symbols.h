/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_SYMBOLS_H
#define CTOP_SYMBOL_ELF_SYMBOLS_H

/*
 * The functions of an ELF file by elf address: of .symtab, or of .dynsym and
 * the separate debug file, and the stubs of its procedure linkage table. 24
 * bytes a symbol; names stay in libelf's mapping, so every Elf that was added
 * must outlive this.
 *
 *     new, add (any number of files), finish, add_plt, find...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include <ctop/symbol/hit.h>

struct elf_symbols;

struct elf_symbols *elf_symbols_new(void); /* NULL: out of memory */
void elf_symbols_free(struct elf_symbols *symbols);

/*
 * Adds the functions of the file's table of that type, SHT_SYMTAB or
 * SHT_DYNSYM. 1: there was one, 0: there is none, -ENOMEM.
 */
int elf_symbols_add(struct elf_symbols *symbols, Elf *elf, uint32_t table_type);
/*
 * Adds where the file's unwind table says that functions begin and end. The file is the one with the code: until finish() it may be
 * asked what that refers to, where nothing else tells of functions. 0 or -ENOMEM.
 */
int elf_symbols_add_unwind_table(struct elf_symbols *symbols, Elf *elf);
/* Adds the functions of a Go program that its runtime's own table has. 1: there is one, 0: there is none, -ENOMEM. */
int elf_symbols_add_go_functions(struct elf_symbols *symbols, Elf *elf);
/* Adds a function that no table has; name is copied. 0 or -ENOMEM. */
int elf_symbols_add_stub(struct elf_symbols *symbols, uint64_t address, uint32_t bytes,
			 const char *name);
/* Sorts, chooses among aliases, finds ends. Needed before find(), and after
 * whatever was added. */
void elf_symbols_finish(struct elf_symbols *symbols);

/* The innermost function that covers the elf address. */
bool elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, struct symbol_hit *hit);

/*
 * Where the function at an address begins that no symbol covers: after the last symbol, where an entry of the
 * unwind table begins or ends, or at what other code refers to. False: the address is not in code, or nothing is known of the file's functions.
 */
bool elf_symbols_bound(const struct elf_symbols *symbols, uint64_t address, uint64_t *start);

size_t elf_symbols_count(const struct elf_symbols *symbols);
/* Heap bytes in use. */
size_t elf_symbols_bytes(const struct elf_symbols *symbols);

/* The file name in .gnu_debuglink; "" when there is none. Borrowed from libelf.
 */
const char *elf_debuglink(Elf *elf);

#endif
