/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_DEMANGLE_H
#define CTOP_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Demangles names of C++ (Itanium), Rust (legacy and v0), D and OCaml, bounded in input and output; false: keep the name as it is. */
bool demangle(const char *name, char *out, size_t out_bytes);

#endif
