/* SPDX-License-Identifier: MIT */
#include <ctop/screen/header.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/terminal/theme.h>

enum { WIDE_COLS = 60, HEADER_WIDE_COLS = 110 };
enum { PROGRESS_COLS = 16 };
/* How long it is said that the target has become another program. */
enum { EXEC_SECONDS = 30 };
/* Values side by side on a line; one that has no room is left out, whole. */
struct strip {
	struct cells *cells;
	int row, col, end;
	struct text text; /* scratch */
};

/* The scratch text at the right end; less room for the others. */
static void add_right(struct strip *strip, enum role role, unsigned attributes)
{
	const char *string = text_string(&strip->text);
	int cols = (int)text_cols(string);
	if (cols && strip->end - cols >= strip->col) {
		strip->end -= cols;
		cells_put(strip->cells, strip->row, strip->end, cols, role, string);
		cells_mark(strip->cells, (struct area){strip->row, strip->end, 1, cols},
			   attributes);
		strip->end -= 2;
	}
	text_clear(&strip->text);
}

bool header_is_wide(const struct model *model)
{
	return model->cols >= HEADER_WIDE_COLS;
}

void header_add_count(struct text *text, uint64_t number)
{
	static const char units[] = "kMGTPE";
	double value = (double)number;
	int unit = -1;
	for (; value >= 999.95 && unit < 5; unit++)
		value /= 1000;
	if (unit < 0)
		text_addf(text, "%" PRIu64, number);
	else
		text_addf(text, value >= 99.95 ? "%.0f%c" : "%.1f%c", value, units[unit]);
}

void header_add_age(struct text *text, uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_SECOND;
	if (seconds < 120)
		text_addf(text, " %" PRIu64 "s", seconds);
	else
		text_addf(text, " %" PRIu64 "m", seconds / 60);
}

bool header_has_banner(const struct model *model)
{
	return model->exec_ns && model->now_ns - model->exec_ns < EXEC_SECONDS * NS_PER_SECOND;
}

void header_draw_banner(const struct model *model, struct cells *cells, int row)
{
	struct text text = {0};
	text_add(&text, " EXEC");
	header_add_age(&text, model->now_ns - model->exec_ns);
	text_add(&text, " ago: the target now runs ");
	text_add_safe(&text, model->facts.target ? model->facts.target : "another");
	text_add(&text, "; earlier samples are shown, too");
	cells_put_cut(cells, row, 0, cells->cols, ROLE_TITLE, text_string(&text));
	cells_mark(cells, (struct area){row, 0, 1, cells->cols}, CELL_REVERSE);
	text_release(&text);
}

bool header_has_notices(const struct model *model)
{
	return model_unread(model) != NULL;
}

void header_draw_notices(const struct model *model, struct cells *cells, int row)
{
	const char *unread = model_unread(model);
	struct text text = {0};
	size_t size = strcspn(unread, "\n"), more = 0;
	for (const char *at = unread + size; *at && at[1]; at = at + 1 + strcspn(at + 1, "\n"))
		more++;
	text_add(&text, "! ");
	text_add_bytes(&text, unread, size);
	struct text end = {0};
	if (more)
		text_addf(&end, " (+%zu)", more);
	text_add(&end, "  i: all");
	int room = cells->cols - (int)text_cols(text_string(&end));
	if (room > cells->cols / 2)
		cells_put(cells, row, room, cells->cols - room, ROLE_WARN, text_string(&end));
	else
		room = cells->cols;
	const int taken = cells_put_cut(cells, row, 0, room, ROLE_WARN, text_string(&text));
	for (int col = taken; col < room; col++) /* one bar */
		cells_put(cells, row, col, 1, ROLE_WARN, " ");
	cells_mark(cells, (struct area){row, 0, 1, cells->cols}, CELL_REVERSE);
	text_release(&end);
	text_release(&text);
}

void header_draw_filters(const struct model *model, struct cells *cells, int row)
{
	struct text text = {0};
	uint64_t all = model->totals.all_weight, shown = model->totals.weight;
	double percent = all ? 100.0 * (double)shown / (double)all : 0.0;
	/* Few are not none. */
	if (shown && percent < 0.05)
		text_add(&text, "<0.1%");
	else
		text_addf(&text, "%.*f%%", shown && percent < 1 ? 1 : 0, percent);
	if (cells->cols >= WIDE_COLS)
		text_addf(&text, " of %s shown  (Esc)", model_unit(model));
	else
		text_add(&text, " shown");
	struct strip strip = {.cells = cells, .row = row, .end = cells->cols, .text = text};
	add_right(&strip, ROLE_TEXT, 0);
	/* Esc takes back the last one: where there is no room for all, the first are left out. */
	size_t first = 0;
	do {
		text_clear(&strip.text);
		text_add(&strip.text, first ? "filter: .." : "filter: ");
		for (size_t i = first; i < model->nr_zooms; i++)
			text_addf(&strip.text, "%s%s", i ? " > " : "", model->zooms[i].label);
	} while ((int)text_cols(text_string(&strip.text)) > strip.end && ++first < model->nr_zooms);
	cells_put_cut(cells, row, 0, strip.end, ROLE_WARN, text_string(&strip.text));
	text_release(&strip.text);
}

/* The names of all views side by side, and what is around them. */
static int tabs_cols(void)
{
	int cols = 0;
	for (int view = 0; view < NR_VIEWS; view++)
		cols += (int)strlen(view_name((enum view_kind)view)) + 4;
	return cols;
}

/* Of what percentages are, and from which on rows are shown, as far as there is room. */
static void add_percent_of(struct strip *strip, const struct model *model)
{
	const char *unit = model->time == TIME_SHOWN_WAIT	  ? "the waiting"
			   : model->time == TIME_SHOWN_WALL	  ? "the time"
			   : model->time == TIME_SHOWN_GOROUTINES ? "what goroutines wait"
			   : model->time == TIME_SHOWN_WAKEUPS	  ? "the waits that ended"
			   : model->facts.unit == WEIGHT_NS	  ? "samples"
								  : model_unit(model);
	bool filtered = model->nr_zooms > 0;
	text_addf(&strip->text, "%% of %s%s%s", filtered && model->of_all ? "all " : "", unit,
		  filtered && !model->of_all ? " shown" : "");
	if (model->least_percent > 0)
		text_addf(&strip->text, ", from %g%%", model->least_percent);
	if (strip->end - (int)text_cols(text_string(&strip->text)) < strip->col) {
		text_clear(&strip->text);
		text_addf(&strip->text, "%% of %s", unit);
	}
	add_right(strip, ROLE_DIM, 0);
}

/* "[S System calls]": a view without a place of its own among the tabs has one while it is shown. "": it has a place. */
static void add_own_tab(struct text *out, enum view_kind current)
{
	for (size_t i = 0; i < nr_key_rows && (int)current >= NR_VIEWS; i++)
		if ((current == VIEW_CALLS && key_rows[i].action == ACTION_VIEW_CALLS) ||
		    (current == VIEW_MODULES && key_rows[i].action == ACTION_VIEW_MODULES) ||
		    (current == VIEW_TIMELINE && key_rows[i].action == ACTION_VIEW_TIMELINE) ||
		    (current == VIEW_CODE && key_rows[i].action == ACTION_VIEW_CODE))
			text_addf(out, "[%s %s]", key_rows[i].label, view_name(current));
}

void header_draw_tabs(const struct model *model, enum view_kind current, struct cells *cells,
		      int row)
{
	int col = 0;
	struct text own = {0};
	add_own_tab(&own, current);
	bool named = tabs_cols() + (int)own.size <= cells->cols;
	for (int view = 0; view < NR_VIEWS; view++) {
		bool shown = view == (int)current;
		int first = col;
		col += cells_putf(cells, row, col, cells->cols - col,
				  shown ? ROLE_TITLE : ROLE_TEXT, shown ? "[%d%s%s]" : " %d%s%s ",
				  view + 1, shown || named ? " " : "",
				  shown || named ? view_name((enum view_kind)view) : "");
		cells_mark(cells, (struct area){row, first, 1, col - first},
			   shown ? CELL_REVERSE : 0);
	}
	const int own_cols =
		cells_put_cut(cells, row, col, cells->cols - col, ROLE_TITLE, text_string(&own));
	cells_mark(cells, (struct area){row, col, 1, own_cols}, CELL_REVERSE);
	col += own_cols;
	text_release(&own);
	struct strip strip = {.cells = cells, .row = row, .col = col, .end = cells->cols};
	const struct losses_count *in = &model->in_window;
	if (in->lost + in->dropped + in->throttled > 0 && model->facts.state == UI_LIVE) {
		text_addf(&strip.text, "%s: < samples less",
			  in->lost	? "lost"
			  : in->dropped ? "dropped"
					: "throttled");
		add_right(&strip, ROLE_WARN, 0);
	}
	if (model->facts.state == UI_LOADING) {
		int done = (int)(model->facts.loaded * PROGRESS_COLS);
		for (int i = 0; i < PROGRESS_COLS; i++)
			text_add(&strip.text, i < done ? model->glyphs->block : ".");
		add_right(&strip, ROLE_LABEL, 0);
	}
	add_percent_of(&strip, model);
	text_release(&strip.text);
}

/* ---- nothing to see ---- */

/* A clock, or cycles: what does not happen without CPU time. */
static bool tells_cpu_time(const struct ui_facts *facts)
{
	return facts->unit == WEIGHT_NS || facts->unit == WEIGHT_CYCLES || !facts->event;
}

/* Whose samples the last filter keeps: "program spin", "process 42 worker". NULL: it is no such filter. */
static const char *kept_alone(const struct model *model, int *kind_bytes)
{
	const struct zoom *zoom = model->nr_zooms ? &model->zooms[model->nr_zooms - 1] : NULL;
	const char *name = zoom ? strchr(zoom->label, '=') : NULL;
	if (!name || zoom->criterion.drop ||
	    (zoom->criterion.what != SELECTION_PROGRAM &&
	     zoom->criterion.what != SELECTION_PROCESS && zoom->criterion.what != SELECTION_THREAD))
		return NULL;
	*kind_bytes = (int)(name - zoom->label);
	return name + 1;
}

/* What was chosen may have ended, or sleep: that is not what "no sample passes" tells. */
static void add_nothing_passes(const struct model *model, struct text *out)
{
	int kind_bytes = 0;
	const char *name = kept_alone(model, &kind_bytes);
	if (name)
		text_addf(out, "No samples of %.*s %s", kind_bytes,
			  model->zooms[model->nr_zooms - 1].label, name);
	else
		text_addf(out, "No sample passes the filter%s", model->nr_zooms > 1 ? "s" : "");
	if (model->window) {
		text_add(out, " in the ");
		model_add_window(model, out);
	}
	text_add(out, model->nr_zooms > 1 ? "; Esc undoes the last filter." : "; Esc shows all.");
}

static const char *why_empty(const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	if (facts->lost && !model->all.samples)
		return "All samples were lost: try a lower rate (-F) or larger rings (-m).";
	if (model_range(model) && model->all.samples)
		return model->nr_zooms > 1 ? "No samples in the range; Esc undoes the last filter."
					   : "No samples in the range; Esc shows all.";
	switch (facts->state) {
	case UI_LOADING:
		return "Reading the recording ...";
	case UI_OFF:
		return "Sampling is off. The signal USR1 switches it on.";
	case UI_LIVE:
		if (!tells_cpu_time(facts) && model->all.samples)
			return "No samples in this window: the event did not happen, or not often "
			       "enough for one. w shows all.";
		return facts->idle		? facts->idle
		       : !tells_cpu_time(facts) ? "No samples yet: the event has not happened, or "
						  "not often enough for one."
		       : model->all.samples ? "No samples in this window: the target used no CPU "
					      "time. w shows all."
					    : "No samples yet: the target has used no CPU time.";
	case UI_EXITED:
		return "The target ended before the first sample.";
	case UI_FILE:
		if (!facts->event || facts->hides_losses)
			return "No samples: the file has none, and does not say why.";
		break;
	case UI_STOPPED:
		break;
	}
	return tells_cpu_time(facts)
		       ? "No samples: the target used no CPU time while it was watched."
		       : "No samples of this event.";
}

void header_draw_empty(struct model *model, struct cells *cells, struct area area)
{
	struct text text = {0};
	const bool passes_none = model->totals.all_samples && !model->totals.samples;
	if (passes_none)
		add_nothing_passes(model, &text);
	else
		text_add_safe(&text, why_empty(model));
	if (model->facts.idle && !passes_none)
		text_add(&text, " 6 shows each thread, o where it waits.");
	struct area middle = {area.row + area.rows / 3, area.col + 2, area.rows - area.rows / 3,
			      area.cols - 4};
	cells_put_wrapped(cells, middle, ROLE_TEXT, text_string(&text));
	text_release(&text);
}
