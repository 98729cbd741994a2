/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_PARTS_H
#define CTOP_SESSION_PARTS_H

/*
 * The children that read a perf.data file (-j), each a part: all follow what it says of processes, each unwinds the samples of its own
 * threads into tables of its own. Main merges these (parts_merge.c) into the session's, as one child would have written them: what they hold
 * depends on the samples alone, not on how many children there are nor when they were how far. Of one that dies the successor begins at
 * the start of the file; samples that were merged already are not merged again. Main only; rows are input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/index.h>
#include <ctop/files/source.h>
#include <ctop/ipc/protocol.h>
#include <ctop/session/region.h>
#include <ctop/session/worker.h>
#include <ctop/store/tables.h>

struct session;

enum { PARTS_MAX = PROTOCOL_PARTS_MAX, PART_BATCH = 1024, PART_DEPTH_MAX = 8192 };

struct part {
	struct worker worker;
	struct message_part asked;
	struct region regions[2];
	struct region *current, *next; /* as the session's; their epochs are no other part's */
	uint32_t nr_epochs;
	bool is_mapped, is_done, owes_tables;
	/* The record that the last one died with. */
	int32_t cpu_in_hand;
	uint64_t position_in_hand;

	/* Merging: the session's rows for its rows, + 1; 0: not looked up yet. NULL: none of that table is. */
	uint32_t *rows[NR_TABLES];
	uint64_t merged; /* samples of records before this one are */
	uint64_t until;	 /* no more come of records before this one, but those in the batch */
	struct sample batch[PART_BATCH];
	size_t nr, at;
};

struct parts {
	struct part *items;
	size_t nr;
	struct tables_writer *writer;
	struct region *written; /* of the session's; NULL: nothing was merged yet */
	bool has_facts, has_events;
	bool is_fresh;	 /* no sample is in it */
	bool are_merged; /* all samples of all of them, to their ends */
	uint64_t damaged;
	struct {
		struct merged_module {
			struct module_row row;
			struct module_id id;
		} * items;
		size_t nr, capacity;
	} modules;
	struct index modules_index;
	uint32_t path[PART_DEPTH_MAX];
	char strings[2][TABLES_STRING_MAX + 1];
};

/* ---- parts.c ---- */

/* How many read a file; asked 0: one for each CPU that we may use, or, of a small file, one. */
size_t parts_for(const struct source *source, size_t asked);
struct parts *parts_new(size_t nr);   /* NULL: out of memory */
void parts_free(struct parts *parts); /* NULL is fine; ends the children */
/* Starts them all. 0 or -errno. */
int parts_start(struct session *session);
/* The one that a worker is; NULL: none. */
struct part *parts_find(struct parts *parts, const struct worker *worker);
struct region *parts_region(struct parts *parts, uint32_t epoch);
bool parts_are_mapped(const struct parts *parts);
bool parts_are_done(const struct parts *parts);
/* The part needs fresh tables. 0 or -errno. */
int part_give_tables(struct part *part);
/* It has died: a successor begins at the start of the file. 0, -errno; -ENOSPC: too many of its records cannot be read. */
int part_restart(struct session *session, struct part *part, int wait_status);

/* The child's tables, or the session's, are others: no row of the one is one of the other any more. */
void part_forget_rows(struct part *part);

/* ---- parts_merge.c ---- */

/* Merges what is due, as much as the session's tables have room for. *more: there is more at once. 0 or -errno. */
int parts_merge(struct session *session, bool *more);

#endif
