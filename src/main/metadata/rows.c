/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const char *rows_key(char key[ROWS_KEY_BYTES], const char *name, size_t number)
{
	snprintf(key, ROWS_KEY_BYTES, "%s.%zu", name, number);
	return key;
}

const char *rows_of_source(const struct rows_source *source, const char *name, size_t number)
{
	char key[ROWS_KEY_BYTES + sizeof(source->prefix)];
	snprintf(key, sizeof(key), "%s%s.%zu", source->prefix, name, number);
	return history_info(source->history, key);
}

bool rows_shift(const struct rows_source *source, uint64_t *ns)
{
	*ns += source->shift_ns;
	return *ns <= UINT64_C(1) << ROWS_TIME_BITS;
}

int rows_end(struct rows_writer *rows)
{
	char key[ROWS_KEY_BYTES];
	int result = rows->row.failed ? -ENOMEM : 0;
	if (!result && !rows->row.size)
		return 0;
	if (!result && rows->sink)
		result = rows->sink->add(rows->sink->context, rows_key(key, rows->name, rows->nr),
					 text_string(&rows->row));
	rows->nr++;
	rows->bytes += rows->row.size;
	text_clear(&rows->row);
	return result;
}

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
