/* SPDX-License-Identifier: MIT */
#include "infos_read.h"

#include <errno.h>
#include <stdlib.h>

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
