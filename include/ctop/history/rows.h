/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_ROWS_H
#define CTOP_HISTORY_ROWS_H

/*
 * The history's rows, for those who select among them: query. Its ids are indexes into these arrays; row 0 of each is "none".
 */

#include <ctop/base/index.h>
#include <ctop/history/history.h>
#include <ctop/history/slices.h>

enum {
	HISTORY_DEPTH_MAX = 8192, /* deeper stacks are damage: the collector stops earlier */
	HISTORY_DEPTH_SHOWN_MAX = 2 * HISTORY_DEPTH_MAX + 1,
	HISTORY_STRING_MAX = TABLES_STRING_MAX
};

/* What stands for the rows that a full history has no room for. */
enum { FOLDED_TASK = 1, FOLDED_FRAME = 1, FOLDED_MODULE = 1 };

struct history_module {
	const char *path;
	const char *
		label; /* what is shown: the path, and more where that is not enough; see modules.c */
	struct module_identity identity;
	uint32_t kind;
	int32_t pid;	     /* of code without a file: addresses mean something only there, */
	uint64_t started_ns; /* while that process lives; 0: not known */
	bool has_leaves;     /* a sample was taken in it, whatever the filter says */
	struct module_names names; /* where its functions' come from, as far as is known by now */
};

struct history_task {
	int32_t pid, tid;
	uint32_t run;	     /* as struct history_stack has it */
	uint64_t started_ns; /* the process; 0: not known */
	const char *comm;
};

struct history_process {
	int32_t pid;
	uint64_t started_ns;
	const char *comm; /* its main thread's */
};

/*
 * A place in the source: in a frame's own function, or in one that the compiler put there. Places of frames that have callers in common
 * share them.
 */
struct history_site {
	uint32_t outer;	   /* where the function was put in; 0: it is the frame's own */
	uint32_t module;   /* row */
	const char *name;  /* NULL: the frame's own */
	const char *file;  /* "": not known */
	uint32_t line;	   /* 0: not known */
	uint32_t function; /* 0: to be found out */
};

/* What is called after a place of a function: see grouping.c. */
struct history_group {
	uint32_t of;	  /* the function */
	uint32_t line;	  /* 0: it is not about lines */
	const char *file; /* the same: NULL */
	uint64_t address; /* the same: 0 */
	uint32_t function;
};

/* One (module, address), and what is known of its name by now. */
struct named_frame {
	uint64_t address;
	uint32_t module;
	uint32_t offset;
	uint32_t function;	 /* 0: to be found out */
	uint32_t site;		 /* the innermost; 0: none, or none yet */
	bool bounded;		 /* without a name, offset says where its function begins */
	const char *name;	 /* NULL: none, or none yet */
	const char *module_name; /* instead of the module's path; NULL */
};

struct history_node {
	uint32_t parent, frame;
	uint16_t depth;
	uint16_t
		unnamed; /* frames without a name from here to the root; see history.frames_changed */
	uint8_t method;
};

struct counted_stack {
	uint32_t task, node, leaf;
	uint8_t event, end, reason;
	uint64_t samples, weight;
};

struct function {
	const char *name, *module;
	const char *marked; /* "name (inlined)"; NULL: it is not */
	uint32_t
		place_bytes; /* of the name, in front of the function's own: where in it; all of a module's */
	bool kernel, named;
	bool inlined; /* into others: what is called by itself is another one */
	bool bounded; /* without a name, but one function all the same: called after where it begins */
};

struct event {
	const char *name, *asked;
	uint64_t period, frequency_hz;
	enum weight_unit unit;
	bool is_wait, is_stretch;
	uint64_t samples, weight;	    /* before the filter */
	uint64_t weight_least, weight_most; /* of a sample */
	uint64_t weight_shown;		    /* of those that passed the filter */
};

/* One sample of a counted stack. */
struct kept_sample {
	uint64_t time_ns;
	uint64_t weight;
	uint32_t stack;
	uint16_t cpu;
	uint8_t event; /* the stack's */
	uint8_t reserved;
};

/* In the order of time, unless some came far too late. */
struct kept_samples {
	struct kept_sample *items;
	size_t nr, capacity;
	size_t most; /* 0: none is wanted */
	bool unsorted;
	/* Who is handed what comes, see history_follow_samples(); NULL: it is kept. */
	int (*each)(void *context, const struct history_sample *sample);
	void *context;
	bool in_slices; /* what there is no room for goes on to slices: */
	struct slices slices;
	bool stacks_once; /* see history_give_stacks_once() */
	struct {
		bool *items; /* by stack: it was given */
		size_t nr, capacity;
	} given;
};

#define ROWS(type)                                                                                 \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t nr, capacity;                                                               \
	}

/* The history's rows by those of one of the epoch's tables, plus 1; 0: not met yet. See import.c. */
typedef ROWS(uint32_t) translation;

/*
 * Samples of a stack in some seconds. They are many: of the squares of the weights it holds how far they are from those that equal weights
 * would have, to one in some thousands; see seconds.c.
 */
struct second_count {
	uint32_t stack;
	uint16_t samples, spread;
	uint64_t weight;
};
double history_count_squares(const struct second_count *count);

/* Samples of the seconds [second, second + span). A stack may have several counts: they add up. */
struct bucket {
	uint64_t second; /* CLOCK_MONOTONIC; a multiple of span */
	uint32_t span;	 /* 1, 10 or 60 */
	uint64_t
		serial; /* no other bucket has it, and with as many samples it holds the same counts */
	ROWS(struct second_count) counts;
	uint64_t samples;
};

/* Where a stack's count is in the bucket that samples go to, if the serial is that bucket's. */
struct second_slot {
	uint32_t serial, at;
};

struct seconds {
	bool wanted;
	ROWS(struct bucket) buckets;	/* by second; they do not overlap */
	ROWS(struct second_slot) slots; /* by stack */
	bool has_open;			/* the bucket that samples go to: */
	size_t open;			/* its row */
	uint64_t open_from_ns, open_for_ns;
	uint32_t serial;
	uint64_t late_second; /* samples came for this other one, */
	uint32_t nr_late;     /* that many in a row */
	uint64_t bytes;	      /* of counts */
	uint64_t forgotten;
	uint64_t nr_made; /* buckets, ever */
};

/* A sample of a stack, at its time; the last so many. */
struct moment {
	uint64_t time_ns;
	uint32_t stack;
	uint32_t
		weight; /* of a heavy sample there are several in a row, of a wait back in time, the others not counted as samples: */
};
enum { MOMENTS_LEAST = 4096 };
#define MOMENT_GOES_ON (UINT64_C(1) << 63) /* in time_ns */
struct moments_kept {
	ROWS(struct moment) ring; /* full: the oldest is at `next` */
	size_t next, most;
	uint64_t from_ns; /* from here on all are there */
};

struct history_info; /* a key and its value */

/* Frames of the epoch. */
struct awaiting_frames {
	uint32_t *items;
	size_t nr, capacity;
	size_t nr_looked_at; /* the first ones, at symbols_version */
};

/* Of a function: store/kept_code.h. */
struct history_piece {
	uint64_t start, bias, read_ns;
	uint32_t module; /* the history's */
	uint32_t size;
	uint32_t name_bytes;
	uint16_t machine;
	bool is_cut;
	bool is_doubtful; /* others were kept for the same function: nobody knows which are right */
	uint8_t *bytes;	  /* on the heap; its name behind them, terminated */
};

struct history {
	struct history_filter filter;
	bool filtered;		/* the filter keeps something out */
	bool labels_pass;	/* of the run that samples are of, */
	uint32_t run;		/* which it is, */
	int32_t machine;	/* and of which machine; 0: the first or only one */
	uint64_t limit_bytes;	/* 0: none */
	bool full;		/* it has reached the limit once */
	bool pressed;		/* something found no room since the last forgetting, */
	uint64_t forgot_ns;	/* which was when this sample had come */
	uint32_t nr_selections; /* that look at this history */

	ROWS(char *) strings; /* each on the heap: pointers stay */
	ROWS(struct history_module) modules;
	ROWS(struct history_task) tasks;
	ROWS(struct history_process) processes; /* whose main threads the tables have */
	ROWS(struct named_frame) frames;
	ROWS(struct history_node) nodes;
	ROWS(struct counted_stack) stacks;
	bool weights_differ; /* of some event: then */
	ROWS(double)
	squares; /* has the sums of the squares of stacks' weights; it may be shorter */
	ROWS(struct history_group) groups;
	ROWS(struct history_site) sites; /* those outside come before those inside */
	ROWS(struct function) functions;
	ROWS(struct event) events;
	struct index strings_index, modules_index, tasks_index, stacks_index, functions_index,
		processes_index, sites_index, groups_index;
	struct index frames_index, nodes_index; /* only if it merges: */
	bool merges; /* frames and nodes may come that are there already; see merging.c */
	struct history_info *metadata;
	uint64_t string_bytes;

	/* the epoch */
	struct tables_reader reader;
	const struct symbols *symbols;
	bool has_epoch;
	uint64_t symbols_version;
	uint32_t nr_metadata_read, nr_events_read, nr_tasks_read;
	translation of[NR_TABLES];
	struct awaiting_frames unnamed, unlined;     /* that had no name, no lines yet */
	uint64_t lines_taken;			     /* of the epoch's symbols: rows, */
	uint64_t name_bytes_taken, line_bytes_taken; /* and of new strings */
	enum state_frames state_frames;
	enum grouping grouping;
	bool without_lines; /* nobody wants to see them */

	ROWS(struct history_piece) pieces; /* of code, in all epochs */
	struct index pieces_index;
	uint64_t code_bytes; /* of them */
	struct awaiting_frames
		untaken;       /* pieces of the epoch, by number, whose modules were not met yet */
	uint32_t nr_code_seen; /* of the epoch */

	struct kept_samples samples;
	struct seconds seconds;
	struct timeline *timeline; /* NULL: none is kept */
	struct moments_kept moments;
	uint64_t selection_bytes; /* of all selections that look at this history */
	uint64_t
		nr_renamed; /* how often a frame whose function had been asked for got a name, or functions inside */
	struct history_totals totals;
	bool frames_changed; /* some are named or folded now: totals of frames are to be counted again */
	uint64_t origin_ns; /* time of the first sample of all */
	uint64_t
		weight_before; /* of all samples of all events, at most WEIGHTS_MOST: see import.c */

	/* Scratch: too large for a stack that is cleared at each call. */
	uint32_t path[HISTORY_DEPTH_MAX];
	char string[HISTORY_STRING_MAX + 1];
};

/* A process's main thread's last name, whether that was sampled or not. NULL: not known. */
const char *history_process_name(const struct history *history, int32_t pid, uint64_t started_ns);
/*
 * Whether two processes of one pid are the same. One whose start nobody knows was there before the profile began: it is
 * not one that started later.
 */
bool history_same_process(const struct history *history, uint64_t a_ns, uint64_t b_ns);

/* Whether the filter keeps this event; samples of others may be there beside it. */
bool history_counts_event(const struct history *history, uint32_t event);

/* By path or file name; "[unknown]": none. */
bool history_is_module(const struct history_module *module, const char *wanted);

/* The frame's function, found by its name. UINT32_MAX: out of memory. */
uint32_t history_function_of(struct history *history, uint32_t frame);
/* What is shown of a frame: its own function, then those that were put in, each into the one before. */
struct history_step {
	uint32_t function;
	uint32_t site; /* 0: not known */
};
enum { HISTORY_STEPS_MAX = SYMBOLS_LINES_MAX };
/*
 * How many; 0: out of memory. Of a grouped history, groups. At a depth (steps before) that is too large for what is inlined there is only the frame's own function:
 * no stack has more than HISTORY_DEPTH_SHOWN_MAX steps.
 */
size_t history_steps_of(struct history *history, uint32_t frame, size_t depth,
			struct history_step steps[HISTORY_STEPS_MAX]);
/* By name, then by module: an order that is the same in every run. */
int history_compare_functions(const struct history *history, struct function_id a,
			      struct function_id b);

/* The sum of the squares of a counted stack's weights: see squares.c. */
double history_stack_squares(const struct history *history, size_t stack);
/* The first bucket that does not end before a second. */
size_t history_bucket_from(const struct history *history, uint64_t second);

/*
 * What a caller of selection_each_stack() or history_each_sample() is shown of a counted stack, with room for
 * its frames.
 */
struct stack_view {
	struct history_stack stack;
	struct history_frame *frames;
	uint32_t *ids, *methods;
};
int stack_view_init(struct stack_view *view); /* 0 or -ENOMEM; release in any case */
void stack_view_release(struct stack_view *view);
int stack_view_set(struct stack_view *view, struct history *history,
		   const struct counted_stack *counted); /* 0 or -ENOMEM */

/* ---- what a full history forgets: forget.c ---- */

/*
 * Rows are renumbered when old ones are forgotten: the one selection that looks at them has to follow at once, and what is
 * held by nobody but single samples can't.
 */
static inline bool history_can_forget(const struct history *history)
{
	return history->nr_selections == 1 && history->seconds.wanted && !history->samples.most;
}
/* The rows that are left will not do for long, or did not. */
bool history_wants_to_forget(const struct history *history);

/* Where rows have gone to. */
struct forgotten_rows {
	uint32_t *stacks;	    /* by the row that a stack had */
	uint32_t *nodes;	    /* the same; 0: it is no more */
	size_t nr_stacks, nr_nodes; /* before */
};
/*
 * Keeps the callers and the stacks that count, and of the others those sampled last, as many as fit into half of the room.
 * What goes is counted as "[folded]" below callers that stay. Stacks of the window from from_ns to end_ns, and
 * those that `wanted` says (NULL: none), come before others. 0 or -ENOMEM, and nothing has changed. Release in any case.
 */
int history_forget(struct history *history, uint64_t from_ns, uint64_t end_ns, const bool *wanted,
		   struct forgotten_rows *gone);
/* Forgets all stacks and seconds, gives their memory back; totals stay. 0 or -ENOMEM, as above. */
int history_forget_all(struct history *history, struct forgotten_rows *gone);
void forgotten_rows_release(struct forgotten_rows *gone);

#endif
