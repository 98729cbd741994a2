/* SPDX-License-Identifier: MIT */
#include "hex.h"

#include <stddef.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

const char *hex_take(const char *text, uint64_t *value)
{
	const char *at = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
	const char *first = at;
	uint64_t sum = 0;
	for (int digit; (digit = digit_value(*at)) >= 0; at++)
		sum = sum << 4 | (unsigned)digit;
	if (at == first || at - first > 16)
		return NULL;
	*value = sum;
	return at;
}
