/* SPDX-License-Identifier: MIT */
#include <ctop/options/options.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>

#include "option_values.h"
#include "options_parse.h"

static const double max_seconds = 1e9, microsecond = 1e-6;
/* Of A's whole: what B has may be many times that. */
static const double max_percent = 1e6;

enum {
	DEFAULT_MAX_OVERHEAD_PERCENT = 10,
	DEFAULT_MEMORY_MIB = 128,
	LEAST_MEMORY_MIB = 16,
	MOST_MEMORY_MIB = 1 << 16,
	DEFAULT_LIMIT = 40,
};
static const double default_min_percent = 0.5;
/* Of a flight recorder: below that a slice has no time to get its names; tables alone take some MiB. */
#define LEAST_LAST_NS	 (100 * NS_PER_MS)
#define LEAST_LAST_BYTES (UINT64_C(4) << 20)
#define MOST_LAST_BYTES	 (UINT64_C(64) << 30)

#define LEAST_PUSH_NS (1 * NS_PER_SECOND)
#define MOST_PUSH_NS  (24 * 3600 * NS_PER_SECOND)

static int take_string(const struct parse *parse, const struct option_row *row, const char *text,
		       const char **string)
{
	if (!*text) {
		error_usage(parse->error, "%s requires a non-empty argument", parse->spelled);
		return error_remedy(parse->error, "usage: %s %s", parse->spelled, row->argument);
	}
	*string = text;
	return 0;
}

static int take_number(const struct parse *parse, const char *text, uint32_t least, uint32_t most,
		       uint32_t *number)
{
	uint64_t value = 0;
	int code = parse_number(parse->spelled, text, least, most, &value, parse->error);
	*number = (uint32_t)value;
	return code;
}

static int take_trigger(const struct parse *parse, const char *text)
{
	struct options *options = parse->options;
	if (options->nr_triggers < TRIGGERS_MAX)
		return trigger_parse(text, &options->triggers[options->nr_triggers++],
				     parse->error);
	error_usage(parse->error, "more than %d triggers", TRIGGERS_MAX);
	return error_remedy(parse->error, "leave some out");
}

static void take_command(struct parse *parse, enum command command)
{
	struct options *options = parse->options;
	if (options->command != COMMAND_HELP)
		options->help_about = options->command;
	options->command = command;
	parse->done = true;
}

static int take_print(struct parse *parse, const char *shell)
{
	if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0 && strcmp(shell, "fish") != 0) {
		error_usage(parse->error, "no completions for '%s'", shell);
		return error_remedy(parse->error, "use bash, zsh or fish");
	}
	take_command(parse, COMMAND_INTERNAL);
	parse->options->print = shell;
	return 0;
}

/* Applies one option; text is its argument, "" for a flag. */
static int apply(struct parse *parse, const struct option_row *row, const char *text)
{
	struct options *options = parse->options;
	struct error *error = parse->error;
	const char *spelled = parse->spelled;
	switch (row->id) {
	case OPTION_PID:
		return parse_ids(spelled, text, 1, &options->pids, error);
	case OPTION_TID:
		return parse_ids(spelled, text, 1, &options->tids, error);
	case OPTION_ALL_CPUS:
		options->system_wide = true;
		return 0;
	case OPTION_CPU:
		return parse_cpus(spelled, text, &options->cpus, error);
	case OPTION_CGROUP:
		return parse_cgroup(spelled, text, &options->cgroup, error);
	case OPTION_TARGET_COMM:
		return parse_comm(spelled, text, &options->only_comm, error);
	case OPTION_TARGET_UID:
		options->has_uid = true;
		return parse_user(spelled, text, &options->uid, error);
	case OPTION_NO_INHERIT:
		options->no_inherit = true;
		return 0;
	case OPTION_EVENT:
		options->first_filtered = options->nr_events;
		return parse_events(spelled, text, options, error);
	case OPTION_TIME:
		return parse_time(text, &options->time, error);
	case OPTION_STATE_FRAMES:
		return parse_state_frames(text, &options->state_frames, error);
	case OPTION_TRACE_FILTER:
		return parse_trace_filter(spelled, text, options, error);
	case OPTION_COUNT:
		return parse_number(spelled, text, 1, INT64_MAX, &options->count, error);
	case OPTION_FREQ:
		return parse_frequency(spelled, text, &options->frequency_hz, error);
	case OPTION_CALL_GRAPH:
		return parse_call_graph(spelled, text, &options->call_graph, &options->dump_bytes,
					error);
	case OPTION_DURATION:
		return parse_decimal(spelled, text, 0.001, max_seconds, &options->duration_seconds,
				     error);
	case OPTION_DELAY:
		if (strcmp(text, "-1") == 0) { /* as perf has it */
			options->delay_seconds = -1;
			return 0;
		}
		return parse_decimal(spelled, text, 0, max_seconds, &options->delay_seconds, error);
	case OPTION_MMAP_PAGES:
		return parse_ring_pages(spelled, text, &options->ring_pages, error);
	case OPTION_MAX_OVERHEAD:
		return take_number(parse, text, 0, 100, &options->max_overhead_percent);
	case OPTION_BUDGET:
		return parse_share(spelled, text, &options->budget_share, error);
	case OPTION_MEMORY:
		options->memory_is_asked = true;
		return parse_number(spelled, text, LEAST_MEMORY_MIB, MOST_MEMORY_MIB,
				    &options->memory_mib, error);
	case OPTION_JOBS:
		return take_number(parse, text, 1, OPTIONS_JOBS_MAX, &options->nr_jobs);
	case OPTION_KEEP_CODE:
	case OPTION_NO_KEEP_CODE:
		options->no_keep_code = row->id == OPTION_NO_KEEP_CODE;
		return 0;
	case OPTION_NO_INLINE:
		options->no_inline = true;
		break;
	case OPTION_SYSCALLS:
		options->system_calls = true;
		return 0;
	case OPTION_STRICT:
		options->strict = true;
		return 0;
	case OPTION_LABEL:
	case OPTION_FILTER_LABEL:
		return parse_label(spelled, text, options, error);
	case OPTION_LAST:
		return parse_duration(spelled, text, LEAST_LAST_NS, MOST_LAST_NS, &options->last_ns,
				      error);
	case OPTION_LAST_SIZE:
		return parse_size(spelled, text, LEAST_LAST_BYTES, MOST_LAST_BYTES,
				  &options->last_bytes, error);
	case OPTION_POST:
		return parse_duration(spelled, text, 0, MOST_LAST_NS, &options->post_ns, error);
	case OPTION_KEEP:
		return take_number(parse, text, 0, UINT32_MAX, &options->keep);
	case OPTION_TRIGGER:
		return take_trigger(parse, text);
	case OPTION_FILTER_PID:
		return parse_ids(spelled, text, 0, &options->filter_pids, error);
	case OPTION_FILTER_TID:
		return parse_ids(spelled, text, 0, &options->filter_tids, error);
	case OPTION_FILTER_COMM:
		return take_string(parse, row, text, &options->comm);
	case OPTION_FILTER_CPU:
		return parse_cpus(spelled, text, &options->filter_cpus, error);
	case OPTION_FILTER_EVENT:
		return take_string(parse, row, text, &options->event);
	case OPTION_FILTER_FROM:
		return parse_decimal(spelled, text, 0, max_seconds, &options->from_seconds, error);
	case OPTION_FILTER_TO:
		return parse_decimal(spelled, text, microsecond, max_seconds, &options->to_seconds,
				     error);
	case OPTION_FILTER_KERNEL:
		options->kernel_only = true;
		return 0;
	case OPTION_FILTER_USER:
		options->user_only = true;
		return 0;
	case OPTION_FILTER_MODULE:
		return take_string(parse, row, text, &options->module);
	case OPTION_OUTPUT:
		return take_string(parse, row, text, &options->output);
	case OPTION_HTML:
		return take_string(parse, row, text, &options->html_path);
	case OPTION_STATS:
		return take_string(parse, row, text, &options->stats_path);
	case OPTION_STDIO:
		options->stdio = true;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_SAMPLES:
		options->samples = true;
		return 0;
	case OPTION_TREE:
		options->tree = true;
		break;
	case OPTION_TIMELINE:
		options->timeline = true;
		return 0;
	case OPTION_DEBUGINFOD:
		options->debuginfod = true;
		return 0;
	case OPTION_NO_CACHE:
		options->no_cache = true;
		return 0;
	case OPTION_VMLINUX:
		return take_string(parse, row, text, &options->vmlinux);
	case OPTION_ANNOTATE:
		return take_string(parse, row, text, &options->annotate);
	case OPTION_SOURCE_DIR:
		return parse_source_dir(spelled, text, options, error);
	case OPTION_MODULES:
		options->modules = true;
		return 0;
	case OPTION_MIN_PERCENT:
		return parse_decimal(spelled, text, 0, 100, &options->min_percent, error);
	case OPTION_PER:
		return take_string(parse, row, text, &options->per);
	case OPTION_FAIL_ABOVE:
		return parse_decimal(spelled, text, 0, max_percent, &options->fail_above_percent,
				     error);
	case OPTION_FOLDED:
		options->folded = true;
		return 0;
	case OPTION_NAMES:
		options->names_full = strcmp(text, "full") == 0;
		if (options->names_full || strcmp(text, "fit") == 0)
			return 0;
		error_usage(error, "invalid names '%s'", text);
		return error_remedy(error, "use fit or full");
	case OPTION_GROUP:
		return parse_group(text, &options->grouping, error);
	case OPTION_THEME:
		return parse_theme(text, &options->theme, error);
	case OPTION_ASCII:
		options->ascii = true;
		return 0;
	case OPTION_LIMIT:
		return take_number(parse, text, 0, UINT32_MAX, &options->limit);
	case OPTION_QUIET:
		options->quiet = true;
		return 0;
	case OPTION_HELP:
		take_command(parse, COMMAND_HELP);
		return 0;
	case OPTION_VERSION:
		take_command(parse, COMMAND_VERSION);
		return 0;
	case OPTION_LISTEN:
		return take_string(parse, row, text, &options->listen);
	case OPTION_TOKEN_FILE:
		return take_string(parse, row, text, &options->token_file);
	case OPTION_PUSH:
		return take_string(parse, row, text, &options->push_url);
	case OPTION_PUSH_EVERY:
		return parse_duration(spelled, text, LEAST_PUSH_NS, MOST_PUSH_NS,
				      &options->push_every_ns, error);
	case OPTION_PRINT_COMPLETION:
		return take_print(parse, text);
	case OPTION_PRINT_MAN_OPTIONS:
		take_command(parse, COMMAND_INTERNAL);
		options->print = "man";
		return 0;
	case OPTION_PRINT_MAN_FORMATS:
		take_command(parse, COMMAND_INTERNAL);
		options->print = "formats";
		return 0;
	case OPTION_PRINT_MAN_KEYS:
		take_command(parse, COMMAND_INTERNAL);
		options->print = "keys";
		return 0;
	}
	return 0;
}

static const struct option_row *find_option(enum command command, char letter, const char *name)
{
	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];
		if (!(row->commands & COMMAND_BIT(command)))
			continue;
		if (name ? !strcmp(row->name, name) : row->letter == letter)
			return row;
	}
	return NULL;
}

/* Applies an option with `attached`, or with the next word as its argument. */
static int apply_with_argument(struct parse *parse, const struct option_row *row,
			       const char *attached)
{
	const char *text = attached;
	if (!text && parse->at < parse->nr_words && strcmp(parse->words[parse->at], "--") != 0)
		text = parse->words[parse->at++];
	if (!text) {
		error_usage(parse->error, "%s needs an argument", parse->spelled);
		return error_remedy(parse->error, "usage: %s %s", parse->spelled, row->argument);
	}
	return apply(parse, row, text);
}

static int parse_long(struct parse *parse, const char *word)
{
	const char *value = strchr(word, '=');
	size_t size = value ? (size_t)(value - word) : strlen(word);
	if (size >= sizeof(parse->spelled))
		size = sizeof(parse->spelled) - 1; /* longer than any option: unknown anyway */
	memcpy(parse->spelled, word, size);
	parse->spelled[size] = '\0';
	const char *name = parse->spelled + 2;
	const struct option_row *row = find_option(parse->options->command, 0, name);
	if (!row)
		return wrong_option(parse, 0, name);
	if (row->argument)
		return apply_with_argument(parse, row, value ? value + 1 : NULL);
	if (value) {
		error_usage(parse->error, "%s takes no argument", parse->spelled);
		return error_remedy(parse->error, "leave out '%s'", value);
	}
	return apply(parse, row, "");
}

/* "-p123", "-p 123", and flags together as in "-qa". */
static int parse_letters(struct parse *parse, const char *word)
{
	for (const char *letter = word + 1; *letter && !parse->done; letter++) {
		snprintf(parse->spelled, sizeof(parse->spelled), "-%c", *letter);
		const struct option_row *row = find_option(parse->options->command, *letter, NULL);
		if (!row)
			return wrong_option(parse, *letter, NULL);
		if (row->argument)
			return apply_with_argument(parse, row, letter[1] ? letter + 1 : NULL);
		int code = apply(parse, row, "");
		if (code)
			return code;
	}
	return 0;
}

/* ---- operands ---- */

static size_t nr_operands_of(enum command command)
{
	switch (command) {
	case COMMAND_MERGE:
		return NR_OPERANDS_MAX;
	case COMMAND_EXPORT:
	case COMMAND_DIFF:
		return 2;
	case COMMAND_LIVE:
	case COMMAND_RECORD:
	case COMMAND_REPORT:
	case COMMAND_DUMP:
	case COMMAND_LIST:
	case COMMAND_DOCTOR:
	case COMMAND_HELP:
		return 1;
	case COMMAND_SERVE:
	case COMMAND_VERSION:
	case COMMAND_INTERNAL:
		break;
	}
	return 0;
}

static int take_operand(struct parse *parse, const char *word)
{
	if (parse->nr_operands == nr_operands_of(parse->options->command))
		return wrong_number_of_operands(parse, word);
	if (!*word) {
		error_usage(parse->error, "empty argument");
		return error_remedy(parse->error,
				    "leave it out, or check the variable that it came from");
	}
	parse->operands[parse->nr_operands++] = word;
	return 0;
}

/* What stands after "--". */
static int take_rest(struct parse *parse)
{
	struct options *options = parse->options;
	const char *suffix = command_suffix(options->command);
	int code = 0;
	if (!command_samples(options->command)) {
		code = error_usage(parse->error, "ctop%s runs no command", suffix);
		error_remedy(parse->error,
			     "leave out --; a file whose name begins with - is ./-NAME");
	} else if (parse->at == parse->nr_words || !*parse->words[parse->at]) {
		code = error_usage(parse->error, "there is no command after --");
		error_remedy(parse->error, "name it, as in ctop%s -- ls -l", suffix);
	} else {
		options->argv = parse->words + parse->at;
		parse->at = parse->nr_words;
	}
	return code;
}

/* ---- the whole ---- */

int options_parse(int argc, char **argv, struct options *options, struct error *error)
{
	*options = (struct options){
		.max_overhead_percent = DEFAULT_MAX_OVERHEAD_PERCENT,
		.memory_mib = DEFAULT_MEMORY_MIB,
		.min_percent = default_min_percent,
		.limit = DEFAULT_LIMIT,
		.fail_above_percent = -1,
	};
	struct parse parse = {
		.options = options, .error = error, .words = argv, .nr_words = argc, .at = 1};

	for (size_t i = 0; argc > 1 && i < nr_command_rows; i++) {
		if (command_rows[i].name && !strcmp(argv[1], command_rows[i].name)) {
			options->command = command_rows[i].command;
			parse.at = 2;
		}
	}
	while (parse.at < argc && !parse.done) {
		const char *word = argv[parse.at++];
		int code;
		if (!strcmp(word, "--"))
			code = take_rest(&parse);
		else if (!strncmp(word, "--", 2))
			code = parse_long(&parse, word);
		else if (word[0] == '-' && word[1])
			code = parse_letters(&parse, word);
		else
			code = take_operand(&parse, word);
		if (code)
			return code;
	}
	return parse.done ? 0 : options_check(&parse);
}

void options_release(struct options *options)
{
	free(options->inputs);
	options->inputs = NULL;
	for (size_t i = 0; i < options->nr_triggers; i++)
		free(options->triggers[i].owned_subject);
	options->nr_triggers = 0;
	struct int32_list *lists[] = {&options->pids,	     &options->tids,
				      &options->cpus,	     &options->filter_pids,
				      &options->filter_tids, &options->filter_cpus};
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		free(lists[i]->items);
		*lists[i] = (struct int32_list){0};
	}
}
