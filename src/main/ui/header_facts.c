/* SPDX-License-Identifier: MIT */
/*
 * Who is profiled, what was measured, and what is wrong with it. What is as it should be is not mentioned, or gives way: a
 * warning has its place first. Narrow screens have two lines; wide ones a second line for warnings that the first has no room for.
 */
#include <ctop/screen/header.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/terminal/theme.h>

enum { ITEMS_MOST = 24, ITEM_BYTES = 96, METER_COLS = 12 };
/* How it goes and what ctop costs, at the right end. */
enum { STATE_COLS_MOST = 50 };
/* So many times as many samples as would do if all stood for as much, and that is said. */
enum { UNEVEN_FROM = 2 };
/* A rate that is off by more is said. */
static const double RATE_TOLERANCE = 0.1;
/* Of the CPUs' time, to somebody else's virtual machine. */
static const double STOLEN_FROM_PERCENT = 2;
/* Events took turns on the counters: what starting and stopping costs is above. */
static const double SHARED_BELOW = 0.95;
/* Of the frames, so many without a name are usual. */
static const double UNNAMED_USUAL_PERCENT = 5, UNNAMED_BAD_PERCENT = 20;
/* So long a line that was needed for warnings stays: rows below it do not jump. */
static const uint64_t LINE_STAYS_NS = 10 * NS_PER_SECOND;

struct item {
	char text[ITEM_BYTES];
	enum role role;
	bool is_meter;
};

/* What belongs on the header's lines, most important first. */
struct items {
	struct item items[ITEMS_MOST];
	size_t nr;
};

static void add(struct items *items, enum role role, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct items *items, enum role role, const char *format, ...)
{
	if (items->nr == ITEMS_MOST)
		return;
	struct item *item = &items->items[items->nr++];
	*item = (struct item){.role = role};
	va_list args;
	va_start(args, format);
	vsnprintf(item->text, sizeof(item->text), format, args);
	va_end(args);
}

static void add_text(struct items *items, enum role role, struct text *text)
{
	add(items, role, "%s", text_string(text));
	text_clear(text);
}

/* ---- what is measured ---- */

static bool is_user_only(const char *event)
{
	const char *modifiers = strrchr(event, ':');
	return modifiers && strchr(modifiers, 'u') && !strchr(modifiers, 'k');
}

static void add_cpu(struct items *items, const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	if (facts->cpu_percent < 0)
		return;
	if (facts->nr_cpus)
		add(items, ROLE_TEXT, "busy %.0f%% of %" PRIu64 " CPUs",
		    facts->cpu_percent / (double)facts->nr_cpus, facts->nr_cpus);
	else
		add(items, ROLE_TEXT, "CPU %.0f%%%s", facts->cpu_percent,
		    header_is_wide(model) ? " of one" : "");
	if (!facts->knows_cpus || !header_is_wide(model))
		return;
	add(items, ROLE_TEXT, "%*s", METER_COLS, "");
	items->items[items->nr - 1].is_meter = true;
}

static void add_split(struct items *items, const struct model *model)
{
	const struct selection_totals *totals = &model->totals;
	if (!totals->weight || model->time ||
	    (model->facts.event && is_user_only(model->facts.event)))
		return;
	double kernel = 100.0 * (double)totals->kernel_weight / (double)totals->weight;
	add(items, ROLE_TEXT, "user %.0f kernel %.0f", 100 - kernel, kernel);
}

static void add_samples(struct items *items, const struct model *model, struct text *text)
{
	const uint64_t samples = model->totals.samples;
	if (samples >= 1000 && samples < 100000)
		text_addf(text, "%" PRIu64 ",%03" PRIu64, samples / 1000, samples % 1000);
	else
		header_add_count(text, samples);
	text_add(text, samples == 1 ? " sample" : " samples");
	add_text(items, ROLE_TEXT, text);
	/* Of time the CPU's share tells more. */
	if (model->facts.unit == WEIGHT_NS || !samples)
		return;
	header_add_count(text, model->totals.weight);
	text_addf(text, " %s", model_unit(model));
	add_text(items, ROLE_TEXT, text);
}

/* Of the time that the threads lived. */
static void add_times(struct items *items, const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	if (facts->running_percent + facts->runnable_percent + facts->waiting_percent > 0)
		add(items, ROLE_TEXT, "cpu %.0f%% run-queue %.0f%% waiting %.0f%%",
		    facts->running_percent, facts->runnable_percent, facts->waiting_percent);
}

static void add_event(struct items *items, const struct model *model, struct text *text)
{
	const struct ui_facts *facts = &model->facts;
	if (!facts->event)
		return;
	if (model->nr_events > 1)
		text_addf(text, "%u/%u ", model->event + 1, model->nr_events);
	if (model->time == TIME_SHOWN_WAIT)
		text_add(text, "waiting");
	else if (model->time == TIME_SHOWN_GOROUTINES)
		text_add(text, "parked goroutines");
	else if (model->time == TIME_SHOWN_WAKEUPS)
		text_add(text, "wakeups");
	else
		text_add_safe(text, facts->event);
	if (model->time == TIME_SHOWN_WALL)
		text_add(text, " + waiting");
	if (facts->frequency_hz) {
		text_addf(text, " %" PRIu64 " Hz", facts->frequency_hz);
	} else if (facts->period) {
		text_add(text, " -c ");
		header_add_count(text, facts->period);
	}
	add_text(items, ROLE_TEXT, text);
}

/* Of a file: of when and where it is. */
static void add_recorded(struct items *items, const struct model *model, struct text *text)
{
	text_add_safe(text, model->facts.recorded ? model->facts.recorded : "");
	add_text(items, ROLE_TEXT, text);
}

static double unnamed_percent(const struct model *model)
{
	const struct history_totals *all = &model->all;
	return all->frames ? 100.0 * (double)all->unsymbolized_frames / (double)all->frames : 0;
}

/* ---- what is wrong ---- */

/* "lost 12 (0.3%)!": a colour, and a mark for those who don't see it. */
static void warn_count(struct items *items, struct text *text, const char *what, uint64_t part,
		       uint64_t whole)
{
	if (!part)
		return;
	double percent = 100.0 * (double)part / (double)whole;
	text_addf(text, "%s ", what);
	header_add_count(text, part);
	text_addf(text, " (%.1f%%)!", percent < 0.05 ? 0.1 : percent);
	add_text(items, percent > 5 ? ROLE_BAD : ROLE_WARN, text);
}

static void warn_share(struct items *items, const char *what, uint64_t part, uint64_t whole,
		       double bad_percent)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;
	if (percent > 1)
		add(items, percent > bad_percent ? ROLE_BAD : ROLE_WARN, "%.0f%% of stacks %s!",
		    percent, what);
}

static void warn_of_rate(struct items *items, const struct model *model)
{
	const struct ui_facts *facts = &model->facts;
	double asked_hz = (double)facts->frequency_hz, reached_hz = facts->reached_hz;
	bool low = reached_hz < asked_hz * (1 - RATE_TOLERANCE);
	bool high = reached_hz > asked_hz * (1 + RATE_TOLERANCE);
	if (asked_hz > 0 && reached_hz > 0 && (low || high))
		add(items, ROLE_WARN, "%.0f Hz reached%s!", reached_hz,
		    high					   ? ""
		    : facts->stolen_percent >= STOLEN_FROM_PERCENT ? ": stolen"
		    : model->in_window.throttled		   ? ": throttled"
								   : "");
	if (facts->counted_share > 0 && facts->counted_share < SHARED_BELOW)
		add(items, ROLE_WARN, "counted %.0f%% of the time!", 100 * facts->counted_share);
}

/* Of the window shown, as the samples are; the info view has those of the whole run. */
static void warn_of_losses(struct items *items, const struct model *model, struct text *text)
{
	const struct losses_count *in = &model->in_window;
	if (model->facts.hides_losses)
		add(items, ROLE_WARN, "lost ?");
	warn_count(items, text, "lost", in->lost, in->lost + in->samples);
	warn_count(items, text, "dropped", in->dropped, in->dropped + in->samples);
	if (in->throttled)
		add(items, ROLE_WARN, "throttled %" PRIu64 "x!", in->throttled);
}

static void add_deadlock(struct items *items, const struct ui_facts *facts, struct text *text)
{
	text_clear(text);
	for (unsigned i = 0; i < facts->nr_deadlock; i++)
		text_addf(text, "%s%" PRId32, i ? ", " : "", facts->deadlock[i]);
	if (facts->nr_deadlock)
		add(items, ROLE_BAD, "deadlock: %s!", text_string(text));
	else if (facts->all_wait_for_locks)
		add(items, ROLE_DIM, "all wait for locks or conditions");
}

static void add_warnings(struct items *items, const struct model *model, struct text *text)
{
	const struct ui_facts *facts = &model->facts;
	const struct selection_totals *totals = &model->totals;
	add_deadlock(items, facts, text);
	const bool is_of_threads = model->time == TIME_SHOWN_WAIT || model->time == TIME_SHOWN_WALL;
	if (is_of_threads && model->time_events[TIME_SHOWN_GOROUTINES] != UINT32_MAX)
		add(items, ROLE_DIM, "threads; o: goroutines");
	else if (facts->has_go && is_of_threads)
		add(items, ROLE_WARN, "threads, not goroutines!");
	warn_of_losses(items, model, text);
	if (unnamed_percent(model) > UNNAMED_USUAL_PERCENT)
		add(items, unnamed_percent(model) > UNNAMED_BAD_PERCENT ? ROLE_BAD : ROLE_WARN,
		    "%.0f%% named!", 100 - unnamed_percent(model));
	warn_share(items, "cut", totals->ends[STACK_TRUNCATED], totals->samples, 20);
	warn_share(items, "broken", totals->ends[STACK_BROKEN], totals->samples, 20);
	warn_share(items, "folded", totals->folded, totals->samples, 50);
	if (facts->event && is_user_only(facts->event))
		add(items, ROLE_WARN, "user only!");
	if (facts->stolen_percent >= STOLEN_FROM_PERCENT)
		add(items, ROLE_WARN, "stolen %.0f%%!", facts->stolen_percent);
	warn_of_rate(items, model);
	/* Few samples carry most of it. */
	double effective = history_effective(totals->weight, totals->squares);
	if (facts->unit != WEIGHT_NS && effective * UNEVEN_FROM < (double)totals->samples)
		add(items, ROLE_WARN, "n_eff %.0f!", effective);
	if (facts->restarts)
		add(items, ROLE_WARN, "restarts %" PRIu64 "!", facts->restarts);
	if (facts->nr_fallbacks)
		add(items, ROLE_WARN, "%zu fallback%s!", facts->nr_fallbacks,
		    facts->nr_fallbacks == 1 ? "" : "s");
}

/* ---- lines ---- */

struct line {
	struct model *model;
	struct cells *cells;
	int row, col, end;
};

static const char separator[] = " · ";

static int item_cols(const struct line *line, const struct item *item)
{
	return (int)text_cols(item->text) + (line->col ? (int)text_cols(separator) : 0);
}

/* As htop has it: what is used, what the host took, what nobody wanted. */
static void draw_meter(const struct line *line, int col)
{
	const struct ui_facts *facts = &line->model->facts;
	const int room = METER_COLS - 2;
	int stolen = (int)(facts->stolen_percent * room / 100 + 0.5);
	int idle = (int)(facts->idle_percent * room / 100 + 0.5);
	cells_put(line->cells, line->row, col, 1, ROLE_DIM, "[");
	for (int i = 0; i < room - idle; i++) {
		bool used = i < room - idle - stolen;
		cells_put(line->cells, line->row, col + 1 + i, 1, used ? ROLE_LABEL : ROLE_WARN,
			  used ? "|" : "s");
	}
	cells_put(line->cells, line->row, col + METER_COLS - 1, 1, ROLE_DIM, "]");
}

/* False: there is no room for it, or for what is kept free. */
static bool put(struct line *line, const struct item *item, int kept)
{
	int cols = item_cols(line, item);
	if (!item->text[0] || line->col + cols + kept > line->end)
		return !item->text[0];
	if (line->col)
		line->col += cells_put(line->cells, line->row, line->col, line->end - line->col,
				       ROLE_DIM, separator);
	if (item->is_meter)
		draw_meter(line, line->col);
	else
		cells_put(line->cells, line->row, line->col, line->end - line->col, item->role,
			  item->text);
	line->col += (int)text_cols(item->text);
	return true;
}

/* At the right end; less room for the others. */
static void put_right(struct line *line, enum role role, unsigned attributes, const char *string)
{
	int cols = (int)text_cols(string);
	if (!cols || line->end - cols < line->col)
		return;
	line->end -= cols;
	cells_put(line->cells, line->row, line->end, cols, role, string);
	cells_mark(line->cells, (struct area){line->row, line->end, 1, cols}, attributes);
	line->end -= 2;
}

static int all_cols(const struct items *items)
{
	int cols = 0;
	for (size_t i = 0; i < items->nr; i++)
		cols += (int)text_cols(items->items[i].text) + (int)text_cols(separator);
	return cols;
}

/* As many as there is room for, the others on the next line; how many there are without a place stands there. */
static void put_warnings(struct line *line, struct line *next, const struct items *items)
{
	size_t missing = 0;
	for (size_t i = 0; i < items->nr; i++) {
		const struct item *item = &items->items[i];
		if (!put(line, item, 0) && !(next && put(next, item, 0)))
			missing++;
	}
	if (!missing)
		return;
	char text[16];
	int cols = snprintf(text, sizeof(text), "+%zu!", missing);
	int col = line->cells->cols - cols;
	cells_put(line->cells, line->row, col, cols, ROLE_WARN, text);
}

/* ---- how it goes ---- */

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

static void add_paused(struct text *text, const struct model *model)
{
	if (model->facts.state != UI_LIVE && model->facts.state != UI_FILE) {
		add_state_word(text, &model->facts);
		text_add(text, " ");
	}
	text_add(text, "PAUSED");
	header_add_age(text, model->now_ns - model->paused_ns);
	if (model->all.samples > model->samples_at_pause) {
		text_add(text, " +");
		header_add_count(text, model->all.samples - model->samples_at_pause);
	}
}

/* "LIVE last 10 s" at the right end: the window first, as it stands farther right. */
static void put_state(struct line *line, struct text *text)
{
	const struct model *model = line->model;
	bool plain =
		!model->paused && (model->facts.state == UI_LIVE || model->facts.state == UI_FILE);
	text_clear(text);
	model_add_window(model, text);
	put_right(line, ROLE_TEXT, 0, text_string(text));
	line->end += line->end < line->cells->cols; /* one blank between the two */
	text_clear(text);
	text_add(text, plain ? "" : " ");
	if (model->paused)
		add_paused(text, model);
	else
		add_state_word(text, &model->facts);
	text_add(text, plain ? "" : " ");
	put_right(line, plain ? ROLE_GOOD : ROLE_TITLE, plain ? 0 : CELL_REVERSE,
		  text_string(text));
	text_clear(text);
}

static void put_target(struct line *line, struct text *text)
{
	const char *target = line->model->facts.target;
	text_add_safe(text, target ? target : "");
	line->col += cells_put_cut(line->cells, line->row, line->col, line->end - line->col,
				   ROLE_TITLE, text_string(text));
	text_clear(text);
}

/* What ctop takes itself, where nothing else needs the room. */
static void put_cost(struct line *line, struct text *text)
{
	const struct ui_facts *facts = &line->model->facts;
	if (facts->own_cpu_percent < 0)
		return;
	text_addf(text, "ctop %.1f%%", facts->own_cpu_percent);
	if (line->col + (int)text_cols(text_string(text)) + 2 <= line->end)
		put_right(line, ROLE_DIM, 0, text_string(text));
	text_clear(text);
}

/* What is left of a line when the warnings have their place. */
static void put_measures(struct line *line, const struct items *items, int kept)
{
	for (size_t i = 0; i < items->nr; i++)
		put(line, &items->items[i], kept);
}

static void collect(const struct model *model, struct items *items, struct items *warnings,
		    struct text *text)
{
	add_cpu(items, model);
	add_split(items, model);
	add_samples(items, model, text);
	add_times(items, model);
	add_warnings(warnings, model, text);
}

/* On very wide screens what is wrong stands behind what is measured. */
static bool fits_one_line(const struct model *model)
{
	struct items items = {0}, warnings = {0};
	struct text text = {0};
	collect(model, &items, &warnings, &text);
	add_recorded(&items, model, &text);
	add_event(&items, model, &text);
	text_add_safe(&text, model->facts.target ? model->facts.target : "");
	const int target = (int)text_cols(text_string(&text));
	text_release(&text);
	return target + all_cols(&items) + all_cols(&warnings) + STATE_COLS_MOST <= model->cols;
}

static void draw_wide(struct line *first, struct items *items, const struct items *warnings,
		      struct text *text)
{
	struct line second = {first->model, first->cells, first->row + 1, 0, first->cells->cols};
	add_recorded(items, first->model, text);
	add_event(items, first->model, text);
	put_measures(first, items, 0);
	put_warnings(fits_one_line(first->model) ? first : &second, NULL, warnings);
	put_cost(first, text);
}

static void draw_narrow(struct line *first, const struct items *items, const struct items *warnings,
			struct text *text)
{
	const struct model *model = first->model;
	struct items event = {0};
	struct line second = {first->model, first->cells, first->row + 1, 0, first->cells->cols};
	int kept = all_cols(warnings), above = kept - second.end;
	put_measures(&second, items, kept < second.end ? kept : second.end);
	add_recorded(&event, model, text);
	add_event(&event, model, text);
	put_measures(first, &event, above > 0 ? above : 0);
	put_warnings(&second, first, warnings);
	put_cost(&second, text);
}

int header_rows(struct model *model)
{
	if (!header_is_wide(model))
		return 2;
	struct items warnings = {0};
	struct text text = {0};
	add_warnings(&warnings, model, &text);
	text_release(&text);
	if (warnings.nr)
		model->warned_ns = model->now_ns;
	bool warned = model->warned_ns && model->now_ns - model->warned_ns < LINE_STAYS_NS;
	return warned && !fits_one_line(model) ? 2 : 1;
}

void header_draw(struct model *model, struct cells *cells, int row)
{
	struct items items = {0}, warnings = {0};
	struct text text = {0};
	struct line first = {model, cells, row, 0, cells->cols};
	collect(model, &items, &warnings, &text);
	put_state(&first, &text);
	put_target(&first, &text);
	if (header_is_wide(model))
		draw_wide(&first, &items, &warnings, &text);
	else
		draw_narrow(&first, &items, &warnings, &text);
	text_release(&text);
}
