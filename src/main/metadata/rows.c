/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>

bool take_number(const char **at, uint64_t most, uint64_t *number)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 10);
	if (errno || *end != ' ' || *number > most)
		return false;
	*at = end + 1;
	return true;
}

bool take_id(const char **at, int32_t *id)
{
	uint64_t number;
	if (!take_number(at, INT32_MAX, &number))
		return false;
	*id = (int32_t)number;
	return true;
}

const enum wait_kind wait_order[NR_WAIT_KINDS] = {
	WAIT_LOCK, WAIT_IO, WAIT_POLL, WAIT_SLEEP, WAIT_CHILD, WAIT_FAULT, WAIT_OTHER, WAIT_UNSEEN,
};

unsigned number_of_wait(unsigned kind)
{
	unsigned number = 0;
	while (number < NR_WAIT_KINDS - 1 && wait_order[number] != (enum wait_kind)kind)
		number++;
	return number;
}
