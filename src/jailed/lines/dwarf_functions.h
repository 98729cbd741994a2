/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_DWARF_FUNCTIONS_H
#define CTOP_LINES_DWARF_FUNCTIONS_H

/*
 * The entries of a unit that describe functions with code. They are a few among the many of types and variables, which libdw steps over one
 * attribute at a time; here what each kind of entry takes is added up once. Of what is found libdw reads all else.
 */

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

/* False: no more are wanted. */
typedef bool dwarf_function_found(void *context, Dwarf_Die *die);

/* unit: its entry; end: of the section where it is. The bytes are untrusted: at what cannot be read it ends. */
void dwarf_functions_find(Dwarf_Die *unit, const uint8_t *end, dwarf_function_found *found,
			  void *context);

#endif
