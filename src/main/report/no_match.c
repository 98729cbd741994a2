/* SPDX-License-Identifier: MIT */
#include "no_match.h"

#include <errno.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/text.h>
#include <ctop/report/numbers.h>

enum { NAMED_MOST = 8 };

/* "a, b, c, ..." */
static void add_names(struct text *text, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr && i < NAMED_MOST; i++)
		text_addf(text, "%s%s", i ? ", " : "", names[i]);
	if (nr > NAMED_MOST)
		text_add(text, ", ...");
}

static void advise(struct error *error, struct text *text)
{
	if (!text->failed)
		error_remedy(error, "%s", text_string(text));
	text_release(text);
}

/* history_nr_events(): there is none of that name. */
static size_t find_event(const struct history *history, const char *event)
{
	size_t i = 0;
	while (i < history_nr_events(history) && strcmp(history_event_name(history, i), event) &&
	       strcmp(history_event_asked(history, i), event))
		i++;
	return i;
}

/* What --time wall adds waiting to. */
static size_t event_of_wall(const struct history *history, const struct options *options)
{
	const size_t named = options->event ? find_event(history, options->event) : 0;
	return named < history_nr_events(history) ? named : 0;
}

static bool has_waits(const struct history *history)
{
	for (size_t i = 0; i < history_nr_events(history); i++)
		if (history_is_wait(history, (uint32_t)i))
			return true;
	return false;
}

/* What the profile does not tell of at all. 0 or an error. */
static int check_time(const struct history *history, const struct options *options,
		      struct error *error)
{
	if (options->time == TIME_SHOWN_GOROUTINES && !history_has_time(history, options->time)) {
		error_set(error, -ENOENT, "'%s' does not tell where goroutines were parked",
			  options->input);
		return error_remedy(error, "record a program of Go's that has its symbols (built "
					   "without -ldflags=-s) with --time wall");
	}
	if (options->time == TIME_SHOWN_WAKEUPS && !history_has_time(history, options->time)) {
		error_set(error, -ENOENT, "'%s' does not tell who ended threads' waits",
			  options->input);
		return error_remedy(error, "record with --time wall as root: the kernel tells "
					   "of wakings by the tracepoint sched:sched_waking");
	}
	if (options->time && !has_waits(history)) {
		error_set(error, -ENOENT, "'%s' does not tell where threads waited",
			  options->input);
		return error_remedy(
			error, "record again with --time wall; leave out --time to see computing");
	}
	return 0;
}

static void name_events(const struct history *history, struct error *error)
{
	const char *names[NAMED_MOST + 1];
	size_t nr = 0;
	for (size_t i = 0; i < history_nr_events(history) && nr <= NAMED_MOST; i++)
		names[nr++] = history_event_name(history, i);
	struct text text = {0};
	text_add(&text, "its events are: ");
	add_names(&text, names, nr);
	advise(error, &text);
}

static void name_others(const struct history *history, enum history_names which,
			struct error *error)
{
	const char *names[NAMED_MOST + 1];
	size_t nr = history_names(history, which, names, NAMED_MOST + 1);
	for (size_t i = 0; which == HISTORY_MODULES && i < nr; i++)
		names[i] = base_name(names[i]);
	struct text text = {0};
	text_add(&text, "there are: ");
	add_names(&text, names, nr);
	advise(error, &text);
}

/* The options that together let nothing through. */
static void name_options(const struct options *options, struct error *error)
{
	const char *names[11];
	size_t nr = 0;
	if (options->filter_pids.nr)
		names[nr++] = "--pid";
	if (options->filter_tids.nr)
		names[nr++] = "--tid";
	if (options->comm)
		names[nr++] = "--comm";
	if (options->filter_cpus.nr)
		names[nr++] = "--cpu";
	if (options->event)
		names[nr++] = "--event";
	if (options->from_seconds > 0)
		names[nr++] = "--from";
	if (options->to_seconds > 0)
		names[nr++] = "--to";
	if (options->kernel_only)
		names[nr++] = "--kernel";
	if (options->user_only)
		names[nr++] = "--user";
	if (options->module)
		names[nr++] = "--module";
	if (options->nr_labels)
		names[nr++] = "--label";
	struct text text = {0};
	text_add(&text, "loosen ");
	for (size_t i = 0; i < nr; i++)
		text_addf(&text, "%s%s", i == 0 ? "" : i + 1 < nr ? ", " : " or ", names[i]);
	if (nr)
		advise(error, &text);
	text_release(&text);
}

int no_match_check(struct history *history, const struct options *options, struct error *error)
{
	const struct history_totals totals = history_totals(history);
	const int code = check_time(history, options, error);
	if (code)
		return code;
	const size_t event = event_of_wall(history, options);
	if (options->time == TIME_SHOWN_WALL && history_event_unit(history, event) != WEIGHT_NS) {
		error_set(error, -EINVAL, "%s is no time: it does not add up with waiting",
			  history_event_name(history, event));
		error_remedy(error, "use --time wait, or record a clock (-e cpu-clock)");
		return -EINVAL;
	}
	if (totals.samples || !totals.samples_before)
		return 0;
	if (options->event && find_event(history, options->event) == history_nr_events(history)) {
		error_usage(error, "the recording has no event '%s'", options->event);
		name_events(history, error);
		return -EINVAL;
	}
	if (options->comm && !history_has_name(history, HISTORY_COMMS, options->comm)) {
		error_set(error, -ENOENT, "no samples of a thread named '%s'", options->comm);
		name_others(history, HISTORY_COMMS, error);
		return -ENOENT;
	}
	if (options->module && !history_has_name(history, HISTORY_MODULES, options->module)) {
		error_set(error, -ENOENT, "no samples in a module '%s'", options->module);
		name_others(history, HISTORY_MODULES, error);
		return -ENOENT;
	}
	/* Threads that only waited have rows of their own there. */
	if (options->timeline && !options->format)
		return 0;
	struct text number = {0};
	add_grouped(&number, totals.samples_before);
	error_set(error, -ENOENT, "none of %s samples passes the filter", text_string(&number));
	text_release(&number);
	name_options(options, error);
	return -ENOENT;
}
