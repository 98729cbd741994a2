/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_SLICE_INTERNAL_H
#define CTOP_QUERY_SLICE_INTERNAL_H

/*
 * A slice holds, for every counted stack of the history, how many samples the window has of it, whether it
 * passes the filter, and its *path*: the stack as functions. Paths are a tree, each stored once. A refresh finds
 * the stacks whose counts differ from before, and carries the differences from their paths towards the root.
 *
 * A *key* is what a path's step is: a function of the history, or a label. Where stacks are told apart by process,
 * each process has a path of its own right below the root, and its stacks hang below that; all of these steps have
 * the one key KEY_PROCESS, as no frame calls them and nothing is called by its process alone.
 */

#include <ctop/base/index.h>
#include <ctop/history/history_internal.h>
#include <ctop/query/slice.h>

/* Keys: 0 the root, then the labels, then the history's functions. */
enum { KEY_ALL, KEY_SWITCHED, KEY_TRUNCATED, KEY_BROKEN, KEY_PROCESS, NR_LABELS };

static const uint32_t NO_PATH = UINT32_MAX, NO_PROCESS = UINT32_MAX;

struct path {
	uint32_t parent, key; /* row 0: the root, its own parent */
	uint32_t same;	      /* the nearest path above of the same key; 0: none */
	uint16_t depth;
	bool unnamed; /* it, or one above, has no name */
	uint32_t first_child, next_sibling;
	uint32_t next_same; /* all paths of the same key; 0: the end */
	uint32_t hits;	    /* bits of the criteria that it, or one above, meets */
	uint64_t total, weight;
};

struct key {
	struct slice_cost cost;
	uint32_t first_path; /* of next_same; 0: none */
	uint32_t hits;	     /* bits of the criteria that it meets */
};

struct stack_count {
	uint64_t samples, weight;
};

/* What a slice knows of a counted stack: all that a count that changes has to know. */
struct stack_state {
	uint32_t path;
	uint32_t key; /* the leaf's */
	uint8_t end;
	bool of_event; /* else it counts nowhere */
	bool passes, unnamed, folded;
};

struct settled_bucket {
	uint64_t second, serial, samples;
};

struct process {
	int32_t pid;
	uint64_t started_ns;
	const char *comm; /* the last one of any of its threads */
	uint32_t path;	  /* 0: not made yet */
};

/* A row of a tree that was given out. */
struct shown_row {
	uint64_t id;
	uint32_t parent; /* row; its own: a root */
	uint32_t key;
	uint32_t path; /* of SLICE_TREE */
	uint32_t depth;
	uint32_t shape;
};

struct criterion {
	struct slice_criterion asked; /* text is ours */
	uint32_t path;		      /* of SLICE_SUBTREE */
};

struct slice {
	struct history *history;

	/* what was asked */
	uint32_t seconds;
	struct criterion criteria[SLICE_CRITERIA_MAX];
	size_t nr_criteria;
	uint32_t root; /* path that stacks are shown from */
	bool by_process;
	bool new_window, new_filter, refreshed;
	size_t nr_seen; /* stacks of the history at the last refresh or slice_advance() */
	bool has_moved; /* counts went elsewhere with what was forgotten: they are to be noted anew */
	bool has_old_paths; /* of stacks that are forgotten */
	bool is_restarted;  /* what they take is given back */
	uint64_t began_ns;  /* of no sample before is it known when it came; 0: of all */
	uint64_t end_ns;
	uint64_t reset_ns;

	/* by key, by path */
	ROWS(struct key) keys;
	ROWS(struct path) paths;
	struct index path_index;	  /* (parent, key) */
	ROWS(struct stack_count) pending; /* by path: to be added to it and to what is above */
	ROWS(uint64_t) dirty;		  /* a bit a path: it has something pending */

	/* by the history's nodes, for each label: paths, plus 1; 0: not known. By process: of the one asked for last */
	ROWS(uint32_t) node_paths[NR_LABELS];
	uint64_t nr_renamed;

	/* only where stacks are told apart by process */
	ROWS(struct process) processes;
	struct index process_index;    /* pid */
	ROWS(uint32_t) task_processes; /* by the history's tasks */
	ROWS(uint32_t) path_processes; /* by path; of the root: NO_PROCESS */

	/* by the history's stacks */
	ROWS(struct stack_state) stacks;
	ROWS(struct stack_count) counts; /* in the window, whatever the filter */
	ROWS(struct stack_count) fresh;	 /* scratch */
	ROWS(struct stack_count) before; /* the reset */
	/* Of a window: counts of its buckets, but for the newest, and which these were. */
	ROWS(struct stack_count) settled;
	ROWS(struct settled_bucket) settled_buckets;

	struct slice_totals totals;

	/* Squares of weights, where these differ: by stack, in the window; by path and key, of those that pass. */
	uint64_t one_weight; /* of all samples; 0: they differ */
	ROWS(double) stack_squares;
	ROWS(double) path_squares;
	ROWS(double) key_squares;
	ROWS(double) before_squares; /* the reset's */

	ROWS(struct shown_row) shown;
	struct index shown_index; /* id */

	/* of the last slice_trend_functions(): which of its rows a path contains */
	struct function_id trend_of[SLICE_TREND_ROWS_MAX];
	size_t trend_nr;
	uint32_t trend_root;
	ROWS(uint64_t) trend_masks;

	uint64_t bytes; /* as the history was told */
};

/* ---- paths: slice_paths.c ---- */

/* The path one step further, made when it is not there. NO_PATH: out of memory. */
uint32_t slice_child_path(struct slice *slice, uint32_t parent, uint32_t key);
/* Always a new one, which slice_find_path() does not find. NO_PATH: out of memory. */
uint32_t slice_add_path(struct slice *slice, uint32_t parent, uint32_t key);
/* The same as slice_child_path(), but NO_PATH when it is not there. */
uint32_t slice_find_path(const struct slice *slice, uint32_t parent, uint32_t key);
/* Room for what is known of a key. 0 or -ENOMEM. */
int slice_reserve_key(struct slice *slice, uint32_t key);
/* NO_PATH: out of memory. */
uint32_t slice_stack_path(struct slice *slice, const struct counted_stack *stack);
/* Names have come: forgets the paths of nodes that go another way now. */
int slice_follow_names(struct slice *slice);
/* Notes a difference at the end of a path, and carries all that were noted to the root. */
void slice_note(struct slice *slice, const struct stack_state *stack, uint64_t samples,
		uint64_t weight);
void slice_carry(struct slice *slice);
/* All counts of paths and keys become 0. */
void slice_clear_costs(struct slice *slice);
/* All paths but the root are forgotten, and what was known by them; stacks have to be placed anew. */
void slice_clear_paths(struct slice *slice);
/* Samples of stacks that end here. */
struct stack_count slice_path_self(const struct slice *slice, uint32_t path);

static inline uint32_t key_of_function(uint32_t function)
{
	return function + NR_LABELS;
}
/* Of a label's key: 0. */
static inline struct function_id function_of_key(uint32_t key)
{
	return (struct function_id){key < NR_LABELS ? 0 : key - NR_LABELS};
}
/* NULL: a function's. */
const char *slice_key_label(uint32_t key);
const char *slice_key_name(const struct slice *slice, uint32_t key);
int slice_compare_keys(const struct slice *slice, uint32_t a, uint32_t b);

/* The path that a frame's caller is, as shown; NO_PATH: it has none. A process calls nothing. */
static inline uint32_t slice_caller(const struct slice *slice, uint32_t path)
{
	uint32_t parent = slice->paths.items[path].parent;
	return path == slice->root || parent == 0 || slice->paths.items[parent].key == KEY_PROCESS
		       ? NO_PATH
		       : parent;
}

/* No frame above it, as shown, has the same key. */
static inline bool slice_is_outermost(const struct slice *slice, const struct path *path)
{
	if (!path->same || !slice->root)
		return !path->same;
	return slice->paths.items[path->same].depth < slice->paths.items[slice->root].depth;
}

/* ---- stacks told apart by process: slice_processes.c ---- */

/* Takes over the history's new tasks. 0 or -ENOMEM. */
int slice_follow_processes(struct slice *slice);
/* Of one of the history's tasks, or of a path: a row of processes. NO_PROCESS: they are not told apart. */
static inline uint32_t slice_process_of_task(const struct slice *slice, uint32_t task)
{
	return slice->by_process ? slice->task_processes.items[task] : NO_PROCESS;
}
static inline uint32_t slice_process_of_path(const struct slice *slice, uint32_t path)
{
	return slice->by_process ? slice->path_processes.items[path] : NO_PROCESS;
}
/* The path that a process's stacks hang below; the root's, where they are not told apart. NO_PATH: out of memory. */
uint32_t slice_process_path(struct slice *slice, uint32_t process);
/* Its main thread's; where that is not known, of another. */
const char *slice_process_comm(const struct slice *slice, const struct process *process);
void slice_free_processes(struct slice *slice);
uint64_t slice_processes_bytes(const struct slice *slice);

/* Paths have other rows than before. */
void slice_index_paths(struct slice *slice);

/* ---- how much samples are worth: slice_squares.c ---- */

/* Sums them for the counts of this refresh. 0 or -ENOMEM. */
int slice_sum_squares(struct slice *slice);
/* Of all the samples of a row; of a path's own. */
double slice_stack_squares(const struct slice *slice, size_t stack);
double slice_path_squares(const struct slice *slice, uint32_t path);
double slice_path_self_squares(const struct slice *slice, uint32_t path);
double slice_key_squares(const struct slice *slice, uint32_t key);
/* Those that the history has by now are not the slice's. 0 or -ENOMEM. */
int slice_keep_squares(struct slice *slice);
void slice_move_squares(struct slice *slice, const uint32_t *rows);
void slice_free_squares(struct slice *slice);
uint64_t slice_squares_bytes(const struct slice *slice);

/* ---- what the history forgets: slice_forget.c ---- */

/* Lets the history forget, if it wants to, what a window that ends then can best do without. */
void slice_forget(struct slice *slice, uint64_t end_ns);
/* Drops paths that nothing leads to any more; with them all rows that were given out. */
void slice_drop_paths(struct slice *slice);

/* ---- the filter: slice_filter.c ---- */

uint32_t slice_key_hits(const struct slice *slice, uint32_t key);
/* Looks again at which criteria keys and paths meet. */
void slice_find_hits(struct slice *slice);
/* Of the event asked for, if one is. */
bool slice_keeps_event(const struct slice *slice, uint32_t event);
bool slice_is_of_event(const struct slice *slice, const struct counted_stack *stack);
bool slice_passes(const struct slice *slice, const struct counted_stack *stack, uint32_t path);
void slice_free_filter(struct slice *slice);

/* ---- the window: slice_window.c ---- */

/* Counts the window's samples into fresh, and says what it covers. 0 or -ENOMEM. */
int slice_count_window(struct slice *slice);
/* The squares of the weights that were counted, by stack: added to what is there. About: see struct second_count. */
void slice_square_window(const struct slice *slice, double *squares);

/* ---- trees: slice_tree.c ---- */

/* The id of a row one step below another: of a key, or of the last step of a path. */
uint64_t slice_child_id(uint64_t parent, uint32_t key);
uint64_t slice_path_id(const struct slice *slice, uint64_t parent, uint32_t path);
uint64_t slice_root_id(enum slice_shape shape, uint32_t key);

/* ---- threads and processes: slice_tasks.c ---- */

struct task_ids {
	int32_t pid, tid; /* tid -1: the process */
	uint64_t started_ns;
};
/* The history's tasks as threads, or as processes. */
struct task_groups {
	uint32_t *of_task; /* group, by the history's tasks */
	ROWS(struct task_ids) ids;
	struct index index;
};
int task_groups_init(struct task_groups *groups, const struct history *history,
		     enum slice_tasks_of which); /* 0 or -ENOMEM; release in any case */
void task_groups_release(struct task_groups *groups);
/* UINT32_MAX: there is none. */
uint32_t task_groups_find(const struct task_groups *groups, const struct history *history,
			  const struct task_ids *ids);

/* Says whether a path's stacks count. */
typedef bool slice_chosen(void *context, uint32_t path);
/* slice_tasks() of the paths chosen; NULL: of all. */
int slice_tasks_where(const struct slice *slice, enum slice_tasks_of which, int32_t only_pid,
		      slice_chosen *chosen, void *context, struct slice_tasks *tasks);

#endif
