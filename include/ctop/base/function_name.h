/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_FUNCTION_NAME_H
#define CTOP_BASE_FUNCTION_NAME_H

/*
 * Demangled names of functions, made short enough to read. Knows how C++, Rust and Go spell
 * names; whatever does not look like one of them stays as it is. Bytes are only left out or taken
 * over, never checked: what is shown passes text_add_safe() later.
 */

#include <stddef.h>

#include <ctop/base/text.h>

enum name_level {
	NAME_FULL,
	NAME_NO_ARGUMENTS, /* neither parameters nor the type returned: std::vector<int>::push_back */
	NAME_COLLAPSED	   /* nor long template arguments: std::vector<…>::push_back */
};

/*
 * Writes the name, cut to room - 1 bytes at the boundary of a character, and a NUL. Returns the bytes that it takes uncut,
 * never more than strlen(name): room for that is room enough. A name whose brackets do not match stays whole.
 */
size_t name_shorten(const char *name, enum name_level level, char *out, size_t room);

/*
 * Adds a name, safe to show, at this level if it has room in so many columns. Else what tells it from others stays longest:
 * parameters go first, then template arguments, then namespaces from the left (…::Parser::next), then the middle. 0 columns: no
 * bound.
 */
void name_add_fit(struct text *out, const char *name, enum name_level level, size_t cols);
/* Adds safe text, its middle left out (…) where it is wider than so many columns. */
void name_add_elided(struct text *out, const char *safe, size_t cols);

#endif
