/* SPDX-License-Identifier: MIT */
/*
 * A list of CPUs as the kernel reads it (lib/bitmap-str.c): "0,4-7", "all", "N" for the last one, "0-15:1/4" for one of each
 * four, with blanks or commas between them. Which CPUs there are the kernel knows.
 */
#include "event_internal.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* The last one's number is the kernel's to know: above all that can be written. */
#define LAST_CPU ((uint64_t)UINT_MAX + 1)

struct reading {
	const char *at, *end;
};

static bool is_between(char letter)
{
	return letter == ',' || isspace((unsigned char)letter);
}

static bool takes(struct reading *reading, char letter)
{
	if (reading->at == reading->end || *reading->at != letter)
		return false;
	reading->at++;
	return true;
}

static bool take_number(struct reading *reading, uint64_t *number)
{
	const char *start = reading->at;
	if (takes(reading, 'N')) {
		*number = LAST_CPU;
		return true;
	}
	for (*number = 0; reading->at < reading->end && isdigit((unsigned char)*reading->at);
	     reading->at++) {
		*number = *number * 10 + (uint64_t)(*reading->at - '0');
		if (*number > UINT_MAX)
			return false;
	}
	return reading->at > start;
}

/* "0-15", "all"; sets whether a part of it may be asked for. */
static bool take_range(struct reading *reading, bool *is_range)
{
	static const char all[] = "all";
	const size_t size = sizeof(all) - 1;
	uint64_t first, last;
	*is_range = true;
	if ((size_t)(reading->end - reading->at) >= size && !strncasecmp(reading->at, all, size)) {
		reading->at += size;
		return true;
	}
	if (!take_number(reading, &first))
		return false;
	*is_range = takes(reading, '-');
	return !*is_range || (take_number(reading, &last) && first <= last);
}

static bool take_entry(struct reading *reading)
{
	bool is_range;
	uint64_t used, each;
	if (!take_range(reading, &is_range))
		return false;
	if (is_range && takes(reading, ':') &&
	    (!take_number(reading, &used) || !takes(reading, '/') || !take_number(reading, &each) ||
	     !each || used > each))
		return false;
	return reading->at == reading->end || is_between(*reading->at);
}

size_t cpu_list_size(const char *text, size_t size)
{
	struct reading reading = {text, text + size};
	for (;;) {
		while (reading.at < reading.end && is_between(*reading.at))
			reading.at++;
		const char *entry = reading.at;
		if (reading.at == reading.end)
			return size;
		if (!take_entry(&reading))
			return (size_t)(entry - text);
	}
}
