/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_SLICE_H
#define CTOP_QUERY_SLICE_H

/*
 * A slice of a profile: the samples of a window of time that pass a filter, and what screens ask of
 * them: the functions, trees in four shapes, a flame graph, threads, one function in detail, trends. Pure queries over a
 * history; knows no terminal and no clock. Main only.
 *
 *     slice_set_seconds(slice, 10);
 *     every so often:   history_import(...); slice_refresh(slice, now_ns); slice_top(slice, ...);
 *     paused:           history_import(...); slice_refresh(slice, the_same_end_ns); ...
 *
 * Between two refreshes all queries speak of the same samples. What a refresh costs grows with the
 * samples in the window and with the stacks whose counts changed, not with all that the history holds.
 *
 * A count of a function or node is "self" (it was the leaf) or "total" (it was anywhere in the stack;
 * recursion counts once). Order, shares and trends go by weight (history_event_unit()): what samples stand for, not how many they are. Lists are the caller's: all zero at first, replaced by each call that fills them
 * unless it says that it appends, items to be freed with free(). Actions return 0, -ENOMEM or what they say.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/history/history.h>

struct slice;
/*
 * A history that keeps seconds, within a limit, and has a single slice does not stay full: a refresh then lets it forget stacks. Not
 * those of the window shown, as far as they fit; the others are found as "[folded]" below those of their callers that matter.
 * The history must outlive it, and should keep seconds. NULL: out of memory. Several slices may look at one history.
 */
struct slice *slice_new(struct history *history);
void slice_free(struct slice *slice);

/* ---- which samples: takes effect at the next refresh, whether the end moves or not ---- */

enum { SLICE_SINCE_START = 0, SLICE_SECONDS_MAX = 3600 };
/*
 * The last so many seconds before the end, or everything since the start or the reset. A history that keeps no
 * seconds has only the latter, whatever is asked. -EINVAL above the maximum.
 */
int slice_set_seconds(struct slice *slice, uint32_t seconds);
/* "Since the start" begins now: what the history holds by now does not count in it any more. */
int slice_reset(struct slice *slice);
/*
 * The same, for windows, too: the history forgets the stacks and seconds that it holds and gives their memory back, if this is the
 * only slice that looks at it and it keeps seconds. Its totals stay. Rows of trees are to be asked for anew.
 */
int slice_restart(struct slice *slice);

enum slice_what {
	SLICE_TEXT, /* a function of the stack has .text in its name; case counts only if .text has capitals */
	SLICE_MODULE,  /* the leaf's module: path or file name, exact; "[unknown]": none */
	SLICE_THREAD,  /* tid .number */
	SLICE_PROCESS, /* pid .number */
	/*
	 * Event .number of history_event_name(). Samples of different events do not add up: kept, the others count
	 * nowhere, not in slice_totals.all_samples either.
	 */
	SLICE_EVENT,
	SLICE_KERNEL,	/* the leaf is in the kernel */
	SLICE_FUNCTION, /* the stack contains .function */
	SLICE_SUBTREE /* the stack begins with the path .id of the SLICE_TREE; stacks are shown from its last function on */
};
struct slice_criterion {
	enum slice_what what;
	bool drop; /* drop what it describes instead of keeping it; a dropped subtree re-roots nothing */
	const char *text;
	int32_t number;
	struct function_id function;
	uint64_t id;
};
enum { SLICE_CRITERIA_MAX = 32 };
/* All of them must hold. Copied, strings too. -E2BIG: too many; -EINVAL: one that makes no sense; -ENOENT: no such path. Then the old ones hold. */
int slice_set_filter(struct slice *slice, const struct slice_criterion *criteria, size_t nr);
/* The event that the filter keeps, as the history counts them; the first when it keeps all. */
uint32_t slice_event(const struct slice *slice);

/*
 * Takes in what the history has gained, with the window ending at end_ns (CLOCK_MONOTONIC, as samples
 * have it), names included. Windows are made of whole seconds: of the second that end_ns is in, and those before it. With
 * the same end as before the samples stay exactly those of the last refresh, however many came since: a
 * pause. Only another length of the window re-reads them then, by whole seconds.
 */
int slice_refresh(struct slice *slice, uint64_t end_ns);

/*
 * From the next refresh on SLICE_TREE has a row for each process below its root, above that process's stacks; or it
 * has none any more, as at first. The other shapes stay as they are. Ids of the one tree are none of the other: -EBUSY
 * while the filter has a SLICE_SUBTREE.
 */
int slice_set_by_process(struct slice *slice, bool by_process);

/*
 * Does some of the next refresh's work: takes in stacks that the history had at the last call, or at the refresh if that was
 * later, without their samples. Those that came since may get their names meanwhile. 0 or -ENOMEM.
 */
int slice_advance(struct slice *slice);

/* How much there is to be looked at by what looks at all: distinct ways from the root. */
size_t slice_nr_paths(const struct slice *slice);

struct slice_totals {
	uint64_t samples, weight; /* shown */
	uint64_t all_samples,
		all_weight; /* in the window, of the event, shown or not: weight / all_weight is the share shown */
	uint64_t ends[NR_STACK_ENDS]; /* of the samples shown */
	uint64_t unnamed;	      /* samples shown whose leaf has no name */
	uint64_t folded;	      /* samples shown whose stack was cut by the history's limit */
	/*
	 * What the window covers. to is the end, or later where old seconds are merged; from may lie before what was
	 * asked (merged) or after it (nothing came before, or it is forgotten). Equal: all of it is forgotten.
	 */
	uint64_t from_ns, to_ns;
	double squares; /* of the weights shown, summed: for history_effective() */
};
struct slice_totals slice_totals(const struct slice *slice);
/*
 * How far a weight may be off by chance, as a share of it: sqrt(n) / n of so many samples of one weight (history_effective() of the
 * row's weight and squares; about, in windows where weights differ). 0 of none.
 */
double slice_error(double effective);

struct slice_cost {
	uint64_t self, total; /* samples */
	uint64_t self_weight, total_weight;
};

/* Ties fall by name, then module: the same in every run. */
enum slice_order { SLICE_BY_SELF, SLICE_BY_TOTAL, SLICE_BY_NAME, SLICE_BY_MODULE };

/* ---- functions ---- */

struct slice_function {
	struct function_id id;
	struct slice_cost cost;
	double squares; /* of total_weight */
};
struct slice_functions {
	struct slice_function *items;
	size_t nr, capacity;
};
/* The first `most` (0: all) of the functions that have samples. *nr_all, if not NULL: how many these are. */
int slice_top(struct slice *slice, enum slice_order order, size_t most,
	      struct slice_functions *functions, size_t *nr_all);
/* Of one function; all zero when it has no samples. */
struct slice_cost slice_function_cost(const struct slice *slice, struct function_id function);
double slice_function_squares(const struct slice *slice, struct function_id function);

/* ---- trees ---- */

/*
 * A row is a path of functions; its id is a hash of that path, the same in every refresh and slice as long as
 * its functions keep their names. Stacks that do not reach their root hang below a row "[truncated]",
 * "[broken]" or "[switched]", which stands where their unknown callers would be.
 */
enum slice_shape {
	SLICE_TREE, /* top-down: from main to the leaves */
	SLICE_INVERTED, /* bottom-up: from each leaf to its callers. self: of stacks that have no further caller */
	SLICE_CALLERS, /* of one function, on and on: the upper half of a sandwich */
	SLICE_CALLEES /* of one function, on and on: the lower half. Both start at its outermost call in each stack */
};
struct slice_node {
	uint64_t id, parent;	     /* parent 0: the root of its shape */
	struct function_id function; /* index 0 where there is a label instead */
	const char *label; /* "[all]", "[truncated]", "[process]", ...; NULL: a function */
	const char *
		comm; /* of a process: what it goes by, as in struct slice_task. Borrowed. NULL: it is none */
	int32_t pid; /* of a process */
	struct slice_cost cost;
	double squares; /* of total_weight */
	uint32_t depth; /* of the root: 0 */
	bool has_children;
};
struct slice_nodes {
	struct slice_node *items;
	size_t nr, capacity;
};
/*
 * The root of a shape: "[all]" (with a SLICE_SUBTREE in force, that subtree's function), or the function.
 * It is there even when it has no samples. -ENOENT: no such function.
 */
int slice_root(struct slice *slice, enum slice_shape shape, struct function_id function,
	       struct slice_node *root);
/*
 * Appends the children of a row that slice_root() or this gave out, those with samples, in order. None for an id that has no
 * samples now; -ENOENT for one that was never given out, or was forgotten: roots and rows above are asked for first.
 */
int slice_children(struct slice *slice, uint64_t id, enum slice_order order,
		   struct slice_nodes *nodes);
/* A row by its id, as it is now. -ENOENT as above. */
int slice_node(struct slice *slice, uint64_t id, struct slice_node *node);

struct slice_box {
	struct slice_node node;
	uint64_t at; /* weight to the left of it */
	uint64_t
		hidden; /* weight of its children that is too little to be shown: to the right of the others */
	size_t parent; /* item; the first is its own */
};
struct slice_boxes {
	struct slice_box *items;
	size_t nr, capacity;
};
/* A flame graph from a row down, parents before children: rows of at least `least` weight and, below the first, at most `levels` levels. */
int slice_flame(struct slice *slice, uint64_t id, enum slice_order order, uint64_t least,
		uint32_t levels, struct slice_boxes *boxes);

/* ---- threads ---- */

struct slice_task {
	int32_t pid, tid;    /* tid -1: a process */
	uint64_t started_ns; /* the process: pids come again; 0: not known */
	const char *
		comm; /* the last one seen; of a process, its main thread's if that is known. Borrowed */
	uint32_t nr_threads; /* that have samples */
	uint64_t samples, weight;
	double squares;
	struct function_id top; /* where most of its weight is */
	uint64_t top_weight;
};
struct slice_tasks {
	struct slice_task *items;
	size_t nr, capacity;
};
enum slice_tasks_of { SLICE_THREADS, SLICE_PROCESSES };
/* Sorted by weight, then pid and tid. only_pid -1: of all. */
int slice_tasks(struct slice *slice, enum slice_tasks_of which, int32_t only_pid,
		struct slice_tasks *tasks);

/* ---- one function in detail ---- */

struct slice_detail {
	struct slice_cost cost;
	double squares;	     /* of cost.total_weight */
	double error;	     /* slice_error() of it */
	uint64_t incomplete; /* weight of stacks with it that are truncated, broken or switched */
	uint64_t unnamed;    /* weight of stacks with it that have a frame without a name */
	/*
	 * Each sorted by weight; roots of stacks have no caller. own is what ends in an outermost call of it: with the callees,
	 * which are called from these, it is all of cost.total_weight. cost.self_weight has what ends in calls from itself as well.
	 */
	uint64_t own;
	struct slice_nodes callers, callees;
	struct slice_tasks threads;
};
int slice_detail(struct slice *slice, struct function_id function, struct slice_detail *detail);
void slice_detail_release(struct slice_detail *detail);

/* ---- stacks, for exports ---- */

/*
 * history_each_stack() of the samples shown: samples and weight are those of the window. Stacks are whole, also where a
 * subtree is in force.
 */
int slice_each_stack(struct slice *slice,
		     int (*each)(void *context, const struct history_stack *stack), void *context);

/* A sample, as far as it is known: when is known to the second, or less where old seconds are merged. */
struct slice_sample {
	uint64_t time_ns;
	uint32_t row; /* of its stack: the same in all that have it, until the next refresh */
	struct history_stack
		stack; /* samples is 1, weight its share of what its stack has in that second */
};
/*
 * The same as single samples, in the order of time: those of a stack lie evenly in their second. What is held by no second any more comes
 * first, as taken at the window's beginning. All add up to the samples shown. The stack is borrowed until the next step.
 */
int slice_each_sample(struct slice *slice,
		      int (*each)(void *context, const struct slice_sample *sample), void *context);

/* ---- trends: weight of the samples shown, second by second ---- */

enum { SLICE_TREND_SECONDS_MAX = 60, SLICE_TREND_ROWS_MAX = 64 };
enum slice_measure { SLICE_SELF, SLICE_TOTAL };
/*
 * counts[row * seconds + i]: oldest second first, the last one is the end's, which is still going on unless the end
 * stands. Read from the seconds held, whatever the window is. -EINVAL: too many rows or seconds.
 */
int slice_trend(struct slice *slice, uint32_t seconds, uint64_t *counts); /* one row: everything */
int slice_trend_functions(struct slice *slice, enum slice_measure measure,
			  const struct function_id *functions, size_t nr, uint32_t seconds,
			  uint64_t *counts);
/* By pid and tid of each task; tid -1: of the process. */
int slice_trend_tasks(struct slice *slice, const struct slice_task *tasks, size_t nr,
		      uint32_t seconds, uint64_t *counts);

uint64_t slice_bytes(const struct slice *slice); /* heap in use; part of history_bytes() too */

#endif
