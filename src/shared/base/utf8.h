/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_UTF8_H
#define CTOP_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* One step through a NUL-terminated string of unknown quality. */
struct utf8_char {
	uint32_t code; /* UTF8_INVALID: this one byte begins no well-formed sequence */
	unsigned size; /* bytes; 0 at the NUL, else 1 to 4 */
};

#define UTF8_INVALID UINT32_MAX

/*
 * Well-formed as Unicode's table 3-7 says: no overlong forms, no surrogates,
 * nothing above U+10FFFF. Never reads beyond the NUL.
 */
struct utf8_char utf8_next(const char *string);

/* Columns in a terminal: 0, 1 or 2. Controls and invalid bytes count 1. */
unsigned utf8_cols(uint32_t code);

#endif
