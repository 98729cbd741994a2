/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_RECORDERS_H
#define CTOP_FLIGHT_RECORDERS_H

/*
 * Asks a flight recorder (ctop record --last) for its last stretch, by SIGUSR2. A process that does not wait for that signal
 * would be killed by it: it is sent only where the kernel says that it is blocked, to a program that is called as a recorder is.
 */

#include <stdint.h>

#include <ctop/base/error.h>

/* The only one that this user may ask. 0; -ESRCH: there is none; -EINVAL: there are several. */
int recorder_choose(int32_t *pid, struct error *error);
/* 0; -ESRCH: it is none; -EPERM. It says itself where it writes. */
int recorder_ask(int32_t pid, struct error *error);

#endif
