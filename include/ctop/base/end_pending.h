/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_END_PENDING_H
#define CTOP_BASE_END_PENDING_H

#include <stdbool.h>

/*
 * True when the process was told to end (SIGINT, SIGTERM, SIGHUP) and has these signals blocked, as main has, and has not
 * taken them yet: for what takes long before the loop that takes them.
 */
bool end_pending(void);

#endif
