/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_HISTORY_H
#define CTOP_HISTORY_HISTORY_H

/*
 * What main remembers of a profile, across epochs: its own interned modules,
 * tasks, frames and nodes, and how many samples fell on each (event, task, node,
 * leaf, end, reason). Views, reports and exports ask selections of it (query/selection.h). Memory grows
 * with distinct stacks, not with samples, unless single samples are asked for. No I/O, no terminal.
 *
 * Main only. Ids of the history are not ids of a table: history_import() translates.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/grouping.h>
#include <ctop/ids.h>
#include <ctop/state_frames.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>
#include <ctop/time_shown.h>
#include <ctop/wait_kind.h>

struct history;
struct slices;

struct history *history_new(void); /* NULL: out of memory */
void history_free(struct history *history);

/* ---- filling ---- */

/* Bytes of a label's key. */
enum { HISTORY_LABEL_MAX = 64 };

/* Which samples count. All zero lets everything through. Strings are borrowed and must outlive the history. */
struct history_filter {
	const int32_t *pids; /* any of; NULL: all */
	size_t nr_pids;
	const int32_t *tids;
	size_t nr_tids;
	const int32_t *cpus;
	size_t nr_cpus;
	const char *comm;  /* exact */
	const char *event; /* exact, as opened or as asked */
	bool first_event;  /* the first event only: samples of different events do not add up */
	enum time_shown
		time; /* the event of waits instead of those, or with them: as time they add up */
	/*
	 * Samples of other events are counted, too, for selections that ask for one of them; in totals, and for whoever asks for
	 * none, they are not there.
	 */
	bool beside;
	const char *module; /* the leaf's module: file name or path, exact; "[unknown]": none */
	const char *const *labels; /* of the run, each "KEY=VALUE": all of them; see labels.c */
	size_t nr_labels;
	/* Since the first sample; 0: no limit. Of a wait, only the part between the two counts. */
	uint64_t from_ns;
	uint64_t to_ns;
	bool kernel_only; /* leaf in the kernel */
	bool user_only;	  /* drop samples whose leaf is in the kernel */
};
void history_set_filter(struct history *history, const struct history_filter *filter);
/* Samples of other events than the filter's are there, too. */
bool history_is_beside(const struct history *history);

/*
 * From now on every sample that passes the filter is kept as well, for selection_each_sample(): 24 bytes per sample, and as
 * much again by half for room to grow, apart from what the limit bounds. When there are more than `most`, none is kept any
 * more: see history_follow_samples(). Call it before the first import. Not asked for, it costs nothing.
 */
void history_keep_samples(struct history *history, size_t most);

/*
 * From now on it is also kept which stack was sampled in which slice of time (slices.h), by the stacks' rows: of all samples that pass
 * the filter, in the order of time, those excepted that come later than half of `most` others. Call it before the first import.
 */
void history_keep_slices(struct history *history, size_t most);

/*
 * From now on samples are also counted by the second, for selections of the last seconds (selection.h). Not asked for, it
 * costs nothing. Older seconds are merged: to tens after about 5 minutes, to minutes after half an hour; what is
 * older than some two hours is forgotten, which means that it counts only in "since the start". Merging and forgetting come
 * earlier when the counts would take more than a quarter of the limit (64 MiB without a limit).
 */
void history_keep_seconds(struct history *history);

/*
 * From now on it is also kept what each thread does when (timeline.h), and single samples as far back as there is room for. The first takes an eighth of the
 * limit, the second half as much. NULL of history_timeline(): it is not kept. 0 or -ENOMEM. After history_set_limit().
 */
struct timeline;
int history_keep_timeline(struct history *history);
struct timeline *history_timeline(const struct history *history);

struct history_seconds {
	uint64_t first_ns; /* start of the oldest second held; 0: none is */
	uint64_t fine_ns;  /* from here on every second is held by itself */
	uint64_t end_ns;   /* end of the newest */
	uint64_t
		forgotten; /* samples that belong to no second any more; nothing else is lost of them */
	uint64_t bytes;
	size_t nr; /* buckets of 1, 10 or 60 s */
};
struct history_seconds history_seconds(const struct history *history);

/*
 * Bounds the history's memory (0, the default: as much as it takes). From about half of the bound on, or of the
 * three quarters of it that seconds leave, nothing new is kept: a sample on a stack not seen before counts for the callers that are known, below them stands
 * "[folded]". With a single selection and with seconds it does not end there: stacks
 * are forgotten for new ones (selection.h). Totals stay true; history_totals() says how many samples
 * were folded.
 */
void history_set_limit(struct history *history, uint64_t bytes);

/*
 * Starts an epoch: ids of samples imported from now on refer to these regions.
 * symbols may be NULL. Both must stay mapped until the next epoch or history_free().
 */
int history_begin_epoch(struct history *history, const struct tables *tables,
			const struct symbols *symbols);
/* Consumes samples that were read from the epoch's ring. 0 or -ENOMEM. Bad ids are counted, not trusted. */
int history_import(struct history *history, const struct sample *samples, size_t nr);
/* Takes over the names and lines that the symbols region has for frames in use; cheap when nothing changed. */
int history_update_names(struct history *history);
/* The same, of about so many frames at most. 1: there are more; 0 or -ENOMEM. */
int history_update_some_names(struct history *history, size_t most);
/* Where waits have what is waited for. Before the first epoch. */
void history_set_state_frames(struct history *history, enum state_frames state_frames);
/* What frames are called after; threads and processes leave them as they are. Modules that call themselves are one frame. Before the first epoch. */
void history_set_grouping(struct history *history, enum grouping grouping);
/* Frames are their own functions, whatever was inlined there, and have no lines. Before the first epoch. */
void history_leave_out_lines(struct history *history);

/*
 * What was waited for, in ns, of the waits that pass the filter, by their innermost frames. False: there are none, or these frames are elsewhere.
 */
bool history_wait_kinds(const struct history *history, uint64_t ns[NR_WAIT_KINDS]);
/* As it was set. */
const struct history_filter *history_filter(const struct history *history);

/* ---- totals ---- */

struct history_totals {
	uint64_t samples;	 /* after the filter */
	uint64_t samples_before; /* before the filter */
	uint64_t weight;      /* what they stand for; of several events together it means nothing */
	uint64_t cut_weights; /* samples that count for less than they say, before the filter */
	uint64_t ends[NR_STACK_ENDS];
	/* Of those STACK_KERNEL_ONLY: on the run queue, and waits that were not seen or may not be looked at, which have no stack. */
	uint64_t unplaced;
	uint64_t reasons[NR_STACK_REASONS];
	uint64_t frames; /* sum of stack depths */
	uint64_t unsymbolized_frames;
	uint64_t folded;   /* samples whose stack was cut to stay within the limit */
	uint64_t not_kept; /* single samples, wanted: all of them, if there were too many; else 0 */
	uint64_t bad_samples; /* ids that made no sense: a child's memory was damaged */
	uint64_t first_ns, last_ns;
};
/*
 * How many samples of one weight would tell as much: (sum of weights)^2 / (sum of their squares). As many as there are where all
 * weights are alike; few where few of them carry most. 0 of none.
 */
double history_effective(uint64_t weight, double squares);
/* The sum of the squares of the weights that make up history_totals().weight. */
double history_squares(const struct history *history);
/* unsymbolized_frames is brought up to date by the call. */
struct history_totals history_totals(struct history *history);

/* Main's own facts about a live run: copied, the last value of a key holds. 0 or -ENOMEM. */
int history_set_info(struct history *history, const char *key, const char *value);
/* Calls each() once per fact; stops at the first nonzero, which it returns. */
int history_each_info(const struct history *history,
		      int (*each)(void *context, const char *key, const char *value),
		      void *context);
/*
 * Calls each() once per label of the run (0), or of each of those that were merged, which are labelled with their hosts, too; stops at the first
 * nonzero, which it returns. Untrusted.
 */
int history_each_label(const struct history *history,
		       int (*each)(void *context, uint32_t run, const char *key, const char *value),
		       void *context);
/* Last value of an info key over all epochs, or NULL. Borrowed. */
const char *history_info(const struct history *history, const char *key);
/* Events in the order they were asked in, sampled or not. */
size_t history_nr_events(const struct history *history);
const char *history_event_name(const struct history *history, size_t event); /* as opened */
const char *history_event_asked(const struct history *history, size_t event);
/* Of the two the one that was used; the other is 0. */
uint64_t history_event_period(const struct history *history, size_t event);
uint64_t history_event_frequency_hz(const struct history *history, size_t event);
/* Of threads that wait, not of what is sampled: its weights are ns. Behind all that is sampled. */
bool history_is_wait(const struct history *history, uint32_t event);
/* Waits of threads and of goroutines: a sample stands for all the time up to its own. */
bool history_is_stretch(const struct history *history, uint32_t event);
/*
 * What lies from one time on and before another of a wait so long that ended then. Short waits that nobody looked at are one sample for all since
 * the last: of these it is an estimate.
 */
uint64_t history_wait_within(uint64_t end_ns, uint64_t length_ns, uint64_t from_ns, uint64_t to_ns);
/* The event of that time, which has one of its own. */
bool history_is_of_time(const struct history *history, uint32_t event, enum time_shown time);
/* Whether there is such an event. */
bool history_has_time(const struct history *history, enum time_shown time);
/* One whose time is_apart. Behind the event of waits. */
bool history_is_apart(const struct history *history, uint32_t event);
/* What weights of its samples count. */
enum weight_unit history_event_unit(const struct history *history, size_t event);
uint64_t history_event_samples(const struct history *history, size_t event); /* before the filter */
uint64_t history_event_weight_shown(const struct history *history, size_t event); /* after it */
uint64_t history_event_weight(const struct history *history, size_t event);	  /* of these */

/* What samples had, whether they passed the filter or not: to tell what a filter could have named. */
enum history_names { HISTORY_COMMS, HISTORY_MODULES };
/* The first `most` distinct ones, in the order of their first sample; modules are the leaves'. Borrowed. Returns their number. */
size_t history_names(const struct history *history, enum history_names which, const char **names,
		     size_t most);

/* True when a sample had the name, by the filter's own rule. */
bool history_has_name(const struct history *history, enum history_names which, const char *name);

/* ---- queries ---- */

/*
 * A function: frames of equal name in the same module; a frame without a name is its own function,
 * named "[module]" (or "[unknown]") by history_function_name(). Ids are stable for the history's life
 * unless names arrive later: history_update_names() may then start new ones.
 */
struct function_id {
	uint32_t index;
};
const char *history_function_name(const struct history *history,
				  struct function_id id); /* borrowed */
const char *history_function_module(const struct history *history,
				    struct function_id id); /* path */
/* The same without what tells it from others of its path. Looks at all modules. */
const char *history_function_path(const struct history *history, struct function_id id);
bool history_function_kernel(const struct history *history, struct function_id id);
bool history_function_named(const struct history *history, struct function_id id);
/* No symbol names it, but its module says where it begins: that, as module+0xoffset, is its name. */
bool history_function_bounded(const struct history *history, struct function_id id);
/* It was put into its callers by the compiler; where it is called by itself, that is another function. */
bool history_function_inlined(const struct history *history, struct function_id id);
/* In a grouped history the bytes in front of the function's own name, "main.c:12 "; of a module's all. */
size_t history_function_place_bytes(const struct history *history, struct function_id id);
/* Its name; of one that was inlined, marked as others mark those: "name (inlined)". Borrowed. */
const char *history_function_marked_name(const struct history *history, struct function_id id);

/* A function that the compiler put into the one before it; where: "", 0: not known. Borrowed. */
struct history_inlined {
	struct function_id function;
	const char *file;
	uint32_t line;
};
enum { HISTORY_INLINED_MAX = 64 };
/*
 * What was put in at a place that selection_code() gave out, the outermost first: how many; 0: nothing, or not known. Places are those
 * of the last refresh.
 */
size_t history_inlined_at(const struct history *history, uint32_t site,
			  struct history_inlined inlined[HISTORY_INLINED_MAX]);
/* Whether at both the same was put in by the same calls. */
bool history_is_inlined_alike(const struct history *history, uint32_t a, uint32_t b);

/* Whether any frame is of Go's runtime: then threads are not all that waits. Looks at all frames. */
bool history_has_go(const struct history *history);

/* Frames of a module, each as often as it was sampled, in stacks that count. */
struct history_unnamed {
	const char *path; /* borrowed */
	enum module_kind kind;
	struct module_names names;
	uint64_t frames; /* that have no name */
	uint64_t all_frames;
};
/* The modules that have frames without a name, by how many. *out is the caller's to free(). 0 or -ENOMEM. */
int history_unnamed(struct history *history, struct history_unnamed **out, size_t *nr);

/* ---- stacks, as selections give them out ---- */

struct history_frame {
	struct function_id function;
	uint32_t module; /* for history_module() */
	const char *
		module_name; /* the kernel's module that the function is in; NULL: none. Borrowed */
	uint64_t address;    /* look-up address in the module's space */
	uint32_t offset;     /* in the function; UINT32_MAX: unknown */
	enum frame_method method;
	const char *
		file; /* where in the function that is: the call of the next one, or the address. "": unknown. Borrowed */
	uint32_t line; /* 0: unknown */
	bool inlined;  /* into the frame before: of the same address */
};
/* A module: which file it is, or whose generated code. */
struct history_module_facts {
	const char *path;  /* borrowed, without what tells it from others of its path */
	const char *label; /* with it */
	enum module_kind kind;
	int32_t pid; /* of generated code */
	uint64_t started_ns;
	struct module_identity identity;
	struct module_names names;
};
struct history_module_facts history_module(const struct history *history, uint32_t module);

/* Time of the first sample of all, whatever the filter says; 0: there is none. */
uint64_t history_origin_ns(const struct history *history);

/* An address of a module that was in a stack, also as the place of a call. */
struct history_place {
	uint64_t address, start; /* start: of its function, if that is known */
	bool has_start;
	struct function_id function; /* whose code it is, whatever was inlined there */
	const char *file;	     /* of the line there; borrowed; line 0: not known */
	uint32_t line;
};
/* All of them, in no order; the caller frees *places. 0 or -ENOMEM. */
int history_places(struct history *history, uint32_t module, struct history_place **places,
		   size_t *nr);

/* The code of a function that was kept beside the samples; what is said of it is untrusted, as are its bytes. */
struct history_code {
	const uint8_t *bytes; /* borrowed until stacks are forgotten */
	uint32_t size;
	const char *name; /* likewise; "": what begins there is always the same function */
	uint64_t bias;	  /* added to frames' addresses gives elf addresses */
	uint64_t read_ns; /* in memory, at that time by CLOCK_MONOTONIC; 0: in a file */
	uint16_t machine;
	bool is_cut; /* the function goes on */
};
/*
 * Of the function of that name (NULL: none is known) that begins there: others may have been there before it, or after. False: none was
 * kept, or several, that are not the same.
 */
bool history_code(const struct history *history, uint32_t module, uint64_t start, const char *name,
		  struct history_code *code);
/* Calls each() once for all that was kept of the module; stops at the first nonzero, which it returns. */
int history_each_code(const struct history *history, uint32_t module,
		      int (*each)(void *context, uint64_t start, const struct history_code *code),
		      void *context);

struct history_stack {
	int32_t pid, tid;
	uint64_t started_ns; /* the process; 0: not known */
	const char *comm;
	uint32_t run; /* which of those that were merged, from 1; 0: there is one */
	uint32_t event;
	enum stack_end end;
	enum stack_reason reason;
	uint64_t samples, weight;
	double squares; /* of the weights of its samples, summed; of selection_each_stack() alone */
	const struct history_frame *frames; /* root first, borrowed until the next step */
	size_t nr_frames;
};
/* From a frame on: it and those inlined into it, at the same address. */
static inline size_t history_stack_steps(const struct history_stack *stack, size_t first)
{
	size_t nr = 1;
	while (first + nr < stack->nr_frames && stack->frames[first + nr].inlined)
		nr++;
	return nr;
}

/* ---- single samples, for exports and selections of time ---- */

struct history_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC of the machine that recorded */
	uint32_t cpu;
	uint32_t row; /* of its stack: the same in all that have it, until stacks are forgotten */
	struct history_stack stack; /* samples is 1, weight the sample's own */
};
/*
 * Calls each() once per sample kept, in the order of time, for those from from_ns on and before to_ns (0 and
 * UINT64_MAX: all); stops at the first nonzero, which it returns. 0 or -ENOMEM.
 */
int history_each_sample(struct history *history, uint64_t from_ns, uint64_t to_ns,
			int (*each)(void *context, const struct history_sample *sample),
			void *context);

/*
 * Where there were too many to be kept: their source is read once more, now that all is known that they refer to. What is
 * imported from now on is not counted again, but handed to each() in the order of time, those excepted that come later
 * than half of `most` others; history_each_sample() hands over the last ones. history_import() returns what each() said.
 */
void history_follow_samples(struct history *history,
			    int (*each)(void *context, const struct history_sample *sample),
			    void *context);

/* Whether slices are kept; all of them, ended, given to the caller: no more are kept. 0 or -ENOMEM; slices_release() is due in any case. */
bool history_keeps_slices(const struct history *history);
int history_take_slices(struct history *history, struct slices *slices);

/*
 * From now on only the first sample of a row comes with its stack. Of the others it is all zero but for samples and weight: to look
 * a stack up again costs more than all else that is done for a sample.
 */
void history_give_stacks_once(struct history *history);
/* Calls each() with the stacks of so many rows in turn, whose numbers row_of() has, from samples. 0, -ENOMEM or what each() said. */
int history_each_stack_of(struct history *history, size_t nr,
			  uint32_t (*row_of)(void *context, size_t i),
			  int (*each)(void *context, size_t i, const struct history_stack *stack),
			  void *context);

/* What a row's stack is besides its frames, of which there are none here. */
struct history_stack history_stack_facts(const struct history *history, uint32_t row);

/*
 * Stacks as whoever asks numbers them, step by step from the root; what stacks have in common from there on is asked about once. A step is a
 * frame, and those inlined into it.
 */
struct history_walk {
	/* *number: of the callers, then of these frames below them. 0 or -errno, which ends it. */
	int (*step)(void *context, const struct history_frame *frames, size_t nr, uint32_t *number);
	void *context;
	uint32_t root; /* the number above all frames */
	struct {
		struct walked {
			uint32_t number, nr_frames, function;
		} * items;
		size_t nr, capacity;
	} walked; /* the history's; empty at first */
};
/* The number of a row's stack. Names are those of history_update_names(). 0, -ENOMEM or what step() said. */
int history_walk(struct history *history, struct history_walk *walk, uint32_t row,
		 uint32_t *number);
void history_walk_release(struct history_walk *walk);

uint64_t history_bytes(const struct history *history); /* heap in use, for --stats */

#endif
