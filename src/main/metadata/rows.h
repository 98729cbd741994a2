/* SPDX-License-Identifier: MIT */
#ifndef METADATA_ROWS_H
#define METADATA_ROWS_H

/* What a recording's rows of facts are made of. They are untrusted: decimal numbers with a blank behind come first. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/metadata/metadata.h>
#include <ctop/wait_kind.h>

/* NAME.0, NAME.1, ...: the strings that one list of facts is cut into. */
enum { ROWS_KEY_BYTES = 48 };
const char *rows_key(char key[ROWS_KEY_BYTES], const char *name, size_t number);

struct rows_writer {
	const char *name;
	const struct metadata_sink *sink; /* NULL: they are only measured */
	struct text row;
	size_t nr, bytes; /* of those that have ended */
};
/* Hands the row over, if anything is in it, and clears it. 0 or -errno. */
int rows_end(struct rows_writer *rows);

/* Digits, no more than that, and the blank behind them. False: it is none; *at stays. */
bool take_number(const char **at, uint64_t most, uint64_t *number);
/* Of a process or thread: not below 0. */
bool take_id(const char **at, int32_t *id);

/* Kinds of waits have numbers, in an order that is the format's. */
extern const enum wait_kind wait_order[NR_WAIT_KINDS];
unsigned number_of_wait(unsigned kind);

#endif
