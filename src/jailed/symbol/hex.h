/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_HEX_H
#define CTOP_SYMBOL_HEX_H

/* Numbers in the text tables of symbols. */

#include <stdint.h>

/*
 * Takes hexadecimal digits, 1 to 16 of them, perhaps after "0x", off a text in which something else follows them. Returns where
 * they end, or NULL when they are not there.
 */
const char *hex_take(const char *text, uint64_t *value);

#endif
