/* SPDX-License-Identifier: MIT */
#include "options_parse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/files/source.h>
#include <ctop/format/formats.h>
#include <ctop/ipc/fetcher_protocol.h>
#include <ctop/options/listen_address.h>
#include <ctop/options/suggest.h>

#include "option_values.h"

static const char default_file[] = "profile.ctop";
/* What a flight recorder may take. */
#define DEFAULT_LAST_BYTES (UINT64_C(64) << 20)

bool options_have_target(const struct options *options)
{
	return options->pids.nr || options->tids.nr || options->system_wide || options->cgroup ||
	       options->process_name || options->argv;
}

bool options_start_off(const struct options *options)
{
	return options->delay_seconds < 0 || options->delay_seconds > 0;
}

static int check_target(const struct parse *parse)
{
	struct options *options = parse->options;
	const char *kinds[6];
	size_t nr = 0;
	if (options->pids.nr)
		kinds[nr++] = "-p";
	if (options->tids.nr)
		kinds[nr++] = "-t";
	if (options->system_wide)
		kinds[nr++] = "-a";
	if (options->cgroup)
		kinds[nr++] = "-G";
	if (options->process_name)
		kinds[nr++] = "NAME";
	if (options->argv)
		kinds[nr++] = "-- CMD";
	/* Of everybody, CMD is how long: as perf has it. */
	const bool is_while = options->argv && (options->system_wide || options->cgroup);
	if (nr == 1 || (nr == 2 && is_while))
		return 0;
	if (nr == 0 && options->cpus.nr) {
		options->system_wide = true;
		return 0;
	}
	if (nr == 0 && options->command == COMMAND_LIVE)
		return 0; /* the picker asks, where there is a terminal */
	if (nr == 0 && options->command == COMMAND_DOCTOR)
		return 0; /* it looks at a process of its own */
	if (nr == 0)
		return options_no_target(options, parse->error);
	const char *mistyped = mistyped_command(parse);
	if (mistyped)
		return wrong_command(parse->error, mistyped);
	int code = error_usage(parse->error, "conflicting targets: %s and %s", kinds[0], kinds[1]);
	if (options->process_name)
		error_remedy(parse->error,
			     "leave out '%s', or the other; a command to run goes after --",
			     options->process_name);
	else
		error_remedy(parse->error, "give one of -p, -t, -a, -G, NAME and -- CMD");
	return code;
}

/* Of processes that were named there is nothing to choose. */
static int check_choice(const struct parse *parse)
{
	const struct options *options = parse->options;
	if (options->system_wide || options->cgroup || (!options->only_comm && !options->has_uid))
		return 0;
	error_usage(parse->error, "%s requires -a, -C or -G",
		    options->only_comm ? "--comm" : "--uid");
	return error_remedy(parse->error, "give it with -a, -C CPUS or -G PATH");
}

/* ctop FILE is ctop report FILE. */
static int take_file(struct parse *parse)
{
	struct options *options = parse->options;
	const bool samples = options_have_target(options) || options->cpus.nr ||
			     options->nr_events || options->count || options->frequency_hz ||
			     options->duration_seconds > 0 || options->budget_share > 0 ||
			     options_start_off(options);
	if (samples) {
		error_usage(parse->error, "'%s' is a file: there is nothing to sample in it",
			    parse->operands[0]);
		return error_remedy(parse->error, "leave out it or the options of sampling; ctop "
						  "help report lists what goes with a file");
	}
	options->command = COMMAND_REPORT;
	options->input = parse->operands[0];
	return 0;
}

/* A report is one of: the tree, the modules, a function's code, or the list, which alone has groups. */
static int check_contents(const struct parse *parse)
{
	const struct options *options = parse->options;
	const char *other = options->tree	? "--tree"
			    : options->modules	? "--modules"
			    : options->timeline ? "--timeline"
						: NULL;
	if (options->annotate && !other && options->grouping)
		other = "--group";
	if (!other || (!options->annotate && !options->grouping))
		return 0;
	error_usage(parse->error, "%s and %s are mutually exclusive",
		    options->annotate ? "--annotate" : "--group", other);
	return error_remedy(parse->error, "%s: leave out %s",
			    options->annotate ? "--annotate shows one function's code"
					      : "--group is of the list",
			    other);
}

/* Threads are looked at, not CPUs; and nothing but time adds up with time. */
static int check_time(struct parse *parse)
{
	struct options *options = parse->options;
	if (!options->time)
		return 0;
	if ((options->system_wide || options->cgroup) && !options_follow_all(options)) {
		error_usage(
			parse->error,
			"where some of all processes are sampled, nobody looks at waiting threads");
		return error_remedy(parse->error,
				    "name processes, as with -p PID, or give -a alone");
	}
	if (options->system_wide && time_is_apart(options->time)) {
		error_usage(parse->error, "of all processes %s are not known",
			    time_shown_name(options->time));
		return error_remedy(parse->error, "name processes, as with -p PID");
	}
	if (!options->nr_events)
		return parse_events("-e", "cpu-clock", options, parse->error);
	if (options->time == TIME_SHOWN_WALL && !options->events[0].clock) {
		error_usage(parse->error, "%.100s is no time: it does not add up with waiting",
			    options->events[0].asked);
		return error_remedy(parse->error,
				    "sample a clock (-e cpu-clock), or use --time wait");
	}
	return 0;
}

/* Of whole CPUs nobody follows threads. */
static int check_system_calls(struct parse *parse)
{
	const struct options *options = parse->options;
	if (!options->system_calls)
		return 0;
	if (options->system_wide || options->cgroup || options->cpus.nr) {
		error_usage(parse->error, "where whole CPUs are sampled, no thread's system calls "
					  "are followed");
		return error_remedy(parse->error,
				    "name processes, as with -p PID, or leave out --syscalls");
	}
	return 0;
}

/* What a flight recorder takes, and what it cannot be together with. */
static int check_last(struct parse *parse)
{
	struct options *options = parse->options;
	options->keeps_all_it_can = options->last_bytes && !options->last_ns;
	if (options->keeps_all_it_can)
		options->last_ns = MOST_LAST_NS;
	const char *more = options->nr_triggers ? "--trigger"
			   : options->post_ns	? "--post"
			   : options->keep	? "--keep"
						: NULL;
	const char *against = options->html_path    ? "--html"
			      : options->stats_path ? "--stats"
						    : NULL;
	if (!options->last_ns && more) {
		error_usage(parse->error, "%s requires --last", more);
		return error_remedy(
			parse->error,
			"say how much is to be kept, as in --last 30s, or --last-size 64M");
	}
	if (options->last_ns && against) {
		error_usage(parse->error, "--last and %s are mutually exclusive", against);
		return error_remedy(parse->error,
				    "leave out %s; ctop export and report take slices as any "
				    "recording",
				    against);
	}
	if (!options->last_bytes)
		options->last_bytes = DEFAULT_LAST_BYTES;
	for (size_t i = 0; i < options->nr_triggers; i++) {
		const int code = trigger_check(parse, &options->triggers[i]);
		if (code)
			return code;
	}
	return 0;
}

static int finish_dump(struct parse *parse)
{
	struct int32_list pids = {0};
	int code = parse->nr_operands
			   ? parse_ids("dump", parse->operands[0], 1, &pids, parse->error)
			   : 0;
	if (!code && pids.nr > 1)
		code = error_usage(parse->error, "one recorder at a time");
	if (!code && pids.nr)
		parse->options->recorder_pid = pids.items[0];
	free(pids.items);
	return code ? error_remedy(parse->error, "give the PID of one, as in dump 1234, or none: "
						 "the only one that runs is asked")
		    : 0;
}

/* Local users are not all the same one: they would get each other's stacks, and root's. */
static int check_token(const struct parse *parse)
{
	const struct options *options = parse->options;
	struct listen_address address;
	const int code = listen_address_parse(options->listen, &address, parse->error);
	if (code || !address.is_tcp || options->token_file)
		return code;
	error_usage(parse->error,
		    "--listen %.100s requires --token-file: every user of this "
		    "machine can connect there",
		    options->listen);
	return error_remedy(parse->error,
			    "head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE; "
			    "or use --listen unix:PATH");
}

static int check_push(const struct parse *parse)
{
	enum { DEFAULT_PUSH_S = 60, URL_MOST = 1024 };
	struct options *options = parse->options;
	const char *url = options->push_url;
	if (!url && options->push_every_ns) {
		error_usage(parse->error, "--push-every requires --push");
		return error_remedy(parse->error, "say where to: --push http://127.0.0.1:4040");
	}
	if (!options->push_every_ns)
		options->push_every_ns = DEFAULT_PUSH_S * NS_PER_SECOND;
	bool is_url = !url || ((!strncmp(url, "http://", 7) || !strncmp(url, "https://", 8)) &&
			       strlen(url) <= URL_MOST && !strpbrk(url, "?#"));
	for (const char *at = url ? url : ""; *at; at++)
		is_url &= *at > ' ' && *at <= '~';
	if (is_url)
		return 0;
	error_usage(parse->error, "--push: '%.100s' is no URL of a server", url);
	return error_remedy(parse->error, "use one as http://127.0.0.1:4040: /ingest is added");
}

static int finish_serve(struct parse *parse)
{
	static char own[PATH_MAX];
	struct options *options = parse->options;
	const char *directory = geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
	const char *wide = options->system_wide ? "-a" : options->cgroup ? "-G" : NULL;
	const int code = check_push(parse);
	if (code)
		return code;
	if (options->pids.nr && wide) {
		error_usage(parse->error, "conflicting targets: -p and %s", wide);
		return error_remedy(parse->error, "give one of -p, -a and -G");
	}
	if (!options->pids.nr && !wide && !options->cpus.nr) {
		error_usage(parse->error, "no target given");
		return error_remedy(parse->error,
				    "name processes with -p PID, or -a for the whole system");
	}
	if (!options->listen && directory && directory[0] == '/') {
		snprintf(own, sizeof(own), "unix:%s/ctop.sock", directory);
		options->listen = own;
	}
	if (options->listen)
		return check_token(parse);
	error_usage(parse->error, "there is no XDG_RUNTIME_DIR for a socket");
	return error_remedy(parse->error, "name one: --listen unix:PATH");
}

static int finish_sampling(struct parse *parse)
{
	struct options *options = parse->options;
	if (options->command == COMMAND_LIVE && parse->nr_operands &&
	    source_is_meant(parse->operands[0]))
		return take_file(parse);
	if (parse->nr_operands)
		options->process_name = parse->operands[0];
	int code = check_target(parse);
	if (!code)
		code = check_choice(parse);
	if (!code)
		code = check_contents(parse);
	if (!code)
		code = check_time(parse);
	if (!code)
		code = check_last(parse);
	if (!code)
		code = check_system_calls(parse);
	if (code)
		return code;
	if (options->count && options->frequency_hz) {
		code = error_usage(parse->error, "-c and -F are mutually exclusive");
		error_remedy(parse->error,
			     "give a count of events (-c) or samples per second (-F), not both");
		return code;
	}
	if (options->budget_share > 0 && options->strict) {
		error_usage(parse->error, "--budget and --strict are mutually exclusive");
		return error_remedy(parse->error,
				    "a budget is held by sampling less, which --strict forbids: "
				    "leave out one of them");
	}
	if (options->command == COMMAND_RECORD && !options->output) {
		options->output = default_file;
		options->output_by_default = true;
	}
	return 0;
}

static int finish_reading(const struct parse *parse)
{
	const struct options *options = parse->options;
	if (options->kernel_only && options->user_only) {
		error_usage(parse->error, "--kernel and --user are mutually exclusive");
		return error_remedy(parse->error, "leave out both to see everything");
	}
	if (time_shown_event(options->time) && options->event) {
		error_usage(parse->error, "--time %s and --event are mutually exclusive",
			    time_shown_name(options->time));
		return error_remedy(parse->error, "leave out one of them");
	}
	if (options->to_seconds > 0 && options->from_seconds >= options->to_seconds) {
		error_usage(parse->error, "--from is not before --to");
		return error_remedy(parse->error, "both count seconds from the first sample");
	}
	return 0;
}

static int take_format(struct parse *parse, const char *word)
{
	struct suggestion suggestion = {.word = word ? word : ""};
	parse->options->format = word ? format_named(word) : NULL;
	if (parse->options->format)
		return 0;
	for (size_t i = 0; i < nr_formats; i++)
		if (formats[i].name)
			suggestion_consider(&suggestion, formats[i].name);
	if (!word) {
		error_usage(parse->error, "no export format given");
		return error_remedy(parse->error, "name one, as in ctop export %s",
				    formats[0].name);
	}
	int code = error_usage(parse->error, "unknown format '%s'", word);
	if (suggestion.best)
		error_remedy(parse->error, "did you mean 'ctop export %s'?", suggestion.best);
	else
		error_remedy(parse->error, "'ctop help export' lists the formats");
	return code;
}

/* Other formats have every sample, with its weight. */
static int check_counting(const struct parse *parse)
{
	if (!parse->options->samples || parse->options->format->counts_samples)
		return 0;
	error_usage(parse->error, "export %s does not count samples: --samples is for folded",
		    parse->options->format->name);
	return error_remedy(parse->error, "leave out --samples");
}

static int check_group_export(const struct parse *parse)
{
	const struct options *options = parse->options;
	const struct format *format = options->format;
	if (options->grouping < GROUPING_THREAD ||
	    (options->grouping == GROUPING_THREAD && format->groups_threads) ||
	    (options->grouping == GROUPING_PROCESS && format->groups_processes))
		return 0;
	if (format->groups_processes) {
		error_usage(parse->error, "export %s does not tell threads apart", format->name);
		return error_remedy(parse->error, "choose one: --tid TID, or --group process");
	}
	error_usage(parse->error, "export %s tells threads and processes apart as it is",
		    format->name);
	return error_remedy(parse->error, "leave out --group");
}

/* The page comes beside the text. */
static int check_page(const struct parse *parse)
{
	const struct options *options = parse->options;
	const char *text = options->output ? options->output : "-";
	if (!options->html_path || strcmp(options->html_path, text) != 0)
		return 0;
	error_usage(parse->error, "the page and the text would both go to %s",
		    strcmp(text, "-") != 0 ? text : "standard output");
	return error_remedy(parse->error, "give the page a file of its own: --html FILE");
}

static int finish_diff(struct parse *parse)
{
	struct options *options = parse->options;
	if (parse->nr_operands < 2) {
		error_usage(parse->error, "diff needs two profiles");
		return error_remedy(parse->error,
				    "name both, as in ctop diff before.ctop after.ctop");
	}
	options->input = parse->operands[0];
	options->other = parse->operands[1];
	if (options->folded && options->tree) {
		error_usage(parse->error, "--folded and --tree are mutually exclusive");
		return error_remedy(parse->error, "leave out one of them");
	}
	int code = check_page(parse);
	return code ? code : finish_reading(parse);
}

static int finish_merge(struct parse *parse)
{
	struct options *options = parse->options;
	if (parse->nr_operands < 2) {
		error_usage(parse->error, "merge needs an output and the recordings to merge");
		return error_remedy(parse->error,
				    "name them, as in ctop merge all.ctop host1.ctop host2.ctop");
	}
	options->output = parse->operands[0];
	options->nr_inputs = parse->nr_operands - 1;
	options->inputs = calloc(options->nr_inputs, sizeof(*options->inputs));
	if (!options->inputs)
		return error_set(parse->error, -ENOMEM, "out of memory");
	memcpy(options->inputs, parse->operands + 1, options->nr_inputs * sizeof(*options->inputs));
	return 0;
}

static int take_help_topic(struct parse *parse)
{
	if (!parse->nr_operands)
		return 0;
	for (size_t i = 0; i < nr_command_rows; i++) {
		const char *name = command_rows[i].name;
		if (name && !strcmp(name, parse->operands[0])) {
			parse->options->help_about = command_rows[i].command;
			return 0;
		}
	}
	return wrong_command(parse->error, parse->operands[0]);
}

static int check_servers(const struct parse *parse)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!parse->options->debuginfod)
		return 0;
	if (!urls || !urls[strspn(urls, " \t\n")])
		error_usage(parse->error,
			    "--debuginfod needs servers, and DEBUGINFOD_URLS names none");
	else if (strlen(urls) >= FETCH_URLS_MAX) /* cut, it would name others */
		error_usage(parse->error, "DEBUGINFOD_URLS is longer than %d bytes",
			    FETCH_URLS_MAX - 1);
	else
		return 0;
	return error_remedy(parse->error, "try DEBUGINFOD_URLS=https://debuginfod.elfutils.org");
}

int options_check(struct parse *parse)
{
	struct options *options = parse->options;
	int code = check_servers(parse);
	if (code)
		return code;
	switch (options->command) {
	case COMMAND_LIVE:
	case COMMAND_RECORD:
	case COMMAND_DOCTOR:
		return finish_sampling(parse);
	case COMMAND_LIST:
		options->pattern = parse->nr_operands ? parse->operands[0] : NULL;
		return 0;
	case COMMAND_REPORT:
		options->input = parse->nr_operands ? parse->operands[0] : default_file;
		code = check_contents(parse);
		return code ? code : finish_reading(parse);
	case COMMAND_EXPORT:
		options->input = parse->nr_operands > 1 ? parse->operands[1] : default_file;
		code = take_format(parse, parse->nr_operands ? parse->operands[0] : NULL);
		if (!code)
			code = check_counting(parse);
		if (!code)
			code = check_group_export(parse);
		return code ? code : finish_reading(parse);
	case COMMAND_DIFF:
		return finish_diff(parse);
	case COMMAND_MERGE:
		return finish_merge(parse);
	case COMMAND_DUMP:
		return finish_dump(parse);
	case COMMAND_SERVE:
		return finish_serve(parse);
	case COMMAND_HELP:
		return take_help_topic(parse);
	case COMMAND_VERSION:
	case COMMAND_INTERNAL:
		break;
	}
	return 0;
}
