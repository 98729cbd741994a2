/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_MODEL_H
#define CTOP_SCREEN_MODEL_H

/*
 * What the views show: a selection of the history, by a window of time and a stack of filters,
 * and how names are shown. Held still while paused.
 */

#include <ctop/grouping.h>
#include <ctop/base/function_name.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>
#include <ctop/screen/changes.h>
#include <ctop/screen/host.h>
#include <ctop/screen/keys.h>
#include <ctop/screen/losses.h>

/* One step of the filter stack. */
struct zoom {
	struct selection_criterion criterion;
	char *text; /* that the criterion points to; NULL */
	char label[160];
	bool is_range; /* of time, and no criterion */
	uint64_t from_ns, to_ns;
};

struct picked {
	int32_t *items;
	size_t nr, capacity;
};

enum { MODEL_TREND_SECONDS = 24, MODEL_ZOOMS_MAX = SELECTION_CRITERIA_MAX - 1 };

struct model {
	const struct ui_host *host;
	struct history *history; /* NULL: there is only the picker */
	struct selection *selection;
	struct ui_facts facts;
	struct history_totals all; /* since the start, nothing left out */
	struct selection_totals totals;
	struct losses losses;
	struct losses_count in_window;	     /* what was lost in it, as far as is known when */
	uint64_t trend[MODEL_TREND_SECONDS]; /* weight shown, second by second */
	const struct refusal *refusal;	     /* NULL: something can be sampled */
	const struct glyphs *glyphs;
	bool ascii;
	int cols; /* of the screen */

	/* time */
	uint64_t now_ns, end_ns; /* end_ns: of the window */
	uint64_t begun_s;	 /* the second in which "since the start" begins; 0: with the run */
	unsigned window;	 /* index of the window's length; 0: since the start */
	bool paused;
	uint64_t paused_ns, samples_at_pause;
	uint64_t hold_until_ns;	 /* rows keep their order: the user moves among them */
	uint64_t began_ns;	 /* last sample before the reset; 0: there was none */
	uint64_t execs, exec_ns; /* exec_ns: when the last was seen; 0: none was */

	uint64_t warned_ns; /* the header last had a warning; 0: never */

	/* filters */
	struct zoom zooms[MODEL_ZOOMS_MAX];
	size_t nr_zooms;
	const char *first_event;   /* to be shown as soon as it is known; NULL: as it is */
	uint32_t event, nr_events; /* samples of different events do not add up: one is shown */
	uint32_t time_events
		[NR_TIMES_SHOWN]; /* of times that have one of their own; UINT32_MAX: there is none */
	enum time_shown time;

	/* how things are shown */
	bool by_process;	/* the tree and the flame graph: as the selection has it */
	bool processes_chosen;	/* by the user; else only whole machines are shown by process */
	bool wants_processes;	/* that is what the user chose */
	enum grouping grouping; /* of the list of functions */
	enum name_level names;
	bool shows_callers; /* functions without samples of their own, too, while sorted by self */
	double least_percent; /* rows below are hidden */
	bool of_all; /* percent of all samples of the window, not of those that pass the filters */
	unsigned scroll; /* columns by which names are moved to the left */

	struct changes changes;
	struct function_id centre; /* of the sandwich */
	bool has_centre;
	struct function_id code_of; /* whose code is shown */
	bool has_code_of;
	struct picked picked; /* the processes chosen in the picker; none yet */
	const char *wanted;   /* what the picker begins to be filtered by; NULL: nothing */

	bool changed;	  /* a setting: refresh at once */
	struct text read; /* the notices that were read */
	int failure; /* -errno of what the last key asked for: told, as the model's users cannot; 0: it was done */
	unsigned generation;	 /* moves on when what views show is out of date */
	struct text told;	 /* what the last key has to say; empty: nothing */
	struct text name, chain; /* scratch */
};

int model_init(struct model *model); /* selections the history, if there is one. 0 or -ENOMEM */
void model_release(struct model *model);

/* Takes in what is new, and settings that have changed. 0 or -ENOMEM. */
int model_refresh(struct model *model, uint64_t now_ns);
/* Does some of the next refresh's work. */
bool model_advance(struct model *model);

/* ---- settings: they take effect at the next refresh ---- */

void model_pause(struct model *model, bool paused);
void model_next_window(struct model *model); /* since the start, or the last seconds */
void model_change_window(struct model *model, int step);
uint32_t model_window_s(const struct model *model); /* or SELECTION_SINCE_START */
/* What was before is forgotten, its memory is given back. 0, -ENOMEM, or -ENODATA: nothing more will come. */
int model_reset(struct model *model);
/* "last 10 s", "all"; "last 5 min, 180 s held!" when older seconds are forgotten. */
void model_add_window(const struct model *model, struct text *out);

/* What of the profile is shown: window, filters and share of the samples, for people. */
void model_describe(const struct model *model, struct text *out);

/* The notices that nobody has read yet: what facts.notices has from there on; NULL: all were read. */
const char *model_unread(const struct model *model);
void model_set_read(struct model *model); /* all of them */

/* What a key asked for could not be done: -errno. 0: nothing is noted. Of several the first is shown. */
void model_failed(struct model *model, int result);

/* Adds a step; text is copied. When the stack is full, or there is no memory, that is noted as a failure. */
void model_zoom(struct model *model, struct selection_criterion criterion, const char *label);
/* Takes back the last step. False: there is none. */
bool model_zoom_out(struct model *model);
/* A step that all views narrow to; the range before it is taken back. */
void model_set_range(struct model *model, uint64_t from_ns, uint64_t to_ns, const char *label);
const struct zoom *model_range(const struct model *model); /* NULL: none */
bool model_drop_range(struct model *model);		   /* false: there was none */
/* Said of a key, safe text. */
void model_tell(struct model *model, const char *message);
/* All, without the kernel, the kernel only. */
void model_cycle_kernel(struct model *model);

/* The next of several events. False: there is one only. */
bool model_next_event(struct model *model);

/* Computing, waiting, both. False: there is nothing but the first; *why. */
bool model_next_time(struct model *model, const char **why);
/* The event whose facts are told: that which is shown. */
uint32_t model_event_shown(const struct model *model);

/* Tells processes apart in the tree, or no longer. False: not while a subtree is all that is shown. */
bool model_toggle_processes(struct model *model);

void model_set_centre(struct model *model, struct function_id function);

/* ---- showing: strings are safe, and valid until the next call of any of these ---- */

const char *model_full_name(struct model *model, struct function_id function);
/* As short as is wished, and shorter where that is what so many columns need; names in full, and scrolled ones, are not shortened. */
const char *model_fit_name(struct model *model, struct function_id function, int cols);
/* The same of one that was inlined, and is known by its name alone. */
const char *model_fit_inlined(struct model *model, const char *name, int cols);
const char *model_module(struct model *model, struct function_id function); /* the file's name */
const char *model_fit_node_name(struct model *model, const struct selection_node *node, int cols);
const char *model_node_full_name(struct model *model, const struct selection_node *node);
bool model_node_is_kernel(const struct model *model, const struct selection_node *node);

/* What is counted, a word in the plural: "faults", of a clock "time". */
const char *model_unit(const struct model *model);

#endif
