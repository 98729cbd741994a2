/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_TEXT_H
#define CTOP_BASE_TEXT_H

/*
 * Text under construction, and the one place where untrusted bytes
 * (comms, symbols, paths) are made safe to show.
 *
 * struct text always holds a NUL-terminated string once anything was added.
 * Running out of memory sets `failed` and drops what did not fit and all that
 * follows; callers look once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>

/* All zero is the empty string. */
struct text {
	char *bytes; /* NULL while empty */
	size_t size; /* without the NUL */
	size_t capacity;
	bool failed;
};

void text_release(struct text *text);
void text_clear(struct text *text); /* empty, failed forgotten, memory kept */
/* The string so far; "" when nothing was added. Borrowed. */
const char *text_string(const struct text *text);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t size);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Adds a string from outside with everything that could harm a terminal or a
 * line-based format spelled out: C0 and C1 controls, DEL, invalid UTF-8, bidi
 * controls and line or paragraph separators become \xNN (each byte); a
 * backslash stays as it is.
 */
void text_add_safe(struct text *text, const char *untrusted);
/*
 * Adds text that is safe as ASCII: other characters become '?', an ellipsis '~'. For terminals that do not speak UTF-8, where a byte
 * of a well-formed character may be a control.
 */
void text_add_ascii(struct text *text, const char *bytes, size_t size);
/* Adds two digits for each byte. */
void text_add_hex(struct text *text, const void *bytes, size_t size);
/* Adds "string" in JSON's quoting; invalid UTF-8 becomes U+FFFD. */
void text_add_json(struct text *text, const char *untrusted);

/* Columns that a UTF-8 string takes in a terminal (wcwidth's answer, without a locale's help). */
size_t text_cols(const char *utf8);
/* Bytes of the longest prefix that fits into cols columns. */
size_t text_fit(const char *utf8, size_t cols);

#endif
