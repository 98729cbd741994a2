/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/compare/compare.h>
#include <ctop/compare/text.h>
#include <ctop/interactive/interact.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/output/save.h>
#include <ctop/output/say.h>
#include <ctop/query/selection.h>
#include <ctop/report/load.h>
#include <ctop/report/numbers.h>
#include <ctop/report/label_line.h>
#include <ctop/report/report_header.h>

/* What of a run weights are divided by. */
enum divisor { PER_TOTAL, PER_RUN, PER_SECOND, PER_EVENT };

struct diff {
	const struct options *options;
	struct error *error;
	struct compare *compare;
	enum divisor divisor;
	/* The first run's event: the others must have it, too. */
	char *event;
	enum weight_unit unit, per_unit;
	char *first, *last; /* files of the first run and of the last */
	/* Of each side: runs, and sums over them. */
	size_t nr_runs[NR_COMPARE_SIDES];
	uint64_t weight[NR_COMPARE_SIDES];
	double per[NR_COMPARE_SIDES];
	struct text runs;			/* lines of the header */
	struct text measured[NR_COMPARE_SIDES]; /* of a page: what the report says of each run */
};

static int out_of_memory(struct error *error)
{
	return error_set(error, -ENOMEM, "out of memory");
}

/* ---- which event ---- */

/* Exactly, as opened or as asked, as in all filters; SIZE_MAX: none. */
static size_t find_event(const struct history *history, const char *name)
{
	for (size_t i = 0; i < history_nr_events(history); i++) {
		const char *asked = history_event_asked(history, i);
		if (!strcmp(history_event_name(history, i), name) ||
		    (asked && !strcmp(asked, name)))
			return i;
	}
	return SIZE_MAX;
}

static size_t first_sampled(const struct history *history)
{
	for (size_t i = 0; i < history_nr_events(history); i++)
		if (history_event_samples(history, i))
			return i;
	return SIZE_MAX;
}

static void add_events(struct text *text, const struct history *history)
{
	const char *before = "";
	for (size_t i = 0; i < history_nr_events(history); i++) {
		if (!history_event_samples(history, i))
			continue;
		text_add(text, before);
		text_add_safe(text, history_event_name(history, i));
		before = ", ";
	}
}

static int refuse_event(const struct diff *diff, const struct history *history, const char *file,
			const char *event)
{
	struct text there = {0};
	add_events(&there, history);
	if (!there.size)
		error_set(diff->error, -ENODATA, "'%s' has no samples", file);
	else
		error_set(diff->error, -ENODATA, "'%s' has no samples of %s, but of %s", file,
			  event, text_string(&there));
	text_release(&there);
	return error_remedy(diff->error,
			    "compare recordings of the same events: ctop record -e %s -o FILE, or "
			    "choose with --event",
			    event ? event : "EVENT");
}

/* The event that is compared. 0 or an error. */
static int choose_event(struct diff *diff, const struct history *history, const char *file,
			size_t *event)
{
	const char *of_time = time_shown_event(diff->options->time);
	const char *asked = of_time ? of_time : diff->options->event;
	const char *wanted = diff->event ? diff->event : asked;
	*event = wanted ? find_event(history, wanted) : first_sampled(history);
	if (*event == SIZE_MAX || !history_event_samples(history, *event))
		return refuse_event(diff, history, file, wanted);
	const char *name = history_event_name(history, *event);
	if (diff->options->time == TIME_SHOWN_WALL &&
	    history_event_unit(history, *event) != WEIGHT_NS) {
		error_set(diff->error, -EINVAL, "%s is no time: it does not add up with waiting",
			  name);
		return error_remedy(diff->error, "leave out --time, or compare a clock");
	}
	if (!diff->event) {
		diff->event = strdup(name);
		diff->unit = history_event_unit(history, *event);
		diff->first = strdup(file);
		return diff->event && diff->first ? 0 : out_of_memory(diff->error);
	}
	if (!strcmp(name, diff->event) && history_event_unit(history, *event) == diff->unit)
		return 0;
	error_set(diff->error, -EINVAL, "'%s' has samples of %s, '%s' of %s: they do not compare",
		  diff->first, diff->event, file, name);
	return error_remedy(diff->error, "record both with the same -e");
}

/* ---- what it is divided by ---- */

static double seconds_of(const struct options *options, const struct history *history,
			 const struct history_totals *totals)
{
	struct run_facts facts = {0};
	run_facts_read(history, FACT_RECORDED, &facts);
	const uint64_t ns =
		facts.duration_ns ? facts.duration_ns : totals->last_ns - totals->first_ns;
	const double all = (double)ns / (double)NS_PER_SECOND;
	const double to =
		options->to_seconds > 0 && options->to_seconds < all ? options->to_seconds : all;
	return to - options->from_seconds;
}

/* What passes the filter, of one event. */
static int select_event(struct selection *selection, size_t event, bool waits)
{
	const struct selection_criterion criterion = {
		.what = SELECTION_EVENT, .number = (int32_t)event, .waits = waits};
	int result = selection_set_filter(selection, &criterion, 1);
	return result ? result : selection_refresh(selection, UINT64_MAX);
}

/* Its samples, which are drawn by chance as others are. */
static int divide_by_event(struct diff *diff, const struct history *history,
			   struct selection *selection, const char *file,
			   struct compare_divisor *divisor)
{
	const char *what = diff->options->per;
	const size_t event = find_event(history, what);
	if (event != SIZE_MAX) {
		if (select_event(selection, event, false))
			return out_of_memory(diff->error);
		const struct selection_totals totals = selection_totals(selection);
		divisor->per = (double)totals.weight;
		diff->per_unit = history_event_unit(history, event);
		if (divisor->per > 0) {
			divisor->variance = totals.squares / (divisor->per * divisor->per);
			return 0;
		}
	}
	error_set(diff->error, -ENODATA, "'%s' has no samples of %s to divide by", file, what);
	return error_remedy(diff->error, "record it with the other: -e %s,%s", diff->event, what);
}

static int find_divisor(struct diff *diff, struct history *history, struct selection *selection,
			const char *file, struct compare_divisor *divisor)
{
	const struct history_totals totals = history_totals(history);
	*divisor = (struct compare_divisor){.per = 1}; /* run; a total is its own */
	if (diff->divisor == PER_EVENT)
		return divide_by_event(diff, history, selection, file, divisor);
	if (diff->divisor != PER_SECOND)
		return 0;
	divisor->per = seconds_of(diff->options, history, &totals);
	if (divisor->per > 0)
		return 0;
	error_set(diff->error, -ENODATA, "'%s' does not say how long was recorded", file);
	return error_remedy(diff->error, "compare shares: leave out --per second");
}

/* ---- a run ---- */

static void describe(struct diff *diff, enum compare_side side, const struct load *load,
		     const struct selection_totals *totals)
{
	struct text line = {0};
	struct run_facts facts = {0};
	run_facts_read(load->history, FACT_RECORDED, &facts);
	text_add_safe(&line, load->options->input);
	text_add(&line, ": ");
	if (facts.target) {
		text_add_safe(&line, facts.target);
		text_add(&line, ", ");
	}
	add_grouped(&line, totals->samples);
	text_add(&line, totals->samples == 1 ? " sample, " : " samples, ");
	add_weight(&line, totals->weight, diff->unit);
	text_add(&line, " of ");
	text_add_safe(&line, diff->event);
	if (diff->options->time == TIME_SHOWN_WALL)
		text_add(&line, " and " WAIT_EVENT);
	if (facts.duration_ns)
		text_addf(&line, " in %.2f s", (double)facts.duration_ns / (double)NS_PER_SECOND);
	if (facts.stats.lost) {
		text_add(&line, ", ");
		add_grouped(&line, facts.stats.lost);
		text_add(&line, " lost");
	}
	if (facts.hostname) {
		text_add(&line, ", on ");
		text_add_safe(&line, facts.hostname);
	}
	label_line_add(&diff->runs,
		       diff->nr_runs[side] ? ""
		       : side == COMPARE_A ? "A"
					   : "B",
		       text_string(&line), diff->options->columns);
	diff->runs.failed |= line.failed;
	text_release(&line);
}

/* All of it, for who looks at a page. */
static void describe_fully(struct diff *diff, enum compare_side side, const struct load *load,
			   size_t event, const struct selection_totals *shown)
{
	struct text *out = &diff->measured[side], file = {0};
	struct history_totals totals = {.samples = shown->samples, .weight = shown->weight};
	memcpy(totals.ends, shown->ends, sizeof(totals.ends));
	text_add_safe(&file, load->options->input);
	label_line_add(out, "file", text_string(&file), 0);
	text_release(&file);
	report_describe(load->history, load->options, event, &totals, out);
}

static int add_selected(struct diff *diff, enum compare_side side, struct load *load,
			struct selection *selection)
{
	const char *file = load->options->input;
	struct compare_divisor divisor;
	size_t event;
	int result = choose_event(diff, load->history, file, &event);
	if (!result)
		result = find_divisor(diff, load->history, selection, file, &divisor);
	if (result)
		return result;
	result = select_event(selection, event, diff->options->time == TIME_SHOWN_WALL);
	if (!result)
		result = compare_add(diff->compare, side, &divisor, load->history, selection);
	const struct selection_totals shown = selection_totals(selection);
	if (result == -ENODATA && shown.samples) {
		error_set(diff->error, result, "all samples of %s in '%s' have the weight 0",
			  diff->event, file);
		return error_remedy(diff->error, "record again with a rate (-F) or a period (-c)");
	}
	if (result == -ENODATA) {
		error_set(diff->error, result, "nothing in '%s' passes the filter", file);
		return error_remedy(diff->error, "loosen it");
	}
	if (result)
		return out_of_memory(diff->error);
	describe(diff, side, load, &shown);
	if (diff->options->html_path)
		describe_fully(diff, side, load, event, &shown);
	free(diff->last);
	diff->last = strdup(file);
	if (!diff->last)
		return out_of_memory(diff->error);
	diff->nr_runs[side]++;
	diff->weight[side] += shown.weight;
	diff->per[side] += divisor.per;
	return 0;
}

static int add_run(struct diff *diff, enum compare_side side, const char *file)
{
	/* Of all events: there may be one to divide by, and which there are is to be told. */
	struct options options = *diff->options;
	struct load load;
	options.input = file;
	options.event = NULL;
	int result = load_open(&load, &options, LOAD_EVENTS, diff->error);
	struct selection *selection = result ? NULL : selection_of_all(load.history);
	if (!result && !selection)
		result = out_of_memory(diff->error);
	if (!result) {
		load_tell_damage(&load);
		load_tell_folded(&load);
		result = add_selected(diff, side, &load, selection);
	}
	selection_free(selection);
	load_release(&load);
	return result;
}

/* "A" or "A1,A2,A3"; a file whose name has a comma is one. */
static int add_side(struct diff *diff, enum compare_side side, const char *word)
{
	char *files = strdup(word);
	if (!files)
		return out_of_memory(diff->error);
	int result = 0;
	if (access(word, F_OK) == 0) {
		result = add_run(diff, side, word);
	} else {
		for (char *at = files, *file; !result && (file = strsep(&at, ","));)
			if (*file)
				result = add_run(diff, side, file);
	}
	free(files);
	if (!result && !diff->nr_runs[side]) {
		error_usage(diff->error, "no file is named in '%s'", word);
		result = error_remedy(diff->error, "name one, or several with commas between");
	}
	return result;
}

/* ---- what came of it ---- */

static void describe_side(const struct diff *diff, enum compare_side side, struct text *text)
{
	const double per = diff->per[side];
	const double weight = (double)diff->weight[side] / (per > 0 ? per : 1);
	if (diff->divisor == PER_EVENT && diff->unit == WEIGHT_NS)
		text_addf(text, "%.4g ns", weight);
	else if (diff->divisor == PER_EVENT)
		text_addf(text, "%.4g %s", weight, weight_unit_name(diff->unit, 2));
	else
		add_weight(text, (uint64_t)weight, diff->unit);
}

static void describe_whole(const struct diff *diff, struct text *text)
{
	if (diff->divisor == PER_TOTAL) {
		text_add(text, diff->nr_runs[COMPARE_A] + diff->nr_runs[COMPARE_B] > 2
				       ? "each run's total, in the mean "
				       : "each total, ");
		describe_side(diff, COMPARE_A, text);
		text_add(text, " in A, ");
		describe_side(diff, COMPARE_B, text);
		text_add(text, " in B");
		return;
	}
	text_add(text, "A's total for each ");
	if (diff->divisor == PER_RUN) {
		text_add(text, "run: ");
	} else if (diff->divisor == PER_SECOND) {
		text_add(text, "second: ");
	} else {
		text_add_safe(text, diff->options->per);
		text_add(text, ": ");
	}
	describe_side(diff, COMPARE_A, text);
	text_add(text, "; B's is ");
	describe_side(diff, COMPARE_B, text);
	text_addf(text, ", %.1f %%", 100 * compare_total(diff->compare).b);
}

static int add_piece(void *save, const void *bytes, size_t size)
{
	return save_add(save, bytes, size);
}

static int write_page(const struct diff *diff, const struct compare_words *words)
{
	struct options options = *diff->options;
	struct save save;
	options.columns = 0; /* a browser breaks lines itself */
	int result = save_begin(&save, options.html_path, "--html", -1, diff->error);
	if (result)
		return result;
	const struct export_sink sink = {&save, add_piece, NULL, save.output.fd};
	result = compare_page(diff->compare, words, &options, &sink);
	return save_end(&save, result, diff->error);
}

static int write_text(const struct diff *diff, const struct compare_words *words)
{
	struct text out = {0};
	int result = diff->options->folded
			     ? compare_folded(diff->compare, &out)
			     : compare_text(diff->compare, words, diff->options, &out);
	result = result ? out_of_memory(diff->error)
			: save_text(diff->options->output, "-o", &out, -1, diff->error);
	text_release(&out);
	return result;
}

static int print(struct diff *diff)
{
	const struct options *options = diff->options;
	struct text whole = {0};
	describe_whole(diff, &whole);
	const struct compare_words words = {
		.runs = text_string(&diff->runs),
		.whole = text_string(&whole),
		.names = {options->input, options->other},
		.measured = {text_string(&diff->measured[COMPARE_A]),
			     text_string(&diff->measured[COMPARE_B])},
	};
	int result = 0;
	if (whole.failed || diff->runs.failed || diff->measured[COMPARE_A].failed ||
	    diff->measured[COMPARE_B].failed)
		result = out_of_memory(diff->error);
	if (!result && options->html_path)
		result = write_page(diff, &words);
	if (!result)
		result = write_text(diff, &words);
	text_release(&whole);
	return result;
}

/* --fail-above: the function that grew most, by itself or with what it calls. */
static int check_growth(const struct diff *diff)
{
	struct compare_functions functions = {0};
	const struct compare_function *most = NULL;
	double growth = diff->options->fail_above_percent / 100;
	if (diff->options->fail_above_percent < 0)
		return 0;
	if (compare_functions(diff->compare, &functions))
		return out_of_memory(diff->error);
	for (size_t i = 0; i < functions.nr; i++) {
		const struct noise_value *values[] = {&functions.items[i].self,
						      &functions.items[i].total};
		for (size_t j = 0; j < 2; j++) {
			if (!values[j]->beyond || values[j]->b - values[j]->a <= growth)
				continue;
			growth = values[j]->b - values[j]->a;
			most = &functions.items[i];
		}
	}
	int result = 0;
	if (most) {
		error_set(diff->error, -ERANGE, "%s grew by %.2f %%, more than --fail-above %g",
			  most->name, 100 * growth, diff->options->fail_above_percent);
		result = error_remedy(diff->error,
				      "see its callers and callees with ctop report on both");
	}
	free(functions.items);
	return result;
}

/* Text that goes elsewhere, or that has its own shape, is what was asked for. */
static bool wants_interface(const struct options *options)
{
	return !options->tree && !options->folded && !options->output && !options->html_path &&
	       options->fail_above_percent < 0 && interact_wanted(options);
}

/* B's last run, each function with its change. */
static int show(struct diff *diff)
{
	struct options options = *diff->options;
	struct load load = {0};
	int signal_fd;
	options.input = diff->last;
	options.event = diff->event;
	int result = interact_block_signals(&signal_fd);
	if (result)
		return error_set(diff->error, result, "cannot watch signals: %s",
				 strerror(-result));
	result = load_open(&load, &options, LOAD_SECONDS, diff->error);
	struct interact *interact = result ? NULL : interact_open(&options, signal_fd, diff->error);
	const struct interact_source source = {.history = load.history,
					       .load = &load,
					       .compare = diff->compare,
					       .compared_with = diff->first};
	if (!result)
		result = interact ? interact_run(interact, &source, diff->error) : -ENOTTY;
	interact_close(interact);
	close(signal_fd);
	load_release(&load);
	return result;
}

int command_diff(const struct options *options, struct error *error)
{
	const char *per = options->per;
	struct diff diff = {
		.options = options,
		.error = error,
		.divisor = !per || !strcmp(per, "total") ? PER_TOTAL
			   : !strcmp(per, "run")	 ? PER_RUN
			   : !strcmp(per, "second")	 ? PER_SECOND
							 : PER_EVENT,
	};
	/* Nothing else is read then. */
	if (diff.divisor == PER_EVENT && time_shown_event(options->time)) {
		error_usage(error, "--time %s is not divided by %s", time_shown_name(options->time),
			    per);
		return error_remedy(error, "use --per run or --per second");
	}
	diff.compare = compare_new(diff.divisor == PER_TOTAL);
	int result = diff.compare ? 0 : out_of_memory(error);
	if (!result)
		result = add_side(&diff, COMPARE_A, options->input);
	if (!result)
		result = add_side(&diff, COMPARE_B, options->other);
	if (!result && compare_finish(diff.compare))
		result = out_of_memory(error);
	if (!result)
		result = wants_interface(options) ? show(&diff) : print(&diff);
	if (!result)
		result = check_growth(&diff);
	compare_free(diff.compare);
	free(diff.event);
	free(diff.first);
	free(diff.last);
	text_release(&diff.runs);
	text_release(&diff.measured[COMPARE_A]);
	text_release(&diff.measured[COMPARE_B]);
	return result;
}
