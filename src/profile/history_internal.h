/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PROFILE_HISTORY_INTERNAL_H
#define CTOP_PROFILE_HISTORY_INTERNAL_H

/*
 * The history's rows. Its ids are indexes into these arrays; row 0 of each is
 * "none". Shared by history.c (filling), names.c, top.c, tree.c, stacks.c.
 */

#include <ctop/base/index.h>
#include <ctop/profile/history.h>

/* Deeper stacks in a region are damage: the collector stops far earlier. */
enum { HISTORY_DEPTH_MAX = 4096 };

struct history_module {
	const char *path;
	uint32_t kind;
	int32_t pid; /* of code without a file: addresses mean something only there */
};

struct history_task {
	int32_t pid, tid;
	const char *comm;
};

/* One (module, address), and what is known of its name by now. */
struct named_frame {
	uint64_t address;
	uint32_t module;
	uint32_t offset;
	uint32_t function; /* 0: to be found out */
	const char *name;  /* NULL: none, or none yet */
	const char *module_name; /* instead of the module's path; NULL */
};

struct history_node {
	uint32_t parent, frame;
	uint32_t method;
	uint32_t depth;
};

struct counted_stack {
	uint32_t task, node, leaf;
	uint8_t event, end, reason;
	uint64_t samples, weight;
};

struct function {
	const char *name, *module;
	bool kernel, named;
};

struct event_name {
	const char *name, *asked;
};

#define ROWS(type)                                                                                 \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t nr, capacity;                                                               \
	}

/* History ids by the ids of the epoch's tables, plus 1; 0: not met yet. */
typedef ROWS(uint32_t) translation;

struct history_info; /* a key and its value */

struct history {
	struct history_filter filter;

	ROWS(char *) strings; /* each on the heap: pointers stay */
	ROWS(struct history_module) modules;
	ROWS(struct history_task) tasks;
	ROWS(struct named_frame) frames;
	ROWS(struct history_node) nodes;
	ROWS(struct counted_stack) stacks;
	ROWS(struct function) functions;
	ROWS(struct event_name) events;
	struct index strings_index, modules_index, tasks_index, frames_index, nodes_index,
		stacks_index, functions_index;
	struct history_info *infos;
	uint64_t string_bytes;

	/* the epoch */
	struct tables_reader reader;
	const struct symbols *symbols;
	bool has_epoch;
	uint64_t symbols_version;
	uint32_t nr_infos_read;
	translation of_module, of_task, of_frame, of_node, of_event;
	ROWS(uint32_t) unnamed; /* frames of the epoch that had no name yet */

	struct history_totals totals;
	uint64_t origin_ns; /* time of the first sample of all */
};

/* The string's one copy; NULL: out of memory. Reads at most size bytes. */
const char *history_intern(struct history *history, const char *bytes, size_t size);

/* The frame's function, found by its name. UINT32_MAX: out of memory. */
uint32_t history_function_of(struct history *history, uint32_t frame);

/* The frames of a stack, root first, leaf included: room for HISTORY_DEPTH_MAX + 1. Returns their number. */
size_t history_stack_frames(const struct history *history, const struct counted_stack *stack,
			    uint32_t *frames, uint32_t *methods);

#endif
