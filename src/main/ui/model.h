/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_MODEL_H
#define CTOP_UI_MODEL_H

/*
 * What the views show: a selection of the history, by a window of time and a stack of filters,
 * and how names and shares are shown. Held still while paused.
 */

#include <ctop/base/function_name.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>
#include <ctop/ui/ui.h>

#include "losses.h"

/* One step of the filter stack. */
struct zoom {
	struct selection_criterion criterion;
	char *text; /* that the criterion points to; NULL */
	char label[160];
};

enum { MODEL_TREND_SECONDS = 8, MODEL_ZOOMS_MAX = SELECTION_CRITERIA_MAX - 1 };

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

	/* filters */
	struct zoom zooms[MODEL_ZOOMS_MAX];
	size_t nr_zooms;
	const char *first_event;   /* to be shown as soon as it is known; NULL: as it is */
	uint32_t event, nr_events; /* samples of different events do not add up: one is shown */

	/* how things are shown */
	bool by_process;       /* the tree and the flame graph: as the selection has it */
	bool processes_chosen; /* by the user; else only whole machines are shown by process */
	bool wants_processes;  /* that is what the user chose */
	enum name_level names;
	double least_percent; /* rows below are hidden */
	bool of_all; /* percent of all samples of the window, not of those that pass the filters */
	unsigned scroll; /* columns by which names are moved to the left */

	struct function_id centre; /* of the sandwich */
	bool has_centre;
	int32_t picked_pid; /* the process chosen in the picker; 0: none yet */

	bool changed;	  /* a setting: refresh at once */
	struct text read; /* the notices that were read */
	int failure; /* -errno of what the last key asked for: told, as the model's users cannot; 0: it was done */
	unsigned generation;	 /* moves on when what views show is out of date */
	struct text name, bytes; /* scratch */
};

int model_init(struct model *model); /* selections the history, if there is one. 0 or -ENOMEM */
void model_release(struct model *model);

/* Takes in what is new, and settings that have changed. 0 or -ENOMEM. */
int model_refresh(struct model *model, uint64_t now_ns);
/* Does some of the next refresh's work. */
void model_advance(struct model *model);

/* ---- settings: they take effect at the next refresh ---- */

void model_pause(struct model *model, bool paused);
void model_next_window(struct model *model); /* since the start, or the last seconds */
void model_change_window(struct model *model, int step);
/* What was before is forgotten, its memory is given back. 0, -ENOMEM, or -ENODATA: nothing more will come. */
int model_reset(struct model *model);
/* "win 10s", "all"; "win 5m, 3m held!" when older seconds are forgotten. */
void model_add_window(const struct model *model, struct text *out);

/* What of the profile is shown: window, filters and share of the samples, for people. */
void model_describe(const struct model *model, struct text *out);

/* The notices that nobody has read yet: what facts.notices has from there on; NULL: all were read. */
const char *model_unread(const struct model *model);
void model_set_read(struct model *model); /* all of them */

/* What a key asked for could not be done: -errno. 0: nothing is noted. Of several the first is told. */
void model_failed(struct model *model, int result);

/* Adds a step; text is copied. When the stack is full, or there is no memory, that is noted as a failure. */
void model_zoom(struct model *model, struct selection_criterion criterion, const char *label);
/* Takes back the last step. False: there is none. */
bool model_zoom_out(struct model *model);
/* All, without the kernel, the kernel only. */
void model_cycle_kernel(struct model *model);

/* The next of several events. False: there is one only. */
bool model_next_event(struct model *model);

/* Tells processes apart in the tree, or no longer. False: not while a subtree is all that is shown. */
bool model_toggle_processes(struct model *model);

void model_set_centre(struct model *model, struct function_id function);

/* ---- showing: strings are safe, and valid until the next call of any of these ---- */

const char *model_name(struct model *model,
		       struct function_id function); /* as short as is wished */
const char *model_full_name(struct model *model, struct function_id function);
const char *model_module(struct model *model, struct function_id function); /* the file's name */
const char *model_node_name(struct model *model, const struct selection_node *node);
const char *model_node_full_name(struct model *model, const struct selection_node *node);
bool model_node_is_kernel(const struct model *model, const struct selection_node *node);

/* What is counted, a word in the plural: "faults", of a clock "time". */
const char *model_unit(const struct model *model);
double model_percent(const struct model *model, uint64_t weight);
/* Too small a share to be shown. */
bool model_hides(const struct model *model, uint64_t weight);
enum role model_percent_role(double percent);
/* Levels of a sparkline, `nr` cells, the largest count the highest. */
void model_put_trend(const struct model *model, struct cells *cells, int row, int col,
		     const uint64_t *counts, uint32_t nr);

#endif
