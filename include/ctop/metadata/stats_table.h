/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_STATS_TABLE_H
#define CTOP_METADATA_STATS_TABLE_H

/*
 * The counts of a session by the names that a recording and --stats have for them. What is counted anew gets
 * a field of struct session_stats and a row here.
 */

#include <ctop/session/session.h>

enum stat_use {
	STAT_RECORDED = 1, /* who reads a recording cannot count it: it is taken from there */
	STAT_COST =
		2, /* the same, of what recording cost; of a perf.data file it is what reading does */
	STAT_OF_FILE = 4, /* known of a perf.data file once it was read */
};

struct stat_row {
	const char *name;    /* "dropped.own": in a recording behind "stats." */
	const char *dropped; /* the reason alone: of samples that were dropped; else NULL */
	size_t offset;	     /* of a uint64_t in struct session_stats */
	unsigned uses;	     /* of enum stat_use */
};

extern const struct stat_row stat_rows[];
extern const size_t nr_stat_rows;

uint64_t stat_value(const struct stat_row *row, const struct session_stats *stats);
void stat_set(const struct stat_row *row, struct session_stats *stats, uint64_t value);
/* Its key among a recording's metadata. */
enum { STAT_KEY_MAX = 64 };
void stat_key(const struct stat_row *row, char key[STAT_KEY_MAX]);

#endif
