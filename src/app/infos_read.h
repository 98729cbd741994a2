/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_INFOS_READ_H
#define CTOP_APP_INFOS_READ_H

/* The numbers among a history's infos. They may come from a file that anybody wrote: input. */

#include <stdint.h>

#include <ctop/profile/history.h>

/* 0 when the key is not there or its value is no number. */
uint64_t infos_number(const struct history *history, const char *key);

#endif
