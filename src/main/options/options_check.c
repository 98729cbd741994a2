/* SPDX-License-Identifier: MIT */
#include "options_parse.h"

#include <string.h>

#include <ctop/files/source.h>
#include <ctop/options/suggest.h>

static const char default_file[] = "profile.ctop";

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
	int code = error_usage(parse->error, "%s requires -a, -C or -G",
			       options->only_comm ? "--comm" : "--uid");
	error_remedy(parse->error, "give it with -a, -C CPUS or -G PATH");
	return code;
}

/* ctop FILE is ctop report FILE. */
static int take_file(struct parse *parse)
{
	struct options *options = parse->options;
	const bool samples = options_have_target(options) || options->cpus.nr ||
			     options->nr_events || options->count || options->frequency_hz ||
			     options->duration_seconds > 0 || options_start_off(options);
	if (samples) {
		int code = error_usage(parse->error,
				       "'%s' is a file: there is nothing to sample in it",
				       parse->operands[0]);
		error_remedy(parse->error,
			     "leave it out, or what is to be sampled; ctop help report lists what "
			     "goes with a file");
		return code;
	}
	options->command = COMMAND_REPORT;
	options->input = parse->operands[0];
	return 0;
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
	if (code)
		return code;
	if (options->count && options->frequency_hz) {
		code = error_usage(parse->error, "-c and -F are mutually exclusive");
		error_remedy(parse->error,
			     "give a count of events (-c) or samples per second (-F), not both");
		return code;
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
		int code = error_usage(parse->error, "--kernel and --user are mutually exclusive");
		error_remedy(parse->error, "leave out both to see everything");
		return code;
	}
	if (options->to_seconds > 0 && options->from_seconds >= options->to_seconds) {
		int code = error_usage(parse->error, "--from is not before --to");
		error_remedy(parse->error, "both count seconds from the first sample");
		return code;
	}
	return 0;
}

static int take_format(struct parse *parse, const char *word)
{
	struct suggestion suggestion = {.word = word ? word : ""};
	for (size_t i = 0; i < nr_format_rows; i++) {
		if (word && !strcmp(format_rows[i].name, word)) {
			parse->options->format = word;
			return 0;
		}
		suggestion_consider(&suggestion, format_rows[i].name);
	}
	if (!word) {
		int code = error_usage(parse->error, "no export format given");
		error_remedy(parse->error, "name one, as in ctop export %s", format_rows[0].name);
		return code;
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
	if (!parse->options->samples || !strcmp(parse->options->format, "folded"))
		return 0;
	int code = error_usage(parse->error,
			       "export %s does not count samples: --samples is for folded",
			       parse->options->format);
	error_remedy(parse->error, "leave out --samples");
	return code;
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

int options_check(struct parse *parse)
{
	struct options *options = parse->options;
	int code;
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
		return finish_reading(parse);
	case COMMAND_EXPORT:
		options->input = parse->nr_operands > 1 ? parse->operands[1] : default_file;
		code = take_format(parse, parse->nr_operands ? parse->operands[0] : NULL);
		if (!code)
			code = check_counting(parse);
		return code ? code : finish_reading(parse);
	case COMMAND_HELP:
		return take_help_topic(parse);
	case COMMAND_VERSION:
	case COMMAND_INTERNAL:
		break;
	}
	return 0;
}
