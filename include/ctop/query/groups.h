/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_GROUPS_H
#define CTOP_QUERY_GROUPS_H

/*
 * What frames have in common: a function, a line, an address or a module. Numbers groups as they are met, and names them, for
 * reports, exports and screens. A group borrows from its history, and is of it as it is now: names that come later make others.
 */

#include <ctop/base/index.h>
#include <ctop/base/text.h>
#include <ctop/grouping.h>
#include <ctop/query/selection.h>

struct group {
	struct function_id function; /* of GROUPING_MODULE: of the frame that was met first */
	const char *module;	     /* as history_function_module() */
	const char *file;	     /* of GROUPING_LINE; "": not known */
	uint32_t line;		     /* 0: not known */
	uint64_t address;	     /* of GROUPING_ADDRESS: in the module */
	uint32_t module_row;	     /* the same, for history_module() */
	/* Of GROUPING_THREAD and GROUPING_PROCESS; comm NULL: it is neither. */
	int32_t pid, tid; /* tid -1: a process */
	uint64_t started_ns;
	const char *comm;
};

/* All zero but for `by`, which is none of tasks. */
struct groups {
	enum grouping by;
	struct {
		struct group *items;
		size_t nr, capacity;
	} all;
	struct index index;
};
void groups_release(struct groups *groups);
/* Whether a frame is of a group by itself: what was inlined belongs to the function and address that it was put into. */
static inline bool groups_have(const struct groups *groups, const struct history_frame *frame)
{
	return !frame->inlined ||
	       (groups->by != GROUPING_FUNCTION && groups->by != GROUPING_ADDRESS);
}
/* Two that selection_groups() or groups_find() gave out for one grouping are of the same. */
bool group_is_same(const struct group *a, const struct group *b, enum grouping by);
uint64_t group_hash(const struct group *group, enum grouping by);
/* The number of the group that a frame belongs to. UINT32_MAX: out of memory. */
uint32_t groups_find(struct groups *groups, const struct history *history,
		     const struct history_frame *frame);

/* What is known beside the function: "spin.c:31" or "0x401136", safe to show; nothing of others. */
void group_add_place(struct text *text, const struct group *group);

/* ---- what they cost ---- */

struct selection_group {
	struct group group;
	struct selection_cost cost; /* of tasks: both are all */
	double squares;		    /* of total_weight */
	double self_squares;
};
struct selection_groups {
	struct selection_group *items;
	size_t nr, capacity;
};
/*
 * Those that have samples, sorted by self, then total, then name. Self costs of all add up to the samples shown. Of an event, which
 * others of the filter's criteria say what is shown of; squares of another event than the selection's own are about, in windows.
 * 0 or -ENOMEM.
 */
int selection_groups(struct selection *selection, enum grouping by, int32_t event,
		     struct selection_groups *rows);
/* Self costs alone, of those that have some: callers are not looked at, which is most of the work. */
int selection_group_selfs(struct selection *selection, enum grouping by, int32_t event,
			  struct selection_groups *rows);

#endif
