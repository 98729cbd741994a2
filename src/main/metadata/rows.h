/* SPDX-License-Identifier: MIT */
#ifndef METADATA_ROWS_H
#define METADATA_ROWS_H

/* What a recording's rows of facts are made of. They are untrusted: decimal numbers with a blank behind come first. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/wait_kind.h>

/* Digits, no more than that, and the blank behind them. False: it is none; *at stays. */
bool take_number(const char **at, uint64_t most, uint64_t *number);
/* Of a process or thread: not below 0. */
bool take_id(const char **at, int32_t *id);

/* Kinds of waits have numbers, in an order that is the format's. */
extern const enum wait_kind wait_order[NR_WAIT_KINDS];
unsigned number_of_wait(unsigned kind);

#endif
