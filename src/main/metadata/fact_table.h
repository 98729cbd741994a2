/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_FACT_TABLE_H
#define CTOP_METADATA_FACT_TABLE_H

/* Every fact of struct run_facts by the names that others have for it. */

#include <ctop/metadata/run_facts.h>

enum fact_kind {
	FACT_TEXT,    /* const char * */
	FACT_NUMBER,  /* uint64_t */
	FACT_NS,      /* uint64_t; JSON has seconds */
	FACT_SHARE,   /* double, 0 to 1; recorded in millionths */
	FACT_DECIMAL, /* double */
	FACT_LIST,    /* struct fact_list; recorded as KEY.0, KEY.1, ... */
	FACT_ENDS     /* a uint64_t for each enum stack_end; KEY.complete, ... */
};

struct fact_row {
	const char *key; /* in a recording; NULL: it is not there */
	const char *
		json; /* of --stats, "GROUP.NAME" those in an object of their own; NULL: it is not there */
	enum fact_kind kind;
	size_t offset;	     /* in struct run_facts */
	unsigned uses;	     /* of enum fact_use */
	bool unless_0;	     /* not recorded when it is 0 */
	const char *problem; /* for people, behind a number: what went wrong so often; else NULL */
};

/* In the order of --stats. */
extern const struct fact_row fact_rows[];
extern const size_t nr_fact_rows;
/* The same of one event: offsets are in struct session_event, keys go on with ".N". */
extern const struct fact_row event_fact_rows[];
extern const size_t nr_event_fact_rows;

enum { FACT_KEY_MAX = 64 };
/* The key of one of several: of an event's fact, or of an item of a FACT_LIST; of one end of FACT_ENDS. Returns key. */
const char *fact_key_of(char key[FACT_KEY_MAX], const char *row_key, size_t number);
const char *fact_key_of_end(char key[FACT_KEY_MAX], const char *row_key, enum stack_end end);
/* Where a row's fact is: base is of the struct that the row's offset is in. */
const void *fact_at(const struct fact_row *row, const void *base);
uint64_t fact_number(const struct fact_row *row, const void *base);
double fact_decimal(const struct fact_row *row, const void *base);

#endif
