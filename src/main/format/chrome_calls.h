/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_CHROME_CALLS_H
#define CTOP_FORMAT_CHROME_CALLS_H

/* A row for each thread with the system calls that it is known to have waited in (chrome_states.c), from the history's timeline. */

#include <ctop/base/text.h>

#include "chrome_events.h"

/* 0 or -errno. */
int chrome_add_calls(const struct chrome_part *part, struct text *out);

#endif
