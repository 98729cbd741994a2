/* SPDX-License-Identifier: MIT */
#include "infos_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t infos_number(const struct history *history, const char *key)
{
	const char *text = history_info(history, key);
	/* strtoull takes blanks and signs. */
	if (!text || *text < '0' || *text > '9')
		return 0;
	char *end;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

static bool has_value(const struct history *history, const char *key, const char *value)
{
	const char *known = history_info(history, key);
	return known && !strcmp(known, value);
}

bool infos_describe_event(const struct history *history, const char *event)
{
	return !event || has_value(history, "event.asked", event) ||
	       has_value(history, "event.opened", event);
}
