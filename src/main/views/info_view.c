/* SPDX-License-Identifier: MIT */
/* How the profile is made, and how good it is: lines of text from the host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/views/views.h>

struct info_view {
	struct view view;
	struct text text; /* lines, each ended by a NUL */
	const char **lines;
};

static struct info_view *info_of(struct view *view)
{
	return (struct info_view *)view;
}

static int refresh(struct view *view, struct model *model)
{
	struct info_view *info = info_of(view);
	text_clear(&info->text);
	model_set_read(model); /* they stand among the lines */
	model->host->info(model->host->context, model_event_shown(model), model->time, &info->text);
	size_t nr = 0;
	for (size_t i = 0; i < info->text.size; i++)
		nr += info->text.bytes[i] == '\n';
	const char **lines = reallocarray(info->lines, nr + 1, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	info->lines = lines;
	view->nr_rows = 0;
	char *at = info->text.bytes;
	for (char *end; at && (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		lines[view->nr_rows++] = at;
	}
	return 0;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	(void)view;
	return row;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	(void)model;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE,
		  "How this profile is made (Esc leaves)");
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	(void)model;
	cells_put_cut(cells, line.row, line.col, line.cols, ROLE_TEXT, info_of(view)->lines[row]);
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	(void)model;
	const char *line = info_of(view)->lines[row];
	return line + strspn(line, " ");
}

static void info_free(struct view *view)
{
	free(info_of(view)->lines);
	text_release(&info_of(view)->text);
	free(view);
}

struct view *info_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_INFO,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.text_at = text_at,
		.free = info_free,
	};
	return view_new(&ops, sizeof(struct info_view));
}
