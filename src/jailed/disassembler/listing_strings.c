/* SPDX-License-Identifier: MIT */
#include "listing_maker.h"

#include <string.h>

uint32_t listing_add_string(struct maker *maker, const char *text)
{
	struct listing_answer *answer = maker->answer;
	const size_t bytes = strlen(text) + 1, room = LISTING_STRINGS_MAX - answer->string_bytes;
	if (bytes == 1 || bytes > room)
		return 0;
	const uint32_t at = answer->string_bytes;
	memcpy(maker->strings + at, text, bytes);
	answer->string_bytes += (uint32_t)bytes;
	return at;
}
