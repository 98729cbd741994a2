/* SPDX-License-Identifier: MIT */
#ifndef CTOP_GROUPING_H
#define CTOP_GROUPING_H

/* What a row of the list of functions stands for: a closed list, as --group and the interface have it. */

#include <stddef.h>

enum grouping {
	GROUPING_INLINE,   /* a function; what was inlined is one of its own */
	GROUPING_FUNCTION, /* a function that is called, with all that was inlined into it */
	GROUPING_LINE,	   /* a line of the source of one function */
	GROUPING_ADDRESS,
	GROUPING_MODULE,
	GROUPING_THREAD,
	GROUPING_PROCESS,
	NR_GROUPINGS
};

#define GROUPING_WORDS "function inline line address module thread process"

static inline const char *grouping_name(enum grouping grouping)
{
	static const char *const names[NR_GROUPINGS] = {
		[GROUPING_INLINE] = "inline",	[GROUPING_FUNCTION] = "function",
		[GROUPING_LINE] = "line",	[GROUPING_ADDRESS] = "address",
		[GROUPING_MODULE] = "module",	[GROUPING_THREAD] = "thread",
		[GROUPING_PROCESS] = "process",
	};
	return (size_t)grouping < NR_GROUPINGS ? names[grouping] : "";
}

#endif
