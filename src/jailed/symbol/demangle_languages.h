/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_DEMANGLE_LANGUAGES_H
#define CTOP_SYMBOL_DEMANGLE_LANGUAGES_H

/*
 * Names of D, Ada and OCaml, as their sources write them, bounded in input, memory and output. Each is false for what is none of
 * that language's names: keep the name as it is. out_bytes: at least 16.
 */

#include <stdbool.h>
#include <stddef.h>

bool demangle_d(const char *name, char *out, size_t out_bytes);
/* Names of Ada are made of letters that any name has (a__b is a.b): only for files that Ada's compiler made. */
bool demangle_ada(const char *name, char *out, size_t out_bytes);
bool demangle_ocaml(const char *name, char *out, size_t out_bytes);

#endif
