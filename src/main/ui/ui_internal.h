/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_UI_INTERNAL_H
#define CTOP_UI_UI_INTERNAL_H

/* The interface's state: ui.c has its life and what comes in, actions.c what keys do, frame.c the screen, views.c which view is on it. */

#include <ctop/screen/model.h>
#include <ctop/screen/prompt.h>
#include <ctop/screen/view.h>
#include <ctop/ui/ui.h>

enum prompt_use { PROMPT_NONE, PROMPT_FIND, PROMPT_FILTER, PROMPT_EXPORT };

/* What it is of. */
struct pane_subject {
	struct view *view; /* NULL: of a function */
	uint64_t row;	   /* of the view: its id */
	struct function_id function;
};

/*
 * The pane beside a list: it costs more than all else on the screen, and comes one drawing after a key or a refresh, so
 * that the next key need not wait for it. Until then it stays as it was.
 */
struct side_pane {
	struct cells cells;
	struct pane_subject subject;
	unsigned generation; /* of the model, when it was drawn */
	bool late;	     /* the next drawing leaves it out */
	bool due;	     /* it was left out */
	unsigned
		wait; /* calls of ui_tick() before it is drawn: of very many stacks it takes long */
};

struct ui {
	struct ui_options options;
	struct ui_host host;
	struct model model;
	struct cells cells;
	struct side_pane pane;
	struct view *views[NR_ALL_VIEWS]; /* made when they are first shown */
	enum view_kind current,
		before,	 /* of the views that a number opens, where Esc leads back to */
		beneath; /* what help and info are shown over, and lead back to */
	enum prompt_use asking;
	struct prompt prompt;
	char found[sizeof(((struct prompt *)0)->text)]; /* what n looks for */
	struct text message;
	struct text copied;
	bool mouse, dirty;
	bool told_fallback;
	uint64_t fallback_until_ns; /* 0: message is another */
};

/* Takes the message back. */
void ui_hush(struct ui *ui);
/* The view on the screen; NULL: out of memory. */
struct view *ui_view(struct ui *ui);
/* Help or info: they leave for what they are shown over. */
bool ui_is_beside(enum view_kind kind);
void ui_show(struct ui *ui, enum view_kind kind);
/* The selected row's function. False: it has none. */
bool ui_selected_function(struct ui *ui, struct function_id *function);
const char *ui_selected_text(struct ui *ui); /* safe; "" when nothing is selected */

enum ui_wish ui_act(struct ui *ui, enum action action);
/* A key for the prompt that is open. */
void ui_answer(struct ui *ui, int key);

#endif
