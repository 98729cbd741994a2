/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_NAME_CACHE_H
#define CTOP_SYMBOL_NAME_CACHE_H

#include <stdbool.h>

/*
 * From a symbol's name to the one that people read: demangled, without its
 * version. Frames of one function come in tens, so the last answers are kept.
 */

struct name_cache;

struct name_cache *name_cache_new(void); /* NULL: out of memory */
void name_cache_free(struct name_cache *cache);

/* by_ada: Ada's compiler made the file. Borrowed until the next call. At most SYMBOL_NAME_MAX - 1 bytes; what is
 * longer ends in "...". */
const char *name_cache_show(struct name_cache *cache, const char *name, bool by_ada);

#endif
