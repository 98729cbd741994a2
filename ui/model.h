/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_MODEL_H
#define CTOP_UI_MODEL_H

/*
 * What the views show: the answers to queries over the history, asked again when data or
 * settings have changed and somebody looks. Held still while paused.
 */

#include <ctop/profile/history.h>
#include <ctop/ui/ui.h>

struct model {
	const struct ui_host *host;
	struct history *history; /* NULL: there is only the picker */
	struct ui_facts facts;
	struct history_totals totals; /* of what is shown */
	const struct glyphs *glyphs;
	bool ascii, paused;
	double least_percent;
	uint64_t paused_ns, now_ns;
	uint64_t samples_at_pause;
	unsigned generation; /* moves on when answers are out of date */
	unsigned scroll;     /* columns by which names are moved to the left */
	/* answers, each as of its generation */
	struct function_cost *functions;
	size_t nr_functions;
	unsigned functions_generation;
	struct tree_node *tree;
	size_t nr_tree;
	unsigned tree_generation;
	int32_t picked_pid; /* the process chosen in the picker; 0: none yet */
	struct text name;   /* scratch */
};

void model_release(struct model *model);
int model_refresh(struct model *model, uint64_t now_ns);
void model_pause(struct model *model, bool paused);

/* Answers: borrowed until the next refresh. 0 or -ENOMEM. */
int model_functions(struct model *model);
int model_tree(struct model *model);

/* A function's name, safe to show, marked when it is the kernel's; valid until the next call of any of these. */
const char *model_name(struct model *model, struct function_id function);
const char *model_full_name(struct model *model, struct function_id function);
const char *model_module(struct model *model, struct function_id function);

/* "win 10s", "all". */
const char *model_window_name(struct model *model);
double model_percent(const struct model *model, uint64_t samples);
enum role model_percent_role(double percent);

#endif
