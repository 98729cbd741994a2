/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_TIMELINE_VIEW_H
#define CTOP_VIEWS_TIMELINE_VIEW_H

/*
 * What each thread did when: timeline_view.c has the rows, timeline_place.c which time is shown, timeline_draw.c the screen, timeline_keys.c what keys do. A row
 * is a thread, or all threads of a process, or of a cgroup.
 */

#include <ctop/history/timeline.h>
#include <ctop/screen/view.h>

enum timeline_order {
	TIMELINE_BY_NUMBER,
	TIMELINE_BY_COMPUTING,
	TIMELINE_BY_WAITING,
	NR_TIMELINE_ORDERS
};

enum timeline_grouping {
	TIMELINE_THREADS,
	TIMELINE_PROCESSES,
	TIMELINE_CGROUPS,
	NR_TIMELINE_GROUPINGS
};

struct timeline_line {
	size_t first, nr; /* of timeline_view.rows */
	int32_t pid, tid; /* tid -1: all of a process, or of a cgroup */
	uint64_t id;
	uint64_t ns[NR_THREAD_STATES];
};

struct timeline_view {
	struct view view;
	const struct timeline *timeline; /* as of the last refresh; NULL: none is kept */
	struct {
		struct timeline_line *items;
		size_t nr, capacity;
	} lines;
	struct {
		size_t *items; /* of the timeline: those of the first line, of the second, ... */
		size_t nr, capacity;
	} rows;
	enum timeline_grouping grouping;
	enum timeline_order order;
	/* What is on the screen; the moment of the cursor, and its column. */
	uint64_t from_ns, cell_ns, cursor_ns;
	int nr_cells, cursor;
	bool is_placed; /* it has been drawn once */
	bool follows;	/* the end stays in sight as it moves on */
	/* The marks of [ and ]; 0: none. */
	uint64_t mark_from_ns, mark_to_ns;
	/* Which stacks have the function that is looked for. */
	struct selection_named found; /* stacks NULL: nothing was looked for */
	char found_text[160];
	unsigned found_generation; /* of the model */
	/* The longest waits in turn. */
	size_t next_wait;
	struct timeline_moment moment; /* that was gone to last */
	bool has_moment;
	int cells_col, rows_row; /* of the screen, as drawn last: for clicks */
	uint64_t
		pressed_ns; /* when the cell begins that the mouse's button was pressed at; 0: none */
	struct {
		struct timeline_cell *items;
		size_t nr, capacity;
	} cells;		 /* scratch */
	struct function_id leaf; /* of the stack under the cursor, as drawn; index 0: none */
	struct text text;
};

static inline struct timeline_view *timeline_view_of(struct view *view)
{
	return (struct timeline_view *)view;
}

/* The path, untrusted, or that it is not known. */
static inline const char *timeline_view_cgroup(const struct timeline_view *timeline,
					       const struct timeline_line *line)
{
	const size_t row = timeline->rows.items[line->first];
	const char *path = timeline_cgroup(timeline->timeline,
					   timeline_thread(timeline->timeline, row)->cgroup);
	return path[0] ? path : "not known";
}

/* ---- timeline_place.c ---- */

/* Puts a moment under the cursor; what is on the screen moves as little as it must. */
void timeline_view_go(struct timeline_view *timeline, uint64_t time_ns);
/* A cell is so long, and the cursor stays where it is. */
void timeline_view_zoom(struct timeline_view *timeline, uint64_t cell_ns);
/* Moves the cursor, and what is on the screen where it must; or both, by so many cells. */
void timeline_view_step(struct timeline_view *timeline, int cells);
void timeline_view_pan(struct timeline_view *timeline, int64_t cells);
/* The stack under the cursor. False: none was seen near there. */
bool timeline_view_stack(const struct timeline_view *timeline, struct timeline_seen *seen);
/* Which stacks have a function of that name, in part. 0 or -ENOMEM. */
int timeline_view_look_for(struct timeline_view *timeline, struct model *model, const char *wanted);
/* So many cells are there for the time. */
void timeline_view_fit(struct timeline_view *timeline, int nr_cells);

/* ---- timeline_draw.c ---- */

void timeline_view_draw(struct view *view, struct model *model, struct cells *cells,
			struct area area);
/* "1.234567 s" since the first sample. */
void timeline_view_add_time(const struct timeline_view *timeline, uint64_t time_ns,
			    struct text *out);
void timeline_view_add_length(uint64_t ns, struct text *out);

/* ---- timeline_keys.c ---- */

bool timeline_view_act(struct view *view, struct model *model, enum action action);
bool timeline_view_find(struct view *view, struct model *model, const char *wanted, int step,
			bool with_selected);
bool timeline_view_click(struct view *view, int row, int col);
void timeline_view_let_go(struct view *view, struct model *model, int row, int col);

#endif
