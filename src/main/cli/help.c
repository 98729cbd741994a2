/* SPDX-License-Identifier: MIT */
#include <ctop/options/options.h>

#include <stdio.h>
#include <string.h>

#include <ctop/format/formats.h>
#include <ctop/options/options_table.h>

/* Two columns: what to type, and what it does. */
enum { HELP_COLUMN = 30, SYNOPSIS_COLUMN = 42 };

static void print_row(const char *left, const char *right, int column)
{
	if (strlen(left) + 2 > (size_t)column)
		printf("%s\n%*s%s\n", left, column, "", right);
	else
		printf("%-*s%s\n", column, left, right);
}

static void print_option(const struct option_row *row)
{
	char left[64];
	char letter[8] = "    ";
	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", letter, row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	print_row(left, row->help, HELP_COLUMN);
}

static void print_options(enum command command)
{
	for (enum option_group group = 0; group < NR_OPTION_GROUPS; group++) {
		bool titled = false;
		for (size_t i = 0; i < nr_option_rows; i++) {
			const struct option_row *row = &option_rows[i];
			if (row->group != group || !option_shown(row, command))
				continue;
			if (!titled)
				printf("\n%s\n", option_group_title(group));
			titled = true;
			print_option(row);
		}
	}
}

static void print_overview(void)
{
	printf("ctop %s: where a running process spends its time, with complete call "
	       "stacks\n\n",
	       CTOP_VERSION);
	for (size_t i = 0; i < nr_command_rows; i++) {
		const struct command_row *row = &command_rows[i];
		char left[80];
		snprintf(left, sizeof(left), "  ctop%s%s %s", row->name ? " " : "",
			 row->name ? row->name : "", row->synopsis);
		print_row(left, row->help, SYNOPSIS_COLUMN);
	}
	printf("\n%s", command_row(COMMAND_LIVE)->details);
	print_options(COMMAND_LIVE);
	printf("\nExamples\n  ctop -p 1234                profile a process until ^C\n  ctop "
	       "record -- make -j2     profile a command into profile.ctop\n  ctop report --tree   "
	       "       show the call tree of profile.ctop\n  ctop export folded | flamegraph.pl "
	       "--countname=ns > profile.svg\n\n'ctop help COMMAND' says more about a command.\n");
}

static void print_command(const struct command_row *row)
{
	printf("usage: ctop %s %s\n\n%s", row->name, row->synopsis, row->details);
	for (size_t i = 0; row->command == COMMAND_EXPORT && i < nr_formats; i++)
		if (formats[i].name)
			printf("  %-10s %s\n", formats[i].name, formats[i].help);
	print_options(row->command);
}

void options_print_help(enum command command)
{
	switch (command) {
	case COMMAND_RECORD:
	case COMMAND_REPORT:
	case COMMAND_EXPORT:
	case COMMAND_DIFF:
	case COMMAND_MERGE:
	case COMMAND_DUMP:
	case COMMAND_SERVE:
	case COMMAND_LIST:
	case COMMAND_DOCTOR:
		print_command(command_row(command));
		break;
	case COMMAND_LIVE:
	case COMMAND_HELP:
	case COMMAND_VERSION:
	case COMMAND_INTERNAL:
		print_overview();
		break;
	}
}
