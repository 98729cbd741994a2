/* SPDX-License-Identifier: MIT */
#ifndef METADATA_ROWS_H
#define METADATA_ROWS_H

/* What a recording's rows of facts are made of. They are untrusted: decimal numbers with a blank behind come first. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/history/timeline.h>
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

/* Whose facts are read, and into what. */
struct rows_source {
	const struct history *history;
	struct timeline *timeline;
	uint32_t run;	   /* 0, or which of several that were merged */
	char prefix[24];   /* of keys: "source.2.", of several recordings; else "" */
	uint64_t shift_ns; /* of all times, modulo 2^64 */
};
/* NULL: there is none. Borrowed. */
const char *rows_of_source(const struct rows_source *source, const char *name, size_t number);
/* A moment, moved. False also where it is too late to be one. */
enum { ROWS_TIME_BITS = 62 };
bool rows_shift(const struct rows_source *source, uint64_t *ns);

/* Digits, no more than that, and the blank behind them. False: it is none; *at stays. */
bool take_number(const char **at, uint64_t most, uint64_t *number);
/* Of a process or thread: not below 0. */
bool take_id(const char **at, int32_t *id);

/* Kinds of waits have numbers, in an order that is the format's. */
extern const enum wait_kind wait_order[NR_WAIT_KINDS];
unsigned number_of_wait(unsigned kind);

#endif
