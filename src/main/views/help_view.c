/* SPDX-License-Identifier: MIT */
/* The keys, made from their table: those of the view that help was asked from first. */
#include <stdlib.h>
#include <string.h>

#include <ctop/views/views.h>

struct help_row {
	const char *title;
	const struct key_row *key; /* NULL: a title or a blank line */
};

enum { HELP_ROWS_MOST = 2 * 128, LABEL_COLS = 11 };

struct help_view {
	struct view view;
	enum view_kind about;
	struct help_row rows[HELP_ROWS_MOST];
};

static void add(struct help_view *help, const char *title, const struct key_row *key)
{
	if (help->view.nr_rows < HELP_ROWS_MOST)
		help->rows[help->view.nr_rows++] = (struct help_row){title, key};
}

static void add_group(struct help_view *help, int group, bool of_view)
{
	bool titled = false;
	for (size_t i = 0; i < nr_key_rows; i++) {
		const struct key_row *key = &key_rows[i];
		bool here = key->views & VIEW_BIT(help->about);
		if ((int)key->group != group || !key->help || here != of_view)
			continue;
		if (!titled && of_view) {
			if (help->view.nr_rows)
				add(help, NULL, NULL);
			add(help, key_group_title((enum key_group)group), NULL);
		}
		titled = true;
		add(help, NULL, key);
	}
}

static int refresh(struct view *view, struct model *model)
{
	struct help_view *help = (struct help_view *)view;
	view->nr_rows = 0;
	if (changes_known(model)) {
		add(help, "Compared with another profile", NULL);
		add(help,
		    "  Red: more than there; blue: less, by more than noise. ~: within noise.",
		    NULL);
		add(help, "  Changes are of the whole profiles, whatever is filtered.", NULL);
		add(help, NULL, NULL);
	}
	for (int group = 0; group < NR_KEY_GROUPS; group++)
		add_group(help, group, true);
	add(help, NULL, NULL);
	add(help, "In other views", NULL);
	for (int group = 0; group < NR_KEY_GROUPS; group++)
		add_group(help, group, false);
	return 0;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	const struct help_view *help = (const struct help_view *)view;
	(void)model;
	cells_putf(cells, line.row, line.col, line.cols, ROLE_TITLE,
		   "Keys in the view %s (Esc leaves)", view_name(help->about));
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct help_row *help = &((const struct help_view *)view)->rows[row];
	(void)model;
	if (help->title)
		cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, help->title);
	if (!help->key)
		return;
	cells_put(cells, line.row, line.col + 2, LABEL_COLS, ROLE_KEY, help->key->label);
	cells_put_cut(cells, line.row, line.col + 2 + LABEL_COLS, line.cols - LABEL_COLS - 2,
		      ROLE_TEXT, help->key->help);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	(void)view;
	return row;
}

static void help_free(struct view *view)
{
	free(view);
}

struct view *help_view_new(enum view_kind about)
{
	static const struct view_ops ops = {
		.kind = VIEW_HELP,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.free = help_free,
	};
	struct view *view = view_new(&ops, sizeof(struct help_view));
	if (view)
		((struct help_view *)view)->about = about;
	return view;
}
