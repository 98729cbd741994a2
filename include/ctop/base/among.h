/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_AMONG_H
#define CTOP_BASE_AMONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a number is one of those that are wanted: without any all are. */
static inline bool among(int32_t number, const int32_t *wanted, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (wanted[i] == number)
			return true;
	return nr == 0;
}

#endif
