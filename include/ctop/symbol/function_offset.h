/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_FUNCTION_OFFSET_H
#define CTOP_SYMBOL_FUNCTION_OFFSET_H

/*
 * Where a function begins in an ELF file, as an offset in the file: where a uprobe goes. For a jailed child: the
 * bytes are a stranger's.
 */

#include <stdint.h>

/*
 * fd is taken over. name is as in the symbol table, .symtab or .dynsym; of several functions of one name (static
 * ones) a global one, else the first. 0; -ENOENT when there is none, -ENOEXEC when it is no ELF file, -ENOMEM.
 */
int function_offset(int fd, const char *name, uint64_t *offset);

#endif
