/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_INFOS_READ_H
#define CTOP_APP_INFOS_READ_H

/* What a history's infos say. They may come from a file that anybody wrote: input. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/profile/history.h>

/* 0 when the key is not there or its value is no number. */
uint64_t infos_number(const struct history *history, const char *key);
/* True when the infos event.* are about this event: they describe the first. NULL stands for it. */
bool infos_describe_event(const struct history *history, const char *event);

#endif
