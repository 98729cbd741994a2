/* SPDX-License-Identifier: MIT */
#include "json.h"

void json_add_name(struct text *text, struct text *scratch, const char *untrusted)
{
	text_clear(scratch);
	text_add_safe(scratch, untrusted);
	text->failed |= scratch->failed;
	text_add_json(text, text_string(scratch));
}

void json_add_number(struct text *text, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	text_add_bytes(text, digits + at, sizeof(digits) - at);
}

void json_add_item(struct text *text, size_t number_of_item, uint64_t value)
{
	if (number_of_item)
		text_add(text, ",");
	json_add_number(text, value);
}
