/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_UI_H
#define CTOP_UI_UI_H

/*
 * The interface without a terminal: keys and refreshes in, a grid of cells out. It reads a
 * history and what its host tells of the run; it opens nothing, waits for nothing and
 * knows no clock but the times it is given. The host owns the loop, the session, the
 * terminal and the files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/grouping.h>
#include <ctop/time_shown.h>
#include <ctop/history/history.h>
#include <ctop/output/refusal_text.h>
#include <ctop/screen/host.h>
#include <ctop/screen/keys.h>
#include <ctop/terminal/cells.h>

struct ui_options {
	bool ascii;
	bool since_start;	/* begins with everything; else with the last seconds */
	double least_percent;	/* rows below are hidden */
	enum grouping grouping; /* of the list of functions */
	const char *event; /* to begin with, as opened or as asked; NULL: the first. Borrowed */
	enum time_shown time;
	enum view_kind view; /* the first one: VIEW_PICKER begins with a choice */
	const char *
		wanted; /* with VIEW_PICKER: what it is filtered by at first; NULL: nothing. Borrowed */
	const struct refusal *refusal; /* with VIEW_REFUSAL: what it shows. Borrowed */
};

/* What the loop is to do. */
enum ui_wish {
	UI_WISH_NONE,
	UI_WISH_QUIT,
	UI_WISH_SUSPEND,
	UI_WISH_REPAINT,
	UI_WISH_MOUSE,	 /* on or off: ui_mouse() */
	UI_WISH_COPY,	 /* ui_copied() to the clipboard */
	UI_WISH_PROFILE, /* ui_picked(): the processes chosen in the picker */
};

struct ui;

/* history may be NULL as long as the picker or a refusal is all there is. NULL: out of memory. */
struct ui *ui_new(const struct ui_options *options, const struct ui_host *host,
		  struct history *history);
void ui_free(struct ui *ui);

int ui_resize(struct ui *ui, int rows, int cols); /* 0 or -ENOMEM */
/* Takes in what is new; when to call it is the host's business (twice a second). 0 or -ENOMEM. */
int ui_refresh(struct ui *ui, uint64_t now_ns);
/* Does some of the next refresh's work, some ms, so that keys wait less for it. Several times between two. True: there is more. */
bool ui_advance(struct ui *ui);
/* Some 100 ms have passed since the last one: the pane waits for so many. */
void ui_tick(struct ui *ui);
enum ui_wish ui_key(struct ui *ui, int key);
/*
 * True when what ui_draw() would give has changed since. It may be so right after a draw: what takes long comes with
 * the next one, which should follow once there is nothing more urgent.
 */
bool ui_dirty(const struct ui *ui);
const struct cells *ui_draw(struct ui *ui); /* borrowed until the next call */

/* The host has more of the code that it was asked for. */
void ui_code_came(struct ui *ui);
bool ui_mouse(const struct ui *ui);
const char *ui_copied(const struct ui *ui);
const int32_t *ui_picked(const struct ui *ui, size_t *nr); /* borrowed until the next key */
/* A line for the user, shown until the next key. Safe text. */
void ui_tell(struct ui *ui, const char *message);

#endif
