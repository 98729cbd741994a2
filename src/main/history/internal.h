/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_INTERNAL_H
#define CTOP_HISTORY_INTERNAL_H

/* What the history's files use of each other. */

#include <ctop/history/rows.h>

/* ---- what indexes find rows by ---- */

static inline uint64_t hash_module(const struct history_module *module)
{
	return hash_two((uintptr_t)module->path,
			(uint64_t)module->kind << 32 | (uint32_t)module->pid);
}

/* By their one copies in the history. */
static inline uint64_t hash_function(const char *name, const char *module)
{
	return hash_two((uintptr_t)name, (uintptr_t)module);
}

static inline uint64_t hash_site(const struct history_site *site)
{
	return hash_two((uint64_t)site->outer << 32 | site->line,
			hash_two((uintptr_t)site->name, (uintptr_t)site->file) ^ site->module);
}

static inline uint64_t hash_task(const struct history_task *task)
{
	return hash_two((uint64_t)(uint32_t)task->pid << 32 | (uint32_t)task->tid,
			(uintptr_t)task->comm ^ (uint64_t)task->run << 48);
}

static inline uint64_t hash_frame(uint32_t module, uint64_t address)
{
	return hash_two(address, module);
}

static inline uint64_t hash_node(uint32_t parent, uint32_t frame, uint32_t method)
{
	return hash_two((uint64_t)parent << 32 | frame, method);
}

static inline uint64_t hash_stack(const struct counted_stack *stack)
{
	return hash_two((uint64_t)stack->node << 32 | stack->leaf,
			(uint64_t)stack->task << 24 | (uint64_t)stack->event << 16 |
				(uint64_t)stack->end << 8 | stack->reason);
}

static inline bool is_same_stack(const struct counted_stack *a, const struct counted_stack *b)
{
	return a->node == b->node && a->leaf == b->leaf && a->task == b->task &&
	       a->event == b->event && a->end == b->end && a->reason == b->reason;
}

/* Which run samples are of from now on: whether it has all labels that the filter wants, and its machine: labels.c. */
void history_follow_run(struct history *history);

/* Rows of modules, tasks and frames that always stay: none, and the one that folds. */
enum { NR_FIXED = 2 };

/* A caller's callee, which may be there already: nodes.c. *cut: there is no room for it, *to is the parent. 0, -EINVAL or -ENOMEM. */
int history_add_node(struct history *history, uint32_t parent, uint32_t frame, uint32_t method,
		     uint32_t *to, bool *cut);
/* What its thread waits for moves from the innermost place to the outermost, or away: what it stood on is the leaf then. As history_add_node(). */
int history_move_state(struct history *history, struct counted_stack *stack);
/* Frames and nodes may come that are there already: merging.c. 0 or -ENOMEM. */
int history_begin_merging(struct history *history);
/* There are none that could come again. */
void history_stop_merging(struct history *history);
/* Modules, tasks, frames and nodes have other rows than before. */
void history_index_rows(struct history *history);

/* In a translation: a row that makes no sense, not to be looked at again. */
static const uint32_t BAD_ROW = UINT32_MAX;
/* A node's: the history was full, the node stands for an ancestor. */
static const uint32_t CUT = UINT32_C(1) << 31;

/* What counted_stack has room for. */
enum { HISTORY_EVENTS_MAX = 256 };

/* No sum of weights is larger, whatever is added up, so that none overflows. */
static const uint64_t WEIGHTS_MOST = INT64_MAX;

/* ---- strings, facts, names: history.c, processes.c ---- */

/* The string's one copy, cut at HISTORY_STRING_MAX bytes; NULL: out of memory. */
const char *history_intern(struct history *history, const char *string);
const char *history_find_string(struct history *history, const char *string); /* NULL: not known */

/* Takes over the facts that the epoch has gained. 0 or -ENOMEM. */
int history_read_metadata(struct history *history);
/* Takes over what the epoch's processes go by. 0 or -ENOMEM. */
int history_read_processes(struct history *history);

/* ---- lines: sites.c ---- */

/* Takes over one frame's lines, of its row in the epoch's tables. 1: done; 0: not yet; -ENOMEM. */
int history_take_lines(struct history *history, uint32_t id);
/* Sites whose frames have gone are forgotten; modules have moved, by row. */
void history_move_sites(struct history *history, const uint32_t *modules);
/* The function of what was inlined at a site. UINT32_MAX: out of memory. */
uint32_t history_function_at(struct history *history, uint32_t site);

/* ---- what frames are called after: grouping.c ---- */

/* Steps as the history groups them. How many; 0: out of memory. */
size_t history_group_steps(struct history *history, uint32_t frame, size_t nr,
			   struct history_step steps[HISTORY_STEPS_MAX]);

/* ---- code that was kept: kept_code.c ---- */

/* Takes over what the epoch has of modules that are known. 0 or -ENOMEM. */
int history_take_code(struct history *history);
void history_begin_code(struct history *history); /* another epoch's */
/* Modules have moved, by row; what those that went had is forgotten. */
void history_move_code(struct history *history, const uint32_t *modules);

/* ---- functions: names.c ---- */

/* The row of a function, found or added. UINT32_MAX: out of memory. */
uint32_t history_function_row(struct history *history, const struct function *function);

/* ---- modules: modules.c ---- */

/* The row that a table's module is one with, or UINT32_MAX. What is new of it is learnt. */
uint32_t history_find_module(struct history *history, const struct history_module *module);
/* Adds a row, and tells it from others of its path. 0 or -ENOMEM. */
int history_add_module(struct history *history, const struct history_module *module, uint32_t *row);
/* Takes over where the names of the epoch's modules come from: of one, which has that row; of all. */
void history_take_module_names(struct history *history, uint32_t id, uint32_t row);
void history_update_module_names(struct history *history);

/* ---- a sample of a counted stack ---- */

/* What the filter says of it, its time aside. */
bool history_passes(const struct history *history, const struct sample *sample,
		    const struct counted_stack *stack);
/* Leaves of it what lies in the filter's range of time: a wait is all the time up to its sample's, anything else a moment. False: nothing. */
bool history_cut_to_time(const struct history *history, uint32_t event, struct sample *sample);
/* Keeps it. 0 or -ENOMEM. */
int history_keep_sample(struct history *history, const struct sample *sample, uint32_t stack,
			uint8_t event);
static inline bool history_follows(const struct history *history)
{
	return history->samples.each != NULL;
}

/* Weights of an event differ from now on. 0 or -ENOMEM. */
int history_begin_squares(struct history *history);
/* Adds a sample's. 0 or -ENOMEM. */
int history_add_square(struct history *history, uint32_t stack, uint64_t weight);
/* What a stack had goes to another row, not behind it; is_new: nothing is there yet. */
void history_move_squares(struct history *history, size_t from, size_t to, bool is_new);

/* Counts it in its second. 0 or -ENOMEM. */
int history_count_second(struct history *history, uint64_t time_ns, uint32_t stack,
			 uint64_t weight);
void history_free_seconds(struct history *history);
/* Stacks of seconds have gone elsewhere. Or there are none any more. */
void history_move_seconds(struct history *history, const uint32_t *stacks);
void history_drop_seconds(struct history *history);

/* What the timeline and the moments (moments.c) have of a sample that counts. 0 or -ENOMEM. */
int history_note_moment(struct history *history, const struct sample *sample, uint32_t stack);
void history_move_moments(struct history *history, const uint32_t *stacks);
void history_drop_moments(struct history *history);
/* What the timeline may take of the history's limit, and single samples. */
enum { TIMELINE_SHARE = 8, MOMENTS_SHARE = 16 };
static inline uint64_t history_moments_bound(const struct history *history)
{
	return history->timeline ? history->limit_bytes / TIMELINE_SHARE +
					   history->limit_bytes / MOMENTS_SHARE
				 : 0;
}

static inline uint32_t history_stack_depth(const struct history *history,
					   const struct counted_stack *stack)
{
	return (uint32_t)history->nodes.items[stack->node].depth + (stack->leaf ? 1 : 0);
}
/* How many of its frames have no name, unless frames have changed. */
static inline uint32_t history_stack_unnamed(const struct history *history,
					     const struct counted_stack *stack)
{
	bool leaf = stack->leaf && !history->frames.items[stack->leaf].name;
	return (uint32_t)history->nodes.items[stack->node].unnamed + (leaf ? 1 : 0);
}

/* ---- the limit: room.c ---- */

uint64_t history_seconds_bytes(const struct history *history);
/* What the seconds may take of the history's limit; 0: none are kept. */
uint64_t history_seconds_bound(const struct history *history);
/* All but the seconds, which have a bound of their own. */
uint64_t history_rows_bytes(const struct history *history);
/* Whether rows that take so many bytes may grow to twice as many. */
bool history_has_room(struct history *history, uint64_t bytes);
/* One more row. */
#define history_has_room_for(history, rows)                                                        \
	((history_can_forget(history) && (rows)->nr < (rows)->capacity) ||                         \
	 history_has_room((history), (rows)->capacity * sizeof(*(rows)->items)))

#endif
