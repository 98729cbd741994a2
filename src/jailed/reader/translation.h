/* SPDX-License-Identifier: MIT */
#ifndef CTOP_READER_TRANSLATION_H
#define CTOP_READER_TRANSLATION_H

/*
 * What the ids of a recording's epoch became in the tables that a reader fills. Rows that were lost
 * with a damaged chunk are replaced here, so that no two lost ones, and no lost one and another,
 * are taken for the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/store/tables.h>

/* An id of the file whose row is not there. */
#define ID_LOST UINT32_MAX
/* Beside the id of a frame or node: something of it, or above it, was lost. No table has as many rows. */
#define ID_INCOMPLETE (UINT32_C(1) << 31)

struct translation {
	struct tables_writer *writer; /* borrowed */
	uint32_t epoch;
	/* Of frames of which no more than the name is known; 0: not there yet. */
	struct module_id lost_module;
	struct {
		uint32_t *items; /* by the file's id */
		size_t nr, capacity;
	} ids[NR_TABLES];
};

void translation_begin_epoch(struct translation *translation, struct tables_writer *writer,
			     uint32_t epoch);
void translation_release(struct translation *translation); /* fine on an all-zero one */

/* 0, -EBADMSG: no table holds as many, or -ENOMEM. */
int translation_set(struct translation *translation, enum table_kind kind, uint64_t id,
		    uint32_t to);
/* As it was set; 0 for 0; ID_LOST when it was not. */
uint32_t translation_id(const struct translation *translation, enum table_kind kind, uint64_t id);

/*
 * Each finds a row, or adds one in the place of a lost one. 0, or -errno of the tables.
 * *incomplete is set when something was lost, else left alone.
 */
int translation_frame(struct translation *translation, uint64_t number, struct frame_id *frame,
		      bool *incomplete);
int translation_task(struct translation *translation, uint64_t number, struct task_id *task,
		     bool *incomplete);
int translation_event(struct translation *translation, uint64_t number, uint8_t *event);
/* Strings by their numbers: a thread's comm; a name of the event of that number. */
int translation_comm(struct translation *translation, uint64_t string, struct string_id *comm);
int translation_event_name(struct translation *translation, uint64_t string, uint64_t event,
			   struct string_id *name);

#endif
