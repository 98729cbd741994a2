/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_CHROME_CALLS_H
#define CTOP_FORMAT_CHROME_CALLS_H

/* A row for each thread with the system calls that it is known to have waited in (chrome_states.c), from the history's timeline. */

#include <ctop/base/text.h>
#include <ctop/format/formats.h>
#include <ctop/history/timeline.h>

/* 0 or -errno. */
int chrome_add_calls(const struct export_request *request, const struct timeline *timeline,
		     struct text *out);

#endif
