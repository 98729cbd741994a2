/* SPDX-License-Identifier: MIT */
#ifndef CTOP_QUERY_EVENT_COLUMNS_H
#define CTOP_QUERY_EVENT_COLUMNS_H

/*
 * Several events side by side: for the rows that a screen shows of a selection's event, what the others cost there, and the ratios
 * that people ask for where these events were sampled: instructions per cycle, misses per thousand instructions. Of groups and
 * instructions that is what they cost themselves, of a tree's rows all that they cost.
 */

#include <ctop/base/text.h>
#include <ctop/query/groups.h>

enum { EVENT_COLUMNS_MAX = 7, EVENT_RATIOS_MAX = EVENT_COLUMNS_MAX };

struct event_column {
	uint32_t event;
	bool is_wall;	/* computing and waiting, whatever the event */
	uint64_t whole; /* weight of all that is shown, or of what its rows are parts of */
	struct {
		struct selection_amount *items; /* by row */
		size_t nr, capacity;
	} costs;
};
struct event_ratio {
	size_t over, under; /* columns */
	unsigned scale;	    /* 1, or for so many of the lower one */
};
/* All zero at first. */
struct event_columns {
	struct event_column
		columns[1 + EVENT_COLUMNS_MAX]; /* the first: of the selection's own event */
	size_t nr;				/* 0 or 1: there is one event only */
	struct event_ratio ratios[EVENT_RATIOS_MAX];
	size_t nr_ratios;
	bool is_wall; /* the selection adds computing and waiting up: both have a column */
};
/*
 * Of the rows that selection_groups() gave out, in their order; events without samples are left out, and what is more than the
 * columns there are. 0 or -ENOMEM.
 */
int event_columns_take(struct event_columns *columns, struct selection *selection,
		       const struct history *history, enum grouping by,
		       const struct selection_groups *rows);
/* Without rows yet, which then are added one by one: of a tree, in the selection as it is. 0 or -ENOMEM. */
void event_columns_begin(struct event_columns *columns, const struct selection *selection,
			 const struct history *history);
int event_columns_add_node(struct event_columns *columns, struct selection *selection,
			   const struct selection_node *node);
/* What the function costs itself, then in all. */
int event_columns_add_function(struct event_columns *columns, struct selection *selection,
			       struct function_id function);
/* So many that cost nothing, to be filled in. */
int event_columns_add_empty(struct event_columns *columns, size_t nr);
void event_columns_clear_rows(struct event_columns *columns);
void event_columns_release(struct event_columns *columns);

/* What a column is called: the event's name, safe to show, in at most so many columns of a terminal. */
void event_column_add_name(const struct history *history, const struct event_column *column,
			   size_t cols, struct text *out);
/* "IPC", "misses/1k", or with more than one event of misses "cache-misses/1k". */
void event_ratio_add_name(const struct history *history, const struct event_columns *columns,
			  const struct event_ratio *ratio, size_t cols, struct text *out);
/*
 * "1.42", "~0.93" where chance may have made it off by more than a quarter, "-" where the lower event has no samples: by the
 * effective numbers of samples of both.
 */
void event_ratio_add(const struct event_columns *columns, const struct event_ratio *ratio,
		     size_t row, struct text *out);
bool event_ratio_is_known(const struct event_columns *columns, const struct event_ratio *ratio,
			  size_t row);
/* Whether any event has samples in a row. */
bool event_columns_have_samples(const struct event_columns *columns, size_t row);
/* How many samples it rests on, in few characters: those of the event that has fewer. Nothing where there is no ratio. */
void event_ratio_add_count(const struct event_columns *columns, const struct event_ratio *ratio,
			   size_t row, struct text *out);

#endif
