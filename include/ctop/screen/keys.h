/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_KEYS_H
#define CTOP_SCREEN_KEYS_H

/*
 * One table of keys: it drives dispatch, the function bar, the help screen and the man
 * page's list.
 */

#include <stddef.h>

#include <ctop/base/text.h>
#include <ctop/terminal/key.h>

enum view_kind {
	VIEW_TOP,
	VIEW_TREE,
	VIEW_CALLERS,
	VIEW_SANDWICH,
	VIEW_FLAME,
	VIEW_THREADS,
	VIEW_PICKER,
	VIEW_INFO,
	VIEW_HELP,
	VIEW_CALLS,    /* system calls */
	VIEW_MODULES,  /* where names come from */
	VIEW_CODE,     /* one function's instructions */
	VIEW_TIMELINE, /* what each thread did when */
	VIEW_REFUSAL,  /* nothing can be sampled: why, and what helps */
	NR_ALL_VIEWS
};
enum { NR_VIEWS = VIEW_PICKER }; /* that a number key opens */

enum action {
	ACTION_NONE,
	ACTION_VIEW_TOP, /* in the order of enum view_kind */
	ACTION_VIEW_TREE,
	ACTION_VIEW_CALLERS,
	ACTION_VIEW_SANDWICH,
	ACTION_VIEW_FLAME,
	ACTION_VIEW_THREADS,
	ACTION_VIEW_CALLS,
	ACTION_VIEW_MODULES,
	ACTION_VIEW_CODE,
	ACTION_VIEW_TIMELINE,
	ACTION_NEXT_VIEW,
	ACTION_PREVIOUS_VIEW,
	ACTION_UP,
	ACTION_DOWN,
	ACTION_PAGE_UP,
	ACTION_PAGE_DOWN,
	ACTION_FIRST,
	ACTION_LAST,
	ACTION_OPEN,
	ACTION_CLOSE,
	ACTION_OPEN_SUBTREE,
	ACTION_OPEN_ALL,
	ACTION_CLOSE_ALL,
	ACTION_HOT_PATH,
	ACTION_NEXT_SPOT,
	ACTION_PREVIOUS_SPOT,
	ACTION_CODE,
	ACTION_ENTER,
	ACTION_MARK,
	ACTION_MARK_ALL,
	ACTION_PAN_LEFT,
	ACTION_PAN_RIGHT,
	ACTION_ZOOM_IN,
	ACTION_ZOOM_OUT,
	ACTION_RANGE_FROM,
	ACTION_RANGE_TO,
	ACTION_LONGEST_WAIT,
	ACTION_FIND,
	ACTION_FIND_NEXT,
	ACTION_FIND_PREVIOUS,
	ACTION_FILTER,
	ACTION_BACK,
	ACTION_ZOOM_THREAD,
	ACTION_ZOOM_MODULE,
	ACTION_ZOOM_KERNEL,
	ACTION_EVENT,
	ACTION_TIME,
	ACTION_FOCUS,
	ACTION_FOCUS_SUBTREE,
	ACTION_DROP,
	ACTION_SORT,
	ACTION_CALLERS_TOO,
	ACTION_INVERT,
	ACTION_GROUP,
	ACTION_PROCESSES,
	ACTION_RELATIVE,
	ACTION_LEAST,
	ACTION_PAUSE,
	ACTION_WINDOW,
	ACTION_SHORTER,
	ACTION_LONGER,
	ACTION_RESET,
	ACTION_LOWER,
	ACTION_NAMES,
	ACTION_SCROLL_LEFT,
	ACTION_SCROLL_RIGHT,
	ACTION_SANDWICH,
	ACTION_COPY,
	ACTION_EXPORT,
	ACTION_INFO,
	ACTION_HELP,
	ACTION_MOUSE,
	ACTION_REPAINT,
	ACTION_SUSPEND,
	ACTION_QUIT,
};

enum key_group {
	KEYS_VIEWS,
	KEYS_MOVE,
	KEYS_TREE,
	KEYS_TIMELINE,
	KEYS_FIND,
	KEYS_ZOOM,
	KEYS_SORT,
	KEYS_TIME,
	KEYS_NAMES,
	KEYS_ITEM,
	KEYS_GLOBAL,
	NR_KEY_GROUPS
};

enum { KEYS_A_ROW = 4 };

struct key_row {
	enum action action;
	int keys[KEYS_A_ROW]; /* 0: no more */
	enum key_group group;
	unsigned views;	   /* bits VIEW_BIT() of those it does something in */
	const char *bar;   /* in the function bar; NULL: not there */
	const char *label; /* the keys for people */
	const char *help;  /* one line */
};

#define VIEW_BIT(view) (1u << (view))

extern const struct key_row key_rows[];
extern const size_t nr_key_rows;

/* What a key does in a view; ACTION_NONE: nothing. */
enum action keys_action(int key, enum view_kind view);
const char *key_group_title(enum key_group group);
const char *view_name(enum view_kind view);
/* The man page's list of keys, in roff. */
void keys_add_man(struct text *out);

#endif
