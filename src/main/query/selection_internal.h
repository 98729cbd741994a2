/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_SELECTION_INTERNAL_H
#define CTOP_QUERY_SELECTION_INTERNAL_H

/*
 * A selection holds, for every counted stack of the history, how many samples the window has of it, whether it
 * passes the filter, and its *path*: the stack as functions. Paths are a tree, each stored once. A refresh finds
 * the stacks whose counts differ from before, and carries the differences from their paths towards the root.
 *
 * A *key* is what a path's step is: a function of the history, or a label. Where stacks are kept apart by process,
 * each process has a path of its own right below the root, and its stacks hang below that; all of these steps have
 * the one key KEY_PROCESS, as no frame calls them and nothing is called by its process alone.
 */

#include <ctop/base/index.h>
#include <ctop/history/rows.h>
#include <ctop/query/selection.h>

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
	struct selection_cost cost;
	uint32_t first_path; /* of next_same; 0: none */
	uint32_t hits;	     /* bits of the criteria that it meets */
};

struct stack_count {
	uint64_t samples, weight;
};

/* What paths cost of another event than the selection's. */
struct paths_beside {
	uint32_t event;
	ROWS(struct selection_amount) paths; /* those that came since have none */
};

/* What a selection knows of a counted stack: all that a count that changes has to know. */
struct stack_state {
	uint32_t path;
	uint32_t key; /* the leaf's */
	uint8_t end;
	bool of_event; /* else it counts nowhere */
	bool passes, unnamed, folded, kernel;
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
	uint32_t path; /* of SELECTION_TREE */
	uint32_t depth;
	uint32_t shape;
};

/* Names that came since, of many stacks: their paths by these, made by and by. Until all are there, the old ones are shown. */
struct following {
	bool active;
	uint64_t nr_renamed;  /* what nr_renamed will be */
	uint32_t label;	      /* node_paths[] that is looked at, */
	size_t node;	      /* and its next row */
	ROWS(uint32_t) paths; /* by the history's stacks */
};

struct criterion {
	struct selection_criterion asked; /* text is ours */
	uint32_t path;			  /* of SELECTION_SUBTREE */
};

struct selection {
	struct history *history;

	/* what was asked */
	uint32_t seconds;
	uint64_t from_ns, to_ns; /* a range instead of the last seconds; to 0: none */
	struct criterion criteria[SELECTION_CRITERIA_MAX];
	size_t nr_criteria;
	uint32_t root; /* path that stacks are shown from */
	bool by_process;
	bool new_window, new_filter, refreshed;
	size_t nr_seen; /* stacks of the history at the last refresh or selection_advance() */
	bool has_paths; /* else all stacks are at the root */
	bool has_moved; /* counts went elsewhere with what was forgotten: they are to be noted again */
	bool has_old_paths; /* of stacks that are forgotten */
	bool is_restarted;  /* what they take is given back */
	uint64_t began_ns;  /* of no sample before is it known when it came; 0: of all */
	uint64_t end_ns;
	uint64_t reset_ns;

	/* by key, by path */
	ROWS(struct key) keys;
	ROWS(struct path) paths;
	struct index path_index; /* (parent, key) */
	/* By path, since the first refresh that notes differences: to be added to it and to what is above */
	ROWS(struct stack_count) pending;
	ROWS(uint64_t) dirty; /* a bit per path: it has something pending */

	/* by the history's nodes, for each label: paths, plus 1; 0: not known. By process: of the one asked for last */
	ROWS(uint32_t) node_paths[NR_LABELS];
	uint64_t nr_renamed; /* of the history: those that paths go by */
	bool unplaced;	     /* stacks have no paths until names are followed */
	bool by_parts;
	struct following following;

	/* only where stacks are kept apart by process */
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

	struct selection_totals totals;

	/* Squares of weights, where these differ: by stack, in the window; by path and key, of those that pass. */
	uint64_t one_weight; /* of all samples; 0: they differ */
	ROWS(double) stack_squares;
	ROWS(double) path_squares;
	ROWS(double) key_squares;
	ROWS(double) before_squares; /* the reset's */

	/* Since the refresh: of those that were asked for. */
	ROWS(struct paths_beside) beside;

	ROWS(struct shown_row) shown;
	struct index shown_index; /* id */

	/* of the last selection_trend_functions(): which of its rows a path contains */
	struct function_id trend_of[SELECTION_TREND_ROWS_MAX];
	size_t trend_nr;
	uint32_t trend_root;
	ROWS(uint64_t) trend_masks;

	uint64_t bytes; /* as the history was told */
};

/* Below, whoever calls stands after whom it calls; selection.c calls all of these, and what screens ask stands above it. */

/* ---- keys: selection_keys.c ---- */

static inline uint32_t key_of_function(uint32_t function)
{
	return function + NR_LABELS;
}
/* Of a label's key: 0. */
static inline struct function_id function_of_key(uint32_t key)
{
	return (struct function_id){key < NR_LABELS ? 0 : key - NR_LABELS};
}
/* Of the label below which stacks hang that do not reach their root; KEY_ALL: it is their root. */
uint32_t selection_end_key(uint32_t end);
/* NULL: a function's. */
const char *selection_key_label(uint32_t key);
const char *selection_key_name(const struct selection *selection, uint32_t key);
int selection_compare_keys(const struct selection *selection, uint32_t a, uint32_t b);
/* Bits of the criteria that its name meets. */
/* Whether its name has the text, as SELECTION_TEXT has it. */
bool selection_key_has(const struct selection *selection, uint32_t key, const char *text);
uint32_t selection_key_hits(const struct selection *selection, uint32_t key);
/* Room for what is known of a key. 0 or -ENOMEM. */
int selection_add_keys(struct selection *selection, uint32_t key);
static inline int selection_reserve_key(struct selection *selection, uint32_t key)
{
	return key < selection->keys.nr ? 0 : selection_add_keys(selection, key);
}

/* ---- paths: selection_paths.c ---- */

/* The path one step further, made when it is not there. NO_PATH: out of memory. */
uint32_t selection_child_path(struct selection *selection, uint32_t parent, uint32_t key);
/* Always a new one, which selection_find_path() does not find. NO_PATH: out of memory. */
uint32_t selection_add_path(struct selection *selection, uint32_t parent, uint32_t key);
/* The same as selection_child_path(), but NO_PATH when it is not there. */
uint32_t selection_find_path(const struct selection *selection, uint32_t parent, uint32_t key);
/* By path: does it, as shown, contain the function? To be freed. NULL: out of memory. */
bool *selection_find_containing(const struct selection *selection, uint32_t key);
/* As struct selection_detail has them; containing: by path, whether the function is there. 0 or -ENOMEM. */
int selection_lines(const struct selection *selection, struct function_id function,
		    const bool *containing, struct selection_lines *lines,
		    struct selection_lines *callers);
/* All paths but the root are forgotten, and what was known by them; stacks have to be placed again. */
void selection_clear_paths(struct selection *selection);
/* Paths have other rows than before. */
void selection_index_paths(struct selection *selection);
/* Samples of stacks that end here. */
struct stack_count selection_path_self(const struct selection *selection, uint32_t path);
/* The id of a row one step below another: of a key, or of the last step of a path. */
uint64_t selection_child_id(uint64_t parent, uint32_t key);
uint64_t selection_path_id(const struct selection *selection, uint64_t parent, uint32_t path);
uint64_t selection_root_id(enum selection_shape shape, uint32_t key);

/* The path that a frame's caller is, as shown; NO_PATH: it has none. A process calls nothing. */
static inline uint32_t selection_caller(const struct selection *selection, uint32_t path)
{
	uint32_t parent = selection->paths.items[path].parent;
	return path == selection->root || parent == 0 ||
			       selection->paths.items[parent].key == KEY_PROCESS
		       ? NO_PATH
		       : parent;
}

/* No frame above it, as shown, has the same key. */
static inline bool selection_is_outermost(const struct selection *selection,
					  const struct path *path)
{
	if (!path->same || !selection->root)
		return !path->same;
	return selection->paths.items[path->same].depth <
	       selection->paths.items[selection->root].depth;
}

/* ---- stacks kept apart by process: selection_processes.c ---- */

/* Takes over the history's new tasks. 0 or -ENOMEM. */
int selection_follow_processes(struct selection *selection);
/* Of one of the history's tasks, or of a path: a row of processes. NO_PROCESS: they are not kept apart. */
static inline uint32_t selection_process_of_task(const struct selection *selection, uint32_t task)
{
	return selection->by_process ? selection->task_processes.items[task] : NO_PROCESS;
}
static inline uint32_t selection_process_of_path(const struct selection *selection, uint32_t path)
{
	return selection->by_process ? selection->path_processes.items[path] : NO_PROCESS;
}
/* The path that a process's stacks hang below; the root's, where they are not kept apart. NO_PATH: out of memory. */
uint32_t selection_process_path(struct selection *selection, uint32_t process);
/* Its main thread's; where that is not known, of another. */
const char *selection_process_comm(const struct selection *selection,
				   const struct process *process);

/* ---- which paths the history's stacks are: selection_stack_paths.c ---- */

/* NO_PATH: out of memory. */
uint32_t selection_stack_path(struct selection *selection, const struct counted_stack *stack);
/* The key that the path would end with. UINT32_MAX: out of memory. */
uint32_t selection_leaf_key(struct selection *selection, const struct counted_stack *stack);
/* Names have come: forgets the paths of nodes that go another way now. 0 or -ENOMEM. */
int selection_follow_nodes(struct selection *selection);
/* The same by parts of some ms, with a path for every stack. 1: there is more to do; 0; -ENOMEM. */
void selection_begin_following(struct selection *selection);
int selection_follow_part(struct selection *selection);
void selection_stop_following(struct selection *selection);

/* ---- which paths they are shown at: selection_names.c ---- */

/* Puts a stack on its path; *moved: another one than before. 0 or -ENOMEM. */
int selection_place_stack(struct selection *selection, size_t row, bool *moved);
/* Names have come, some stacks may be other functions' now: *all, where one has moved. more: other names are about to come. */
int selection_follow_names(struct selection *selection, bool more, bool *all);
/* Names taken in at once, where that goes by parts: some ms. */
enum { NAMES_A_PART = 2048 };

/* ---- costs of paths and keys: selection_costs.c ---- */

/* Room for differences at all paths. 0 or -ENOMEM. */
int selection_begin_differences(struct selection *selection);
/* Notes samples at the end of a path, or how many more they are than before; then all that was noted is carried to the root. */
void selection_note(struct selection *selection, const struct stack_state *stack, uint64_t samples,
		    uint64_t weight, bool is_difference);
void selection_carry(struct selection *selection);
void selection_carry_differences(struct selection *selection);
/* All counts of paths and keys become 0. */
void selection_clear_costs(struct selection *selection);

/* ---- processes of one name: selection_programs.c ---- */

/* What the process of a task goes by. Borrowed. */
const char *selection_program_of(const struct history *history, const struct history_task *task);

/* ---- the filter: selection_filter.c ---- */

/* selection_set_filter() of at most SELECTION_CRITERIA_MAX, where there are paths. */
int selection_take_filter(struct selection *selection, const struct selection_criterion *criteria,
			  size_t nr);
/* Looks again at which criteria keys and paths meet. */
void selection_find_hits(struct selection *selection);
/* Of the event asked for, if one is. */
bool selection_keeps_event(const struct selection *selection, uint32_t event);
/* The leaf is in the kernel. */
bool selection_is_kernel(const struct selection *selection, const struct counted_stack *stack);
bool selection_is_of_event(const struct selection *selection, const struct counted_stack *stack);
bool selection_passes(const struct selection *selection, const struct counted_stack *stack,
		      uint32_t path);
/* The same, whatever the event. */
bool selection_passes_beside(const struct selection *selection, const struct counted_stack *stack,
			     uint32_t path);
void selection_free_filter(struct selection *selection);

/* ---- the window: selection_window.c ---- */

/* Counts the window's samples into fresh, and says what it covers. 0 or -ENOMEM. */
int selection_count_window(struct selection *selection);
/* The squares of the weights that were counted, by stack: added to what is there. About: see struct second_count. */
void selection_square_window(const struct selection *selection, double *squares);

/* ---- how much samples are worth: selection_squares.c ---- */

/* Sums them for the counts of this refresh. 0 or -ENOMEM. */
int selection_sum_squares(struct selection *selection);
/* Of all the samples of a row; of a path's own. */
double selection_stack_squares(const struct selection *selection, size_t stack);
double selection_path_squares(const struct selection *selection, uint32_t path);
double selection_path_self_squares(const struct selection *selection, uint32_t path);
double selection_key_squares(const struct selection *selection, uint32_t key);
/* Those that the history has by now are not the selection's. 0 or -ENOMEM. */
int selection_keep_squares(struct selection *selection);
void selection_move_squares(struct selection *selection, const uint32_t *rows);

/* ---- other events than its own: selection_beside.c ---- */

/* Whether the samples of a stack are of an event (SELECTION_OWN_EVENT: its own), and are shown; the squares of their weights. */
bool selection_counts(const struct selection *selection, size_t stack, int32_t event);
double selection_squares_of(const struct selection *selection, size_t stack, int32_t event);
/* What paths cost, as long as no refresh comes. NULL: out of memory. */
const struct paths_beside *selection_paths_beside(struct selection *selection, uint32_t event);
static inline struct selection_amount selection_path_beside(const struct paths_beside *beside,
							    uint32_t path)
{
	return path < beside->paths.nr ? beside->paths.items[path] : (struct selection_amount){0};
}
struct selection_amount selection_path_self_beside(const struct selection *selection,
						   const struct paths_beside *beside,
						   uint32_t path);
/* What was known is of samples that are not those shown any more. */
void selection_forget_beside(struct selection *selection);

/* ---- what the history forgets: selection_forget.c ---- */

/* Lets the history forget, if it wants to, what a window that ends then can best do without. */
void selection_forget(struct selection *selection, uint64_t end_ns);
/* Lets it forget all that it can, where it can: counts go where that goes. 0 or -ENOMEM. */
int selection_forget_all(struct selection *selection);
/* Drops paths that nothing leads to any more; with them all rows that were given out. */
void selection_drop_paths(struct selection *selection);

/* ---- a refresh: selection.c ---- */

/*
 * Who asks once, asks for stacks, or for what functions and trees cost: only for the latter paths are made. 0 or -ENOMEM, and then it
 * is to be refreshed.
 */
int selection_need_paths(struct selection *selection);

/* ---- threads and processes: selection_tasks.c ---- */

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
		     enum selection_tasks_of which); /* 0 or -ENOMEM; release in any case */
void task_groups_release(struct task_groups *groups);
/*
 * Of processes, as above: joins those of one name. (*processes)[i] is the group that the history's task i had before, names[group] what the
 * new one goes by; both are the caller's. 0 or -ENOMEM.
 */
int task_groups_join_programs(struct task_groups *groups, const struct history *history,
			      uint32_t **processes, const char ***names);
/* UINT32_MAX: there is none. */
uint32_t task_groups_find(const struct task_groups *groups, const struct history *history,
			  const struct task_ids *ids);

/* Says whether a path's stacks count. */
typedef bool selection_chosen(void *context, uint32_t path);
/* selection_tasks() of the paths chosen; NULL: of all. */
int selection_tasks_where(const struct selection *selection, enum selection_tasks_of which,
			  int32_t only_pid, selection_chosen *chosen, void *context,
			  struct selection_tasks *tasks);

#endif
