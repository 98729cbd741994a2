/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_SELECTION_H
#define CTOP_QUERY_SELECTION_H

/*
 * A selection of a profile: the samples of a window of time that pass a filter, and what screens ask of
 * them: the functions, trees in four shapes, a flame graph, threads, one function in detail, trends. Pure queries over a
 * history; knows no terminal and no clock. Main only.
 *
 *     selection_set_seconds(selection, 10);
 *     every so often:   history_import(...); selection_refresh(selection, now_ns); selection_top(selection, ...);
 *     paused:           history_import(...); selection_refresh(selection, the_same_end_ns); ...
 *
 * Between two refreshes all queries speak of the same samples. What a refresh costs grows with the
 * samples in the window and with the stacks whose counts changed, not with all that the history holds.
 *
 * A count of a function or node is "self" (it was the leaf) or "total" (it was anywhere in the stack; recursion counts once). Order,
 * shares and trends go by weight (history_event_unit()): what samples stand for, not how many they are.
 *
 * Lists are the caller's: all zero at first, replaced by each call unless it says that it appends; items are freed with free().
 * Actions return 0, -ENOMEM or what they say.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/history/history.h>

struct selection;
/*
 * A history that keeps seconds, within a limit, and has a single selection does not stay full: a refresh then lets it forget stacks. Not
 * those of the window shown, as far as they fit; the others are found as "[folded]" below those of their callers that matter.
 * The history must outlive it, and should keep seconds. NULL: out of memory. Several selections may look at one history.
 */
struct selection *selection_new(struct history *history);
/*
 * Of everything that a history holds by now, for those who ask once and not again and again. What functions cost is found out
 * when that is asked for: stacks and samples cost no more than the history. NULL: out of memory.
 */
struct selection *selection_of_all(struct history *history);
void selection_free(struct selection *selection);

/* ---- which samples: takes effect at the next refresh, whether the end moves or not ---- */

enum { SELECTION_SINCE_START = 0, SELECTION_SECONDS_MAX = 3600 };
/*
 * The last so many seconds before the end, or everything since the start or the reset. A history that keeps no
 * seconds has only the latter, whatever is asked. -EINVAL above the maximum.
 */
int selection_set_seconds(struct selection *selection, uint32_t seconds);
/*
 * From one moment up to another instead, whatever the end; to 0: no longer. As far as a history that keeps a timeline has single samples it is exact, else by
 * whole seconds: selection_totals() says from when to when.
 */
void selection_set_range(struct selection *selection, uint64_t from_ns, uint64_t to_ns);
/* "Since the start" begins now: what the history holds by now does not count in it any more. */
int selection_reset(struct selection *selection);
/*
 * The same, for windows, too: the history forgets the stacks and seconds that it holds and gives their memory back, if this is the
 * only selection that looks at it and it keeps seconds. Its totals stay. Rows of trees are to be asked for again.
 */
int selection_restart(struct selection *selection);

enum selection_what {
	SELECTION_TEXT, /* a function of the stack has .text in its name; case counts only if .text has capitals */
	SELECTION_MODULE,  /* the leaf's module: path or file name, exact; "[unknown]": none */
	SELECTION_THREAD,  /* tid .number */
	SELECTION_PROCESS, /* pid .number */
	/*
	 * Event .number of history_event_name(). Samples of different events do not add up: kept, the others count
	 * nowhere, not in selection_totals.all_samples either. With .waits the event of waits counts, too, which does add up
	 * with one of time.
	 */
	SELECTION_EVENT,
	SELECTION_KERNEL,   /* the leaf is in the kernel */
	SELECTION_FUNCTION, /* the stack contains .function */
	SELECTION_SUBTREE, /* the stack begins with the path .id of the SELECTION_TREE; stacks are shown from its last function on */
	SELECTION_PROGRAM  /* processes that go by the name .text */
};
struct selection_criterion {
	enum selection_what what;
	bool waits;
	bool drop; /* drop what it describes instead of keeping it; a dropped subtree re-roots nothing */
	const char *text;
	int32_t number;
	struct function_id function;
	uint64_t id;
};
enum { SELECTION_CRITERIA_MAX = 32 };
/* All of them must hold. Copied, strings too. -E2BIG: too many; -EINVAL: one that makes no sense; -ENOENT: no such path. Then the old ones hold. */
int selection_set_filter(struct selection *selection, const struct selection_criterion *criteria,
			 size_t nr);
/* Whether the event of waits is kept besides another. */
bool selection_is_wall(const struct selection *selection);
/* The event that the filter keeps, as the history counts them; the first when it keeps all. */
uint32_t selection_event(const struct selection *selection);

/*
 * Takes in what the history has gained, with the window ending at end_ns (CLOCK_MONOTONIC, as samples
 * have it), names included. Windows are made of whole seconds: of the second that end_ns is in, and those before it. With
 * the same end as before the samples stay exactly those of the last refresh, however many came since: a
 * pause. Only another length of the window re-reads them then, by whole seconds.
 */
int selection_refresh(struct selection *selection, uint64_t end_ns);

/*
 * From the next refresh on SELECTION_TREE has a row for each process below its root, above that process's stacks; or it
 * has none any more, as at first. The other shapes stay as they are. Ids of the one tree are none of the other: -EBUSY
 * while the filter has a SELECTION_SUBTREE.
 */
int selection_set_by_process(struct selection *selection, bool by_process);

/*
 * From now on names that come are taken in by parts of some ms: a refresh takes one of them, as selection_advance() does, and shows
 * many stacks by their old names until all have their new ones.
 */
void selection_take_by_parts(struct selection *selection);

/*
 * Does some of the next refresh's work: takes in stacks that the history had at the last call, or at the refresh if that was
 * later, without their samples. Those that came since may get their names meanwhile. 1: there is more that could be done at
 * once; 0 or -ENOMEM.
 */
int selection_advance(struct selection *selection);

/*
 * How much there is to be looked at by what looks at all: distinct ways from the root, which is one of them. Of selection_of_all() once
 * functions or a tree were asked for.
 */
size_t selection_nr_paths(const struct selection *selection);
/* Of these those that stacks shown go through: rows of the tree, its root among them. */
size_t selection_nr_paths_shown(const struct selection *selection);

/*
 * Which of the history's stacks, by row, have a function with the text in its name, as SELECTION_TEXT has it: of those that were there at the last refresh,
 * whatever the filter. .stacks is the caller's to free. 0 or -ENOMEM.
 */
struct selection_named {
	uint8_t *stacks;
	size_t nr, nr_named;
};
int selection_stacks_named(const struct selection *selection, const char *text,
			   struct selection_named *named);

struct selection_totals {
	uint64_t samples, weight; /* shown */
	uint64_t all_samples,
		all_weight; /* in the window, of the event, shown or not: weight / all_weight is the share shown */
	uint64_t ends[NR_STACK_ENDS]; /* of the samples shown */
	uint64_t unnamed;	      /* samples shown whose leaf has no name */
	uint64_t kernel_weight;	      /* of those whose leaf is in the kernel */
	uint64_t folded;	      /* samples shown whose stack was cut by the history's limit */
	/*
	 * What the window covers. to is the end, or later where old seconds are merged; from may lie before what was
	 * asked (merged) or after it (nothing came before, or it is forgotten). Equal: all of it is forgotten.
	 */
	uint64_t from_ns, to_ns;
	double squares; /* of the weights shown, summed: for history_effective() */
};
struct selection_totals selection_totals(const struct selection *selection);
/*
 * How far a weight may be off by chance, as a share of it: sqrt(n) / n of so many samples of one weight (history_effective() of the
 * row's weight and squares; about, in windows where weights differ). 0 of none.
 */
double selection_error(double effective);

struct selection_cost {
	uint64_t self, total; /* samples */
	uint64_t self_weight, total_weight;
};

/* An event where one is asked for: the selection's. */
enum { SELECTION_OWN_EVENT = -1 };
/* Of one event. */
struct selection_amount {
	uint64_t samples, weight;
	double squares; /* of weight */
};
static inline void selection_add_amount(struct selection_amount *sum,
					const struct selection_amount *amount)
{
	sum->samples += amount->samples;
	sum->weight += amount->weight;
	sum->squares += amount->squares;
}
/*
 * Other events than the selection's own, of which the filter's other criteria say what is shown. Squares are about, in windows.
 * Everything, and one function's.
 */
struct selection_amount selection_total_beside(const struct selection *selection, uint32_t event);
int selection_function_beside(struct selection *selection, struct function_id function,
			      uint32_t event, struct selection_amount *self,
			      struct selection_amount *total);

/* Ties fall by name, then module: the same in every run. */
enum selection_order {
	SELECTION_BY_SELF,
	SELECTION_BY_TOTAL,
	SELECTION_BY_NAME,
	SELECTION_BY_MODULE
};

/* ---- functions ---- */

struct selection_function {
	struct function_id id;
	struct selection_cost cost;
	double squares; /* of total_weight */
};
struct selection_functions {
	struct selection_function *items;
	size_t nr, capacity;
};
/* The first `most` (0: all) of the functions that have samples. *nr_all, if not NULL: how many these are. */
int selection_top(struct selection *selection, enum selection_order order, size_t most,
		  struct selection_functions *functions, size_t *nr_all);
/* Of one function; all zero when it has no samples. */
struct selection_cost selection_function_cost(const struct selection *selection,
					      struct function_id function);
double selection_function_squares(const struct selection *selection, struct function_id function);

/* ---- trees ---- */

/*
 * A row is a path of functions; its id is a hash of that path, the same in every refresh and selection as long as
 * its functions keep their names. Stacks that do not reach their root hang below a row "[truncated]",
 * "[broken]" or "[switched]", which stands where their unknown callers would be.
 */
enum selection_shape {
	SELECTION_TREE, /* top-down: from main to the leaves */
	SELECTION_INVERTED, /* bottom-up: from each leaf to its callers. self: of stacks that have no further caller */
	SELECTION_CALLERS, /* of one function, on and on: the upper half of a sandwich */
	SELECTION_CALLEES /* of one function, on and on: the lower half. Both start at its outermost call in each stack */
};
struct selection_node {
	uint64_t id, parent;	     /* parent 0: the root of its shape */
	struct function_id function; /* index 0 where there is a label instead */
	const char *label; /* "[all]", "[truncated]", "[process]", ...; NULL: a function */
	const char *
		comm; /* of a process: what it goes by, as in struct selection_task. Borrowed. NULL: it is none */
	int32_t pid; /* of a process */
	struct selection_cost cost;
	double squares; /* of total_weight */
	uint32_t depth; /* of the root: 0 */
	bool has_children;
};
struct selection_nodes {
	struct selection_node *items;
	size_t nr, capacity;
};
/*
 * The root of a shape: "[all]" (with a SELECTION_SUBTREE in force, that subtree's function), or the function.
 * It is there even when it has no samples. -ENOENT: no such function.
 */
int selection_root(struct selection *selection, enum selection_shape shape,
		   struct function_id function, struct selection_node *root);
/*
 * Appends the children of a row that selection_root() or this gave out, those with samples, in order. None for an id that has no
 * samples now; -ENOENT for one that was never given out, or was forgotten: roots and rows above are asked for first.
 */
int selection_children(struct selection *selection, uint64_t id, enum selection_order order,
		       struct selection_nodes *nodes);
/* Those of at least so much weight: where only these are shown, the others need not be made. */
int selection_children_from(struct selection *selection, uint64_t id, enum selection_order order,
			    uint64_t least, struct selection_nodes *nodes);
/* A row by its id, as it is now. -ENOENT as above. */
int selection_node(struct selection *selection, uint64_t id, struct selection_node *node);

/* What it costs in all of another event. */
int selection_node_beside(struct selection *selection, uint64_t id, uint32_t event,
			  struct selection_amount *amount);

struct selection_box {
	struct selection_node node;
	uint64_t at; /* weight to the left of it */
	uint64_t
		hidden; /* weight of its children that is too little to be shown: to the right of the others */
	size_t parent; /* item; the first is its own */
};
struct selection_boxes {
	struct selection_box *items;
	size_t nr, capacity;
};
/* A flame graph from a row down, parents before children: rows of at least `least` weight and, below the first, at most `levels` levels. */
int selection_flame(struct selection *selection, uint64_t id, enum selection_order order,
		    uint64_t least, uint32_t levels, struct selection_boxes *boxes);

/*
 * Calls without branches, each passing on nine tenths of what the first one has, say the same row by row: from so many on
 * they are a chain, and are shown as one. Processes and labels stand alone, and the kernel's functions apart from the user's.
 */
enum { SELECTION_CHAIN_LEAST = 3 };
/* Whether the only child shown of a chain's last row belongs to it. */
bool selection_chain_goes_on(const struct selection *selection, const struct selection_node *first,
			     const struct selection_node *child);

/* ---- threads ---- */

struct selection_task {
	int32_t pid, tid;    /* tid -1: a process; -2: a program, pid the first one's */
	uint64_t started_ns; /* the process: pids come again; 0: not known */
	const char *
		comm; /* the last one seen; of a process, its main thread's if that is known. Borrowed */
	uint32_t nr_threads;   /* that have samples */
	uint32_t nr_processes; /* of a program: that have samples */
	uint64_t samples, weight;
	double squares;
	struct function_id top; /* where most of its weight is */
	uint64_t top_weight;
};
struct selection_tasks {
	struct selection_task *items;
	size_t nr, capacity;
};
/* Programs: processes that go by one name. */
enum selection_tasks_of { SELECTION_THREADS, SELECTION_PROCESSES, SELECTION_PROGRAMS };
/* Sorted by weight, then pid and tid. only_pid -1: of all. */
int selection_tasks(struct selection *selection, enum selection_tasks_of which, int32_t only_pid,
		    struct selection_tasks *tasks);

/*
 * The stack on which a thread, a process or a program (as selection_tasks() gave it out) spends most: from the root down, at each step
 * the child that has most, as long as that is more than what ends there and a twentieth of all. Items are functions and labels without ids; costs are those of
 * the task alone. 0 or -ENOMEM.
 */
int selection_hot_stack(const struct selection *selection, const struct selection_task *task,
			struct selection_nodes *stack);

/*
 * By whom its waits were ended, by the event of wakeups, whatever the filter: those that ended most first, at most so many; where each did
 * most of that. *nr: how many. 0 or -ENOMEM.
 */
enum { SELECTION_WAKER_CALLERS = 4 };
struct selection_waker {
	struct function_id waker;			     /* "[woken by NAME]" */
	uint64_t weight, all_weight;			     /* all_weight: of all its wakers */
	struct function_id callers[SELECTION_WAKER_CALLERS]; /* of that, the innermost first */
	size_t nr_callers;
};
int selection_wakers(const struct selection *selection, const struct selection_task *task,
		     uint32_t event, struct selection_waker *wakers, size_t most, size_t *nr);

/* ---- system calls ---- */

enum { SELECTION_CALLERS_MAX = 4 };
struct selection_call {
	struct function_id function; /* of the kernel's, that the entry calls */
	uint64_t weight;	     /* of the stacks shown that entered by it */
	/* The program's functions that most of it came by, nearest first. */
	struct function_id callers[SELECTION_CALLERS_MAX];
	uint32_t nr_callers;
};
struct selection_calls {
	struct selection_call *items;
	size_t nr, capacity;
};
/* Sorted by weight. 0 or -ENOMEM. */
int selection_calls(const struct selection *selection, struct selection_calls *calls);
/* "writev" of "__x64_sys_writev" or "do_writev"; else the function's own name. Part of what is given. */
const char *selection_call_name(const char *function);

/* ---- modules ---- */

struct selection_module {
	uint32_t module; /* for history_module(); 0: none is known */
	uint64_t self_weight, total_weight;
	uint64_t unnamed_weight; /* of self_weight: whose function has no name */
};
struct selection_modules {
	struct selection_module *items;
	size_t nr, capacity;
};
/* Those that have weight, sorted by self, then total. 0 or -ENOMEM. */
int selection_modules(const struct selection *selection, struct selection_modules *modules);

/* ---- lines ---- */

struct selection_line {
	struct function_id function;
	const char *file; /* as the debug information names it; borrowed */
	uint32_t line;
	uint64_t samples, weight; /* that are there, or were called from there */
};
struct selection_lines {
	struct selection_line *items;
	size_t nr, capacity;
};
/*
 * Of each function, by its id's index, the line with most samples of all events, whichever functions these go on to; .line 0: none is
 * known. Weight is 0. 0 or -ENOMEM.
 */
int selection_hottest_lines(struct selection *selection, struct selection_lines *hottest);

/* ---- a function's code ---- */

struct selection_address {
	uint32_t module; /* for history_module() */
	int32_t pid;	 /* a process that ran it */
	uint64_t start;	 /* of the function, in the module's space, as the address is */
	uint64_t address;
	struct function_id
		inlined; /* that was put in there: the innermost; index 0: none, or not known */
	uint64_t samples, weight; /* that were taken there */
	double squares;		  /* of weight */
	uint32_t site;		  /* for history_inlined_at() */
};
struct selection_code {
	struct selection_address *items;
	size_t nr, capacity;
};
/*
 * Where in a function's code the samples shown were taken, those in functions inlined into it among them, sorted by module, start and
 * address: there may be several functions of one name. Of a function whose start nobody knows there is nothing. Of an event, as
 * selection_groups() has them. 0 or -ENOMEM.
 */
int selection_code(struct selection *selection, struct function_id function, int32_t event,
		   struct selection_code *code);
/* The function whose code an inlined one is in, most of it; of any other, itself. */
struct function_id selection_code_holder(struct selection *selection, struct function_id function);

/* ---- one function in detail ---- */

struct selection_detail {
	struct selection_cost cost;
	double squares;	     /* of cost.total_weight */
	double error;	     /* selection_error() of it */
	uint64_t incomplete; /* weight of stacks with it that are truncated, broken or switched */
	uint64_t unnamed;    /* weight of stacks with it that have a frame without a name */
	/*
	 * Each sorted by weight; roots of stacks have no caller. own is what ends in an outermost call of it: with the callees,
	 * which are called from these, it is all of cost.total_weight. cost.self_weight has what ends in calls from itself as well.
	 */
	uint64_t own;
	struct selection_nodes callers, callees;
	struct selection_tasks threads;
	/*
	 * Where in the source: the line that a sample is at, or from which the stack goes on; in those that call it, too. Each sample
	 * counts once, at the function's outermost call, and not where its line is not known. Sorted by weight.
	 */
	struct selection_lines lines, call_sites;
};
int selection_detail(struct selection *selection, struct function_id function,
		     struct selection_detail *detail);
void selection_detail_release(struct selection_detail *detail);

/* ---- stacks, for exports ---- */

/*
 * Calls each() once per distinct (event, task, stack, end) of the samples shown; stops at the first nonzero, which it returns. Samples and
 * weight are those of the window. Stacks are whole, also where a subtree is in force.
 */
int selection_each_stack(struct selection *selection,
			 int (*each)(void *context, const struct history_stack *stack),
			 void *context);
/* The same, each with the number that a walk gives its frames (history.h) in place of these: what stacks have in common is looked up once. */
int selection_walk_stacks(struct selection *selection, struct history_walk *walk,
			  int (*each)(void *context, const struct history_stack *facts,
				      uint32_t number),
			  void *context);

/*
 * The same as single samples, in the order of time. A history that keeps single samples (history_keep_samples()) has those shown as
 * they were taken. Else they are known to the second, or less where old seconds are merged: those of a stack lie evenly in theirs,
 * each has its share of the weight there, and the CPU is 0. What is held by no second any more comes first, as taken at the window's
 * beginning. All add up to the samples shown. The stack is borrowed until the next step.
 */
int selection_each_sample(struct selection *selection,
			  int (*each)(void *context, const struct history_sample *sample),
			  void *context);

/* ---- trends: weight of the samples shown, second by second ---- */

enum { SELECTION_TREND_SECONDS_MAX = 60, SELECTION_TREND_ROWS_MAX = 64 };
enum selection_measure { SELECTION_SELF, SELECTION_TOTAL };
/*
 * counts[row * seconds + i]: oldest second first, the last one is the end's, which is still going on unless the end
 * stands. Read from the seconds held, whatever the window is. -EINVAL: too many rows or seconds.
 */
int selection_trend(struct selection *selection, uint32_t seconds,
		    uint64_t *counts); /* one row: everything */
int selection_trend_functions(struct selection *selection, enum selection_measure measure,
			      const struct function_id *functions, size_t nr, uint32_t seconds,
			      uint64_t *counts);
/* By pid and tid of each task; tid -1: of the process. */
int selection_trend_tasks(struct selection *selection, const struct selection_task *tasks,
			  size_t nr, uint32_t seconds, uint64_t *counts);

uint64_t
selection_bytes(const struct selection *selection); /* heap in use; part of history_bytes() too */

#endif
