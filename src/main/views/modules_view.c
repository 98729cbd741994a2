/* SPDX-License-Identifier: MIT */
/* Modules by cost: where the names of their functions come from, why some are missing, and what would help. */
#include <stdlib.h>
#include <string.h>

#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

enum { FROM_COL = 16, FROM_COLS = 16 };

struct modules_view {
	struct view view;
	struct selection_modules rows;
	/* The remedy of a row, found once: it looks at all stacks. */
	struct text remedy;
	uint64_t remedy_of; /* 1 + module; 0: of none */
	struct text text;   /* scratch */
};

static struct modules_view *modules_of(struct view *view)
{
	return (struct modules_view *)view;
}

static const struct selection_module *row_of(const struct view *view, size_t row)
{
	return &((const struct modules_view *)view)->rows.items[row];
}

static int refresh(struct view *view, struct model *model)
{
	struct selection_modules *rows = &modules_of(view)->rows;
	int result = selection_modules(model->selection, rows);
	view->nr_rows = result ? 0 : rows->nr;
	modules_of(view)->remedy_of = 0;
	return result;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_modules *rows = &modules_of(view)->rows;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return row_of(view, row)->module;
}

static const char *module_at(const struct view *view, const struct model *model, size_t row)
{
	return history_module(model->history, row_of(view, row)->module).label;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct text *text = &modules_of(view)->text;
	const struct history_module_facts facts =
		history_module(model->history, row_of(view, row)->module);
	text_clear(text);
	text_add_safe(text, facts.label);
	if (facts.kind == MODULE_ANON)
		text_addf(text, " of process %d", facts.pid);
	return text_string(text);
}

static const char *copied_at(struct view *view, struct model *model, size_t row)
{
	struct modules_view *modules = modules_of(view);
	const uint32_t module = row_of(view, row)->module;
	if (modules->remedy_of != (uint64_t)module + 1) {
		text_clear(&modules->remedy);
		if (model->host->module_remedy)
			model->host->module_remedy(model->host->context, module, &modules->remedy);
		modules->remedy_of = (uint64_t)module + 1;
	}
	return text_string(&modules->remedy);
}

/* ---- drawing ---- */

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	const int name = line.col + FROM_COL + FROM_COLS, end = line.col + line.cols;
	const char *fetching = model->facts.fetching;
	const int cols = fetching ? (int)text_cols(fetching) : 0;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, "  SELF%  TOTAL% NAMES FROM");
	cells_put(cells, line.row, name, end - name, ROLE_TITLE, "MODULE");
	if (fetching && end - cols > name + FROM_COLS / 2)
		cells_put(cells, line.row, end - cols, cols, ROLE_LABEL, fetching);
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct selection_module *module = row_of(view, row);
	const struct module_names names = history_module(model->history, module->module).names;
	const double self = model_percent(model, module->self_weight),
		     total = model_percent(model, module->total_weight);
	const int name = line.col + FROM_COL + FROM_COLS;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 7, model_percent_role(model, self), "%6.1f",
		   self);
	cells_putf(cells, line.row, line.col + 8, 8, model_percent_role(model, total), "%7.1f",
		   total);
	cells_put(cells, line.row, line.col + FROM_COL, FROM_COLS - 1,
		  names.missing ? ROLE_WARN : ROLE_TEXT, names_from_name(names.from));
	const char *text = text_at(view, model, row), *slash = strrchr(text, '/');
	cells_put_cut(cells, line.row, name, line.col + line.cols - name, ROLE_MODULE,
		      slash && slash[1] ? slash + 1 : text);
}

/* Why names are missing, and what to type; what to type alone, where both have no room; the path where all names are there. */
static void draw_selected(struct view *view, struct model *model, struct cells *cells, int row)
{
	if (view->selected >= view->nr_rows)
		return;
	const uint32_t missing =
		history_module(model->history, row_of(view, view->selected)->module).names.missing;
	const char *remedy = copied_at(view, model, view->selected);
	struct text line = {0};
	if (!missing)
		text_add(&line, text_at(view, model, view->selected));
	else
		text_addf(&line, "%s%s%s", names_missing_text(missing), *remedy ? ": " : "",
			  remedy);
	const bool fits = !*remedy || (int)text_cols(text_string(&line)) <= cells->cols;
	cells_put_cut(cells, row, 0, cells->cols, ROLE_TEXT, fits ? text_string(&line) : remedy);
	text_release(&line);
}

/* ---- the pane beside the list ---- */

/* A label and below it a value, in as many lines as it takes. */
static void put(struct cells *cells, struct area *area, const char *label, enum role role,
		const char *value)
{
	if (area->rows < 2 || !*value)
		return;
	cells_put(cells, area->row, area->col, area->cols, ROLE_LABEL, label);
	area->row++, area->rows--;
	const int used = cells_put_wrapped(cells, *area, role, value);
	area->row += used + 1, area->rows -= used + 1;
}

static void draw_pane(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	const struct selection_module *row = row_of(view, view->selected);
	const struct history_module_facts facts = history_module(model->history, row->module);
	struct text build_id = {0}, unnamed = {0};
	for (int line = area.row; line < area.row + area.rows; line++)
		cells_put(cells, line, area.col, 1, ROLE_DIM, model->glyphs->vertical);
	area.col += 2;
	area.cols -= 2;
	if (facts.identity.build_id_size <= BUILD_ID_MAX)
		text_add_hex(&build_id, facts.identity.build_id, facts.identity.build_id_size);
	if (row->unnamed_weight)
		text_addf(&unnamed, "%.1f%% of its own",
			  100.0 * (double)row->unnamed_weight / (double)row->self_weight);
	put(cells, &area, "MODULE", ROLE_MODULE, text_at(view, model, view->selected));
	put(cells, &area, "BUILD-ID", ROLE_TEXT, text_string(&build_id));
	put(cells, &area, "NAMES FROM", ROLE_TEXT, names_from_name(facts.names.from));
	put(cells, &area, "WITHOUT A NAME", ROLE_TEXT, text_string(&unnamed));
	put(cells, &area, "WHY", ROLE_WARN, names_missing_text(facts.names.missing));
	put(cells, &area, "WHAT WOULD HELP (y copies it)", ROLE_TEXT,
	    copied_at(view, model, view->selected));
	text_release(&build_id);
	text_release(&unnamed);
}

static void modules_free(struct view *view)
{
	view_release(view);
	free(modules_of(view)->rows.items);
	text_release(&modules_of(view)->text);
	text_release(&modules_of(view)->remedy);
	free(view);
}

struct view *modules_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_MODULES,
		.refresh = refresh,
		.id_at = id_at,
		.reorder = reorder,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.draw_selected = draw_selected,
		.draw_pane = draw_pane,
		.text_at = text_at,
		.copied_at = copied_at,
		.module_at = module_at,
		.free = modules_free,
	};
	return view_new(&ops, sizeof(struct modules_view));
}
