/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_FUNCTION_OFFSET_H
#define CTOP_SYMBOL_FUNCTION_OFFSET_H

/*
 * Where a function begins in an ELF file, as an offset in the file: where a uprobe goes. For a jailed child: the
 * bytes are untrusted.
 */

#include <ctop/ipc/uprobe_protocol.h>

/*
 * fd is taken over. name is as in the symbol table, .symtab or .dynsym; of several functions of one name (static
 * ones) a global one, else the first. Or, where none is called so, as C++ and Rust write it, with parameters or without
 * (ns::Class::method(int, char); blanks do not count): then it must be the only one. 0; -ENOENT when there is none,
 * -ENOTUNIQ when there are several, -ENOEXEC when it is no ELF file, -ENOMEM.
 */
int function_offset(int fd, const char *name, struct function_place *place);

#endif
