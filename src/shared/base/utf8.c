/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stdbool.h>

struct width_range {
	uint32_t first, last;
};

#include "width_table.h"

struct utf8_char utf8_next(const char *string)
{
	const struct utf8_char invalid = {.code = UTF8_INVALID, .size = 1};
	const unsigned char *at = (const unsigned char *)string;
	unsigned char first = at[0];
	/* The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF. */
	unsigned char low = 0x80, high = 0xbf;
	unsigned size;
	uint32_t code;
	if (first < 0x80)
		return (struct utf8_char){.code = first, .size = first ? 1 : 0};
	if (first < 0xc2 || first > 0xf4)
		return invalid;
	if (first < 0xe0) {
		size = 2;
		code = first & 0x1fu;
	} else if (first < 0xf0) {
		size = 3;
		code = first & 0x0fu;
		if (first == 0xe0)
			low = 0xa0;
		if (first == 0xed)
			high = 0x9f;
	} else {
		size = 4;
		code = first & 0x07u;
		if (first == 0xf0)
			low = 0x90;
		if (first == 0xf4)
			high = 0x8f;
	}
	for (unsigned i = 1; i < size; i++) {
		if (at[i] < low || at[i] > high) /* a NUL ends it here, too */
			return invalid;
		code = code << 6 | (at[i] & 0x3fu);
		low = 0x80;
		high = 0xbf;
	}
	return (struct utf8_char){.code = code, .size = size};
}

static bool in_ranges(const struct width_range *ranges, size_t nr, uint32_t code)
{
	size_t low = 0, high = nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code > ranges[middle].last)
			low = middle + 1;
		else if (code < ranges[middle].first)
			high = middle;
		else
			return true;
	}
	return false;
}

unsigned utf8_cols(uint32_t code)
{
	if (code < 0x300 || code == UTF8_INVALID) /* nothing in Latin takes other than one column */
		return 1;
	if (in_ranges(zero_width, sizeof(zero_width) / sizeof(*zero_width), code))
		return 0;
	return in_ranges(double_width, sizeof(double_width) / sizeof(*double_width), code) ? 2 : 1;
}
