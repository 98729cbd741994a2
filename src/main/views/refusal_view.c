/* SPDX-License-Identifier: MIT */
/* Why nothing can be sampled: one cause, and fixes by number to choose from and copy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/output/refusal_text.h>
#include <ctop/views/views.h>

enum { LINES_MOST = 256, COLS_LEAST = 20 };

struct refusal_view {
	struct view view;
	struct text text; /* lines, each ended by a NUL */
	struct text copy; /* of the row asked for last */
	const char *lines[LINES_MOST];
	uint8_t fix_of[LINES_MOST];
};

static struct refusal_view *refusal_of(struct view *view)
{
	return (struct refusal_view *)view;
}

/* The first fix is selected until the user chooses another. */
static void select_first_fix(struct refusal_view *view)
{
	for (size_t row = 0; row < view->view.nr_rows; row++)
		if (view->fix_of[row]) {
			view->view.selected = row;
			return;
		}
}

static int refresh(struct view *view, struct model *model)
{
	struct refusal_view *refusal = refusal_of(view);
	size_t cols = model->cols > COLS_LEAST ? (size_t)model->cols : COLS_LEAST;
	bool is_first = !view->nr_rows;
	memset(refusal->fix_of, 0, sizeof(refusal->fix_of));
	text_clear(&refusal->text);
	refusal_add(model->refusal, cols, &refusal->text, refusal->fix_of, LINES_MOST);
	if (refusal->text.failed)
		return -ENOMEM;
	view->nr_rows = 0;
	char *at = refusal->text.bytes;
	for (char *end; at && view->nr_rows < LINES_MOST && (end = strchr(at, '\n'));
	     at = end + 1) {
		*end = '\0';
		refusal->lines[view->nr_rows++] = at;
	}
	if (is_first)
		select_first_fix(refusal);
	return 0;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	(void)view;
	return row;
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct refusal_view *refusal = refusal_of(view);
	bool is_fix = refusal->fix_of[row];
	bool is_cause = row == 0 || !strncmp(refusal->lines[row], "Cause:", 6);
	(void)model;
	cells_put(cells, line.row, line.col, line.cols,
		  is_fix     ? ROLE_LABEL
		  : is_cause ? ROLE_WARN
			     : ROLE_TEXT,
		  refusal->lines[row]);
}

/* Of a line of a fix that one; of any other, the first. */
static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct refusal_view *refusal = refusal_of(view);
	size_t fix = refusal->fix_of[row];
	text_clear(&refusal->copy);
	if (model->refusal->nr_fixes)
		text_add_safe(&refusal->copy,
			      refusal_fix_text(&model->refusal->fixes[fix ? fix - 1 : 0]));
	return text_string(&refusal->copy);
}

static void refusal_free(struct view *view)
{
	text_release(&refusal_of(view)->text);
	text_release(&refusal_of(view)->copy);
	free(view);
}

struct view *refusal_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_REFUSAL,
		.refresh = refresh,
		.id_at = id_at,
		.draw_row = draw_row,
		.text_at = text_at,
		.free = refusal_free,
	};
	return view_new(&ops, sizeof(struct refusal_view));
}
