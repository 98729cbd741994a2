/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_OUTPUT_H
#define CTOP_COLLECT_OUTPUT_H

/* What the collector writes: the tables of this epoch, and its counters in struct child_status. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/store/tables.h>

struct collector;
struct module;

/* What is to be added to the counters in struct child_status; see there. */
struct round_counts {
	uint64_t lost, late, throttled;
	uint64_t
		hurried; /* stacks that are broken, and whose files or maps main did not bring in time */
	uint64_t drained, damaged, duplicates, skipped, own, foreign, comm, uid;
	uint64_t frames;
};

struct output {
	struct tables tables;
	struct tables_writer *writer;
	uint32_t epoch;
	bool by_offset;	   /* of addresses in files: without their tables nobody knows others */
	bool wants_tables; /* asked main for a fresh region */
	struct round_counts counts;
	uint64_t first_told_ns, told_ns; /* when main was signalled; 0: never */
	uint64_t told_progress;		 /* status->progress when main was signalled last */
};

/* Goes on in a fresh region (fd is closed): the epoch before, if there is one, is left. 0 or -errno. */
int output_enter_epoch(struct output *output, uint32_t epoch, int fd);
void output_release(struct output *output);

/* Whether the module has its row in this epoch. */
bool output_has_module(const struct output *output, const struct module *module);
/* The row of a module (NULL: an address outside every mapping), and of a frame in it. 0, -ENOSPC or -ENOMEM. */
int output_add_module(struct output *output, struct module *module, struct module_id *id);
int output_add_frame(struct output *output, struct module *module, uint64_t address,
		     struct frame_id *id);

/*
 * Publishes rows and samples, and gives up what they were made of: if we die, a successor
 * takes no record twice. The record in hand is not given up.
 */
void output_publish(struct collector *collector);

#endif
