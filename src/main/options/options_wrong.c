/* SPDX-License-Identifier: MIT */
#include "options_parse.h"

#include <string.h>

#include <ctop/options/suggest.h>

const char *command_suffix(enum command command)
{
	switch (command) {
	case COMMAND_RECORD:
		return " record";
	case COMMAND_REPORT:
		return " report";
	case COMMAND_EXPORT:
		return " export";
	case COMMAND_DIFF:
		return " diff";
	case COMMAND_MERGE:
		return " merge";
	case COMMAND_DUMP:
		return " dump";
	case COMMAND_SERVE:
		return " serve";
	case COMMAND_LIST:
		return " list";
	case COMMAND_DOCTOR:
		return " doctor";
	case COMMAND_HELP:
		return " help";
	case COMMAND_VERSION:
		return " version";
	case COMMAND_LIVE:
	case COMMAND_INTERNAL:
		break;
	}
	return "";
}

bool command_samples(enum command command)
{
	return command == COMMAND_LIVE || command == COMMAND_RECORD || command == COMMAND_DOCTOR;
}

int wrong_command(struct error *error, const char *word)
{
	const char *near = options_nearest_command(word);
	int code = error_usage(error, "unknown command '%s'", word);
	if (near)
		error_remedy(error, "did you mean 'ctop %s'?", near);
	else
		error_remedy(error, "'ctop help' lists the commands");
	return code;
}

const char *mistyped_command(const struct parse *parse)
{
	const struct options *options = parse->options;
	if (options->command != COMMAND_LIVE || !parse->nr_operands ||
	    parse->operands[0] != parse->words[1])
		return NULL;
	return options_nearest_command(parse->operands[0]) ? parse->operands[0] : NULL;
}

int wrong_option(const struct parse *parse, char letter, const char *name)
{
	const struct options *options = parse->options;
	const char *mistyped = mistyped_command(parse);
	if (mistyped)
		return wrong_command(parse->error, mistyped);

	const struct option_row *elsewhere = NULL;
	struct suggestion suggestion = {.word = name ? name : ""};
	for (size_t i = 0; i < nr_option_rows; i++) {
		const struct option_row *row = &option_rows[i];
		if (row->group == GROUP_INTERNAL)
			continue;
		if (name ? !strcmp(row->name, name) : row->letter == letter)
			elsewhere = row;
		if (option_shown(row, options->command))
			suggestion_consider(&suggestion, row->name);
	}
	const char *suffix = command_suffix(options->command);
	int code;
	if (elsewhere) {
		char owners[128];
		option_owners(elsewhere, owners, sizeof(owners));
		code = error_usage(parse->error, "ctop%s does not take %s", suffix, parse->spelled);
		error_remedy(parse->error, "%s is an option of: %s", parse->spelled, owners);
		return code;
	}
	code = error_usage(parse->error, "unknown option '%s'", parse->spelled);
	if (command_samples(options->command) && parse->nr_operands)
		error_remedy(parse->error,
			     "to profile a command, put -- before it: ctop%s -- %s ...", suffix,
			     parse->operands[0]);
	else if (suggestion.best)
		error_remedy(parse->error, "did you mean --%s?", suggestion.best);
	else
		error_remedy(parse->error, "'ctop help%s' lists the options", suffix);
	return code;
}

int wrong_number_of_operands(const struct parse *parse, const char *word)
{
	enum command command = parse->options->command;
	const char *mistyped = mistyped_command(parse);
	if (mistyped)
		return wrong_command(parse->error, mistyped);
	const char *suffix = command_suffix(command);
	int code = error_usage(parse->error, "unexpected argument '%s'", word);
	const struct command_row *row = command_row(command);
	if (command_samples(command))
		error_remedy(parse->error,
			     "to profile a command, put -- before it: ctop%s -- %s ...", suffix,
			     parse->operands[0]);
	else
		error_remedy(parse->error, "usage: ctop%s%s%s", suffix,
			     row && *row->synopsis ? " " : "", row ? row->synopsis : "");
	return code;
}

int options_no_target(const struct options *options, struct error *error)
{
	error_usage(error, "no target given");
	return error_remedy(error,
			    "name a target: -p PID, -t TID, -a, a process's NAME or -- CMD; see "
			    "'ctop help%s'",
			    command_suffix(options->command));
}

const char *options_nearest_command(const char *word)
{
	struct suggestion suggestion = {.word = word};
	for (size_t i = 0; i < nr_command_rows; i++)
		if (command_rows[i].name)
			suggestion_consider(&suggestion, command_rows[i].name);
	return suggestion.best;
}
