/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COMPARE_NAME_H
#define CTOP_COMPARE_NAME_H

/*
 * What a function goes by in every build: its name without what compilers change from one build to the next. Left out are
 * the suffixes of clones and parts (.constprop.0, .isra.1, .part.2, .cold, .llvm.123, .lto_priv.4, " [clone ...]"), Rust's hashes
 * (::h0123456789abcdef, name[0123456789abcdef]), C++'s template arguments that are defaults (std::allocator, std::less, ...), and
 * the namespaces that the standard library's versions have (std::__1::, std::__cxx11::).
 */

#include <ctop/base/text.h>

/* Adds it; never nothing. What does not look like any of these stays as it is. */
void name_add_stable(struct text *out, const char *name);

#endif
