/* SPDX-License-Identifier: MIT */
#include "header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/ui/theme.h>

/* On narrower screens the window stands on the second line. */
enum { WINDOW_ABOVE_COLS = 60, TREND_ABOVE_COLS = 60, WIDE_COLS = 60 };
enum { PROGRESS_COLS = 16 };
/* So many times as many samples as would do if all stood for as much, and that is said. */
enum { UNEVEN_FROM = 2 };
/* How long it is said that the target has become another program. */
enum { EXEC_SECONDS = 30 };
/* A rate that is off by more is said. */
static const double RATE_TOLERANCE = 0.1;
/* Of the CPUs' time, to somebody else's virtual machine. */
static const double STOLEN_FROM_PERCENT = 2;
/* Events took turns on the counters: what starting and stopping costs is above. */
static const double SHARED_BELOW = 0.95;

/* Values side by side on a line; one that has no room is left out, whole. */
struct strip {
	struct cells *cells;
	int row, col, end;
	struct text text; /* scratch */
	bool misses;	  /* a warning for which there was no room */
};

static void add(struct strip *strip, enum role role, unsigned attributes, const char *string)
{
	int cols = (int)text_cols(string), gap = strip->col ? 2 : 0;
	if (!cols)
		return;
	if (strip->col + gap + cols > strip->end) {
		strip->misses = strip->misses || role == ROLE_WARN || role == ROLE_BAD;
		return;
	}
	strip->col += gap;
	cells_put(strip->cells, strip->row, strip->col, cols, role, string);
	cells_mark(strip->cells, (struct area){strip->row, strip->col, 1, cols}, attributes);
	strip->col += cols;
}

/* The scratch text as a value. */
static void add_text(struct strip *strip, enum role role, unsigned attributes)
{
	add(strip, role, attributes, text_string(&strip->text));
	text_clear(&strip->text);
}

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

static void add_bytes(struct text *text, uint64_t bytes)
{
	uint64_t mebibytes = (bytes + (UINT64_C(1) << 19)) >> 20;
	text_addf(text, "%" PRIu64 "M", mebibytes ? mebibytes : 1);
}

/* ---- who and how ---- */

static void add_age(struct text *text, uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_SECOND;
	if (seconds < 120)
		text_addf(text, " %" PRIu64 "s", seconds);
	else
		text_addf(text, " %" PRIu64 "m", seconds / 60);
}

static void add_state_word(struct text *text, const struct ui_facts *facts)
{
	static const char *const words[] = {
		[UI_LIVE] = "LIVE",	[UI_OFF] = "SAMPLING OFF", [UI_STOPPED] = "STOPPED",
		[UI_EXITED] = "EXITED", [UI_FILE] = "FILE",	   [UI_LOADING] = "LOADING",
	};
	text_add(text, words[facts->state]);
	if (facts->state == UI_LOADING)
		text_addf(text, " %.0f%%", 100 * facts->loaded);
	if (facts->ending)
		text_addf(text, " %s", facts->ending);
}

static void add_state(struct strip *strip, const struct model *model)
{
	enum ui_state state = model->facts.state;
	struct text *text = &strip->text;
	if (model->paused) {
		text_add(text, " ");
		if (state != UI_LIVE && state != UI_FILE) {
			add_state_word(text, &model->facts);
			text_add(text, " ");
		}
		text_add(text, "PAUSED");
		add_age(text, model->now_ns - model->paused_ns);
		if (model->all.samples > model->samples_at_pause) {
			text_add(text, " +");
			header_add_count(text, model->all.samples - model->samples_at_pause);
		}
		text_add(text, " ");
		add_right(strip, ROLE_TITLE, CELL_REVERSE);
		return;
	}
	bool plain = state == UI_LIVE || state == UI_FILE;
	text_add(text, plain ? "" : " ");
	add_state_word(text, &model->facts);
	text_add(text, plain ? "" : " ");
	add_right(strip, plain ? ROLE_GOOD : ROLE_TITLE, plain ? 0 : CELL_REVERSE);
}

static bool is_user_only(const char *event)
{
	const char *modifiers = strrchr(event, ':');
	return modifiers && strchr(modifiers, 'u') && !strchr(modifiers, 'k');
}

/* Enough of it to be said. */
static bool is_stolen(const struct ui_facts *facts)
{
	return facts->stolen_percent >= STOLEN_FROM_PERCENT;
}

/* What was asked for, and how it came out where that is something else. */
static void add_event(struct strip *strip, const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	struct text *text = &strip->text;
	double asked_hz = (double)facts->frequency_hz, reached_hz = facts->reached_hz;
	bool off = asked_hz > 0 && reached_hz > 0 &&
		   (reached_hz < asked_hz * (1 - RATE_TOLERANCE) ||
		    reached_hz > asked_hz * (1 + RATE_TOLERANCE));
	if (model->nr_events > 1)
		text_addf(text, "%u/%u ", model->event + 1, model->nr_events);
	text_add_safe(text, facts->event);
	if (facts->frequency_hz) {
		text_addf(text, " %" PRIu64 "Hz", facts->frequency_hz);
	} else if (facts->period) {
		text_add(text, " -c ");
		header_add_count(text, facts->period);
	}
	add_text(strip, ROLE_TEXT, 0);
	if (off) {
		text_addf(text, "%.0fHz reached%s!", reached_hz,
			  reached_hz > asked_hz	       ? ""
			  : is_stolen(facts)	       ? ": stolen"
			  : model->in_window.throttled ? ": throttled"
						       : "");
		add_text(strip, ROLE_WARN, 0);
	}
	if (facts->counted_share > 0 && facts->counted_share < SHARED_BELOW) {
		text_addf(text, "counted %.0f%%%s!", 100 * facts->counted_share,
			  strip->cells->cols >= WIDE_COLS + 40 ? " of the time" : "");
		add_text(strip, ROLE_WARN, 0);
	}
}

static void draw_target(struct model *model, struct cells *cells, int row)
{
	const struct ui_facts *facts = &model->facts;
	struct strip strip = {.cells = cells, .row = row, .end = cells->cols};
	model_add_window(model, &strip.text);
	if (cells->cols >= WINDOW_ABOVE_COLS)
		add_right(&strip, ROLE_TEXT, 0);
	text_clear(&strip.text);
	add_state(&strip, model);
	text_add_safe(&strip.text, facts->target ? facts->target : "");
	if ((int)text_cols(text_string(&strip.text)) > strip.end && strip.end > 1) {
		size_t fits = text_fit(text_string(&strip.text), (size_t)strip.end - 1);
		strip.text.bytes[fits] = '~';
		strip.text.bytes[fits + 1] = '\0';
	}
	add_text(&strip, ROLE_TITLE, 0);
	if (facts->event) {
		add_event(&strip, model);
		bool user = is_user_only(facts->event);
		add(&strip, user ? ROLE_WARN : ROLE_TEXT, 0, user ? "user only!" : "user+kern");
	}
	if (facts->call_graph) {
		text_add_safe(&strip.text, facts->call_graph);
		add_text(&strip, ROLE_TEXT, 0);
	}
	if (facts->nr_steps_down) {
		text_addf(&strip.text, "%zu fallback%s!", facts->nr_steps_down,
			  facts->nr_steps_down == 1 ? "" : "s");
		add_text(&strip, ROLE_WARN, 0);
	}
	text_release(&strip.text);
}

/* ---- what was measured ---- */

/* "lost 12 0.3%!": a colour, and a mark for those who don't see it. */
static void add_quality(struct strip *strip, const char *name, uint64_t part, uint64_t whole,
			bool count, double bad_percent)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	text_addf(&strip->text, "%s ", name);
	if (count)
		header_add_count(&strip->text, part);
	if (count && part)
		text_add(&strip->text, " ");
	if (!count || part)
		text_addf(&strip->text, "%.1f%%", part && percent < 0.05 ? 0.1 : percent);
	bool bad = percent > bad_percent;
	bool warn = part && (count || percent > 1);
	text_add(&strip->text, bad || warn ? "!" : "");
	add_text(strip, bad ? ROLE_BAD : warn ? ROLE_WARN : ROLE_TEXT, 0);
}

/* What is not as it should be is worth more than a picture, and more than what we cost. */
enum without { WITHOUT_NOTHING, WITHOUT_TREND, WITHOUT_COST };

/* "cpu 187%", of whole CPUs "busy 42% of 8", "stolen 12%!" where the host took it; behind it how many samples came, second by second. */
static void add_cpu(struct strip *strip, const struct model *model, enum without without)
{
	const struct ui_facts *facts = &model->facts;
	if (facts->cpu_percent >= 0 && facts->nr_cpus)
		text_addf(&strip->text, "busy %.0f%% of %" PRIu64,
			  facts->cpu_percent / (double)facts->nr_cpus, facts->nr_cpus);
	else if (facts->cpu_percent >= 0)
		text_addf(&strip->text, "cpu %.0f%%", facts->cpu_percent);
	add_text(strip, ROLE_TEXT, 0);
	if (is_stolen(facts)) {
		text_addf(&strip->text, "stolen %.0f%%!", facts->stolen_percent);
		add_text(strip, ROLE_WARN, 0);
	}
	if (strip->cells->cols < TREND_ABOVE_COLS || without > WITHOUT_NOTHING)
		return;
	strip->col += strip->col ? 1 : 0;
	model_put_trend(model, strip->cells, strip->row, strip->col, model->trend,
			MODEL_TREND_SECONDS);
	strip->col += MODEL_TREND_SECONDS;
}

/* Of the window shown, as the samples are; the info view has those of the whole run. */
static void add_losses(struct strip *strip, const struct model *model)
{
	const struct losses_count *in = &model->in_window;
	if (model->facts.hides_losses)
		add(strip, ROLE_WARN, 0, "lost ?");
	else
		add_quality(strip, "lost", in->lost, in->lost + in->samples, true, 5);
	if (in->dropped)
		add_quality(strip, "dropped", in->dropped, in->dropped + in->samples, true, 5);
}

/* What the samples stand for. Of time the CPU's share tells more. */
static void add_weight(struct strip *strip, const struct model *model)
{
	if (model->facts.unit == WEIGHT_NS || !model->totals.samples)
		return;
	text_addf(&strip->text, "%s ", model_unit(model));
	header_add_count(&strip->text, model->totals.weight);
	add_text(strip, ROLE_TEXT, 0);
	/* Few samples carry most of it. */
	double effective = history_effective(model->totals.weight, model->totals.squares);
	if (effective * UNEVEN_FROM < (double)model->totals.samples) {
		text_addf(&strip->text, "n_eff %.0f!", effective);
		add_text(strip, ROLE_WARN, 0);
	}
}

/* False: something that is not as it should be had no room. */
static bool draw_measures_without(enum without without, struct model *model, struct cells *cells,
				  int row)
{
	const struct ui_facts *facts = &model->facts;
	const struct history_totals *all = &model->all;
	const struct selection_totals *totals = &model->totals;
	struct strip strip = {.cells = cells, .row = row, .end = cells->cols};
	struct text *text = &strip.text;
	if (cells->cols < WINDOW_ABOVE_COLS) {
		model_add_window(model, text);
		add_right(&strip, ROLE_TEXT, 0);
	} else if (facts->own_cpu_percent >= 0 && without < WITHOUT_COST) {
		text_addf(text, "ctop %.1f%% ", facts->own_cpu_percent);
		add_bytes(text, facts->own_bytes);
		add_right(&strip, ROLE_TEXT, 0);
	}
	add_cpu(&strip, model, without);
	text_add(text, "samples ");
	header_add_count(text, totals->samples);
	add_text(&strip, ROLE_TEXT, 0);
	add_weight(&strip, model);
	add_losses(&strip, model);
	add_quality(&strip, "trunc", totals->ends[STACK_TRUNCATED], totals->samples, false, 20);
	if (totals->ends[STACK_BROKEN])
		add_quality(&strip, "broken", totals->ends[STACK_BROKEN], totals->samples, false,
			    20);
	add_quality(&strip, "unsym", all->unsymbolized_frames, all->frames, false, 20);
	if (model->in_window.throttled) {
		text_addf(text, "throttled %" PRIu64 "x!", model->in_window.throttled);
		add_text(&strip, ROLE_WARN, 0);
	}
	if (facts->restarts) {
		text_addf(text, "restarts %" PRIu64 "!", facts->restarts);
		add_text(&strip, ROLE_WARN, 0);
	}
	/* Stacks that the history had no room for. */
	if (totals->folded)
		add_quality(&strip, "folded", totals->folded, totals->samples, false, 50);
	if (facts->state == UI_LIVE || facts->state == UI_FILE) {
		text_addf(text, "%.0f/s", facts->rate_hz);
		add_text(&strip, ROLE_TEXT, 0);
	}
	text_release(text);
	return !strip.misses;
}

static void draw_measures(struct model *model, struct cells *cells, int row)
{
	enum without without = WITHOUT_NOTHING;
	while (!draw_measures_without(without, model, cells, row) && without++ < WITHOUT_COST)
		cells_blank(cells, (struct area){row, 0, 1, cells->cols});
}

void header_draw(struct model *model, struct cells *cells, int row)
{
	draw_target(model, cells, row);
	draw_measures(model, cells, row + 1);
}

bool header_has_banner(const struct model *model)
{
	return model->exec_ns && model->now_ns - model->exec_ns < EXEC_SECONDS * NS_PER_SECOND;
}

void header_draw_banner(const struct model *model, struct cells *cells, int row)
{
	struct text text = {0};
	text_add(&text, " EXEC");
	add_age(&text, model->now_ns - model->exec_ns);
	text_add(&text, " ago: the program became ");
	text_add_safe(&text, model->facts.target ? model->facts.target : "another");
	text_add(&text, "; what was before is shown, too");
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
	cells_put_cut(cells, row, 0, room, ROLE_WARN, text_string(&text));
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

void header_draw_tabs(const struct model *model, enum view_kind current, struct cells *cells,
		      int row)
{
	int col = 0;
	bool named = tabs_cols() <= cells->cols;
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
	struct strip strip = {.cells = cells, .row = row, .col = col, .end = cells->cols};
	if (model->in_window.lost + model->in_window.dropped > 0 && model->facts.state == UI_LIVE) {
		text_add(&strip.text,
			 model->in_window.lost ? "lost: -F less, -m more" : "lower -F!");
		add_right(&strip, ROLE_WARN, 0);
	}
	if (model->facts.state == UI_LOADING) {
		int done = (int)(model->facts.loaded * PROGRESS_COLS);
		for (int i = 0; i < PROGRESS_COLS; i++)
			text_add(&strip.text, i < done ? model->glyphs->block : ".");
		add_right(&strip, ROLE_LABEL, 0);
	}
	if (model->least_percent > 0) {
		text_addf(&strip.text, "rows from %g%%", model->least_percent);
		add_right(&strip, ROLE_DIM, 0);
	}
	text_release(&strip.text);
}

/* ---- nothing to see ---- */

/* A clock, or cycles: what does not happen without CPU time. */
static bool tells_cpu_time(const struct ui_facts *facts)
{
	return facts->unit == WEIGHT_NS || facts->unit == WEIGHT_CYCLES || !facts->event;
}

static const char *why_empty(const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	const struct selection_totals *totals = &model->totals;
	if (totals->all_samples && !totals->samples)
		return "No sample passes the filter. Esc undoes it.";
	if (facts->lost && !model->all.samples)
		return "All samples were lost: try a lower rate (-F) or larger rings (-m).";
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
	text_add_safe(&text, why_empty(model));
	struct area middle = {area.row + area.rows / 3, area.col + 2, area.rows - area.rows / 3,
			      area.cols - 4};
	cells_put_wrapped(cells, middle, ROLE_TEXT, text_string(&text));
	text_release(&text);
}
