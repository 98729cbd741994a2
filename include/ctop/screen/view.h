/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_VIEW_H
#define CTOP_SCREEN_VIEW_H

/*
 * A view: rows that are drawn, chosen among and acted upon. What is common to all, moving
 * and scrolling and finding, is here; a view adds what its rows are. Rows have
 * identities that outlive a refresh: the selection is kept by them.
 */

#include <ctop/screen/model.h>

/* A row of fewer samples (of one weight that are worth as much) says little: it is dimmed. */
enum { FEW_SAMPLES = 5 };

struct view;

struct view_ops {
	enum view_kind kind;
	/* Rebuilds the rows from the model: sets nr_rows. 0 or -ENOMEM. */
	int (*refresh)(struct view *view, struct model *model);
	uint64_t (*id_at)(const struct view *view, size_t row);
	/* Puts rows into another order: row i is to be what row order[i] was. 0 or -ENOMEM. NULL: rows have one order only. */
	int (*reorder)(struct view *view, const size_t *order);
	/* Before rows are drawn, unless they were the last time: which they are. NULL: nothing is to be prepared. */
	void (*prepare)(struct view *view, struct model *model, size_t first, size_t nr);
	void (*draw_title)(struct view *view, struct model *model, struct cells *cells,
			   struct area line);
	void (*draw_row)(struct view *view, struct model *model, struct cells *cells, size_t row,
			 struct area line);
	/* The row's text in full, safe to show: found by, shown below, copied. Valid until the model is asked for another. */
	const char *(*text_at)(struct view *view, struct model *model, size_t row);
	/* The row's function; false: it has none. NULL: no row has. */
	bool (*function_at)(const struct view *view, size_t row, struct function_id *function);
	/* What the row's process goes by, borrowed and untrusted, and its pid; NULL: the row is none. NULL: no row is. */
	const char *(*process_at)(const struct view *view, size_t row, int32_t *pid);
	/* What the row's module is called, borrowed and untrusted. NULL: rows are no modules. */
	const char *(*module_at)(const struct view *view, const struct model *model, size_t row);
	/* What is copied of the row, safe; "": its text. NULL: that of all. */
	const char *(*copied_at)(struct view *view, struct model *model, size_t row);
	/* The id of the row's path in SELECTION_TREE. NULL: rows are no such paths. */
	uint64_t (*subtree_at)(const struct view *view, size_t row);
	/* False: it is nothing to this view. NULL: no action is. */
	bool (*act)(struct view *view, struct model *model, enum action action);
	/* A key that is no action. False: it is nothing to this view. NULL: none is. */
	bool (*type)(struct view *view, struct model *model, int key);
	/* The line below the rows, instead of the selected row's text. NULL: as usual. */
	void (*draw_status)(struct view *view, struct cells *cells, int row);
	/* Like it, but a prompt or a message comes first. NULL: the selected row's text. */
	void (*draw_selected)(struct view *view, struct model *model, struct cells *cells, int row);
	/* Finds what is typed elsewhere than in rows' texts, as view_find(). NULL: there. */
	bool (*find)(struct view *view, struct model *model, const char *wanted, int step,
		     bool with_selected);
	/* The mouse, at a place of the screen. False: nothing is there. NULL: it chooses rows. */
	bool (*click)(struct view *view, int row, int col);
	/* The button is let go, after a click at this view. NULL: it is nothing to it. */
	void (*let_go)(struct view *view, struct model *model, int row, int col);
	/* What is known of the selected row, beside the list. NULL: what is known of its function. */
	void (*draw_pane)(struct view *view, struct model *model, struct cells *cells,
			  struct area area);
	/* Instead of rows, where a view is no list. NULL: it is one. */
	void (*draw)(struct view *view, struct model *model, struct cells *cells, struct area area);
	void (*free)(struct view *view);
};

struct view {
	const struct view_ops *ops;
	size_t nr_rows;
	size_t selected, first; /* first: at the top of the screen */
	int screen_row, height; /* of the rows on the screen, as drawn last */
	uint64_t selected_id;
	bool chosen;	 /* the user has moved: the selection follows its row, not its place */
	bool stale;	 /* settings of its own have changed */
	uint64_t *order; /* ids of the rows, as shown last */
	size_t nr_ordered;
	unsigned generation;
	bool is_prepared;
	size_t first_prepared, nr_prepared; /* rows */
};

/*
 * Puts rows in another order, for view_ops.reorder: items of `size` bytes, as they are to be by `order`.
 * 0 or -ENOMEM.
 */
int view_reorder(void *items, size_t nr, size_t size, const size_t *order);
/* A zeroed view of so many bytes, which begin with a struct view; NULL: out of memory. */
struct view *view_new(const struct view_ops *ops, size_t size);
void view_release(struct view *view); /* what all views have; their free() calls it */
/* Brings the rows up to date and finds the selected one again. 0 or -ENOMEM. */
int view_refresh(struct view *view, struct model *model);
void view_draw(struct view *view, struct model *model, struct cells *cells, struct area area);
/* Actions that all lists know, after the view's own. */
bool view_act(struct view *view, struct model *model, enum action action);
void view_select(struct view *view, size_t row);
/* Selects the next row whose text contains `wanted`, case ignored, from the one after (or before) the selected. */
bool view_find(struct view *view, struct model *model, const char *wanted, int step,
	       bool with_selected);
/* Whether `text` contains `wanted`, case of ASCII letters ignored. */
bool view_text_has(const char *text, const char *wanted);

/* A name at its place, moved to the left by the model's scroll, cut with a mark. */
void view_put_name(const struct model *model, struct cells *cells, int row, int col, int room,
		   enum role role, const char *name);

#endif
