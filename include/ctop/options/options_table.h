/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_OPTIONS_TABLE_H
#define CTOP_OPTIONS_OPTIONS_TABLE_H

/*
 * Every command and option that ctop knows, with what --help, the man page and
 * the completions say about it. Data only: options.c gives it a meaning.
 */

#include <stdbool.h>
#include <stddef.h>

#include <ctop/options/options.h>

enum option_id {
	OPTION_PID,
	OPTION_TID,
	OPTION_ALL_CPUS,
	OPTION_CPU,
	OPTION_CGROUP,
	OPTION_TARGET_COMM,
	OPTION_TARGET_UID,
	OPTION_NO_INHERIT,
	OPTION_EVENT,
	OPTION_TIME,
	OPTION_STATE_FRAMES,
	OPTION_TRACE_FILTER,
	OPTION_COUNT,
	OPTION_FREQ,
	OPTION_CALL_GRAPH,
	OPTION_DURATION,
	OPTION_DELAY,
	OPTION_MMAP_PAGES,
	OPTION_MAX_OVERHEAD,
	OPTION_SYSCALLS,
	OPTION_BUDGET,
	OPTION_MEMORY,
	OPTION_JOBS,
	OPTION_STRICT,
	OPTION_LABEL,
	OPTION_LAST,
	OPTION_LAST_SIZE,
	OPTION_POST,
	OPTION_KEEP,
	OPTION_TRIGGER,
	OPTION_LISTEN,
	OPTION_TOKEN_FILE,
	OPTION_PUSH,
	OPTION_PUSH_EVERY,
	OPTION_NO_INLINE,
	OPTION_KEEP_CODE,
	OPTION_NO_KEEP_CODE,
	OPTION_FILTER_PID,
	OPTION_FILTER_TID,
	OPTION_FILTER_COMM,
	OPTION_FILTER_CPU,
	OPTION_FILTER_EVENT,
	OPTION_FILTER_FROM,
	OPTION_FILTER_TO,
	OPTION_FILTER_KERNEL,
	OPTION_FILTER_USER,
	OPTION_FILTER_MODULE,
	OPTION_FILTER_LABEL,
	OPTION_OUTPUT,
	OPTION_HTML,
	OPTION_STATS,
	OPTION_STDIO,
	OPTION_JSON,
	OPTION_TREE,
	OPTION_TIMELINE,
	OPTION_MODULES,
	OPTION_GROUP,
	OPTION_ANNOTATE,
	OPTION_SOURCE_DIR,
	OPTION_DEBUGINFOD,
	OPTION_VMLINUX,
	OPTION_NO_CACHE,
	OPTION_SAMPLES,
	OPTION_MIN_PERCENT,
	OPTION_LIMIT,
	OPTION_NAMES,
	OPTION_PER,
	OPTION_FAIL_ABOVE,
	OPTION_FOLDED,
	OPTION_THEME,
	OPTION_ASCII,
	OPTION_QUIET,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_PRINT_COMPLETION,
	OPTION_PRINT_MAN_OPTIONS,
	OPTION_PRINT_MAN_FORMATS,
	OPTION_PRINT_MAN_KEYS
};

enum option_group {
	GROUP_TARGET,
	GROUP_SAMPLING,
	GROUP_FILTER,
	GROUP_OUTPUT,
	GROUP_GENERAL,
	GROUP_INTERNAL, /* for the build: in no help */
	NR_OPTION_GROUPS
};

/* What a shell offers for an argument. */
enum completion { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_PID, COMPLETE_WORDS };

struct option_row {
	enum option_id id;
	enum option_group group;
	unsigned commands; /* bits COMMAND_BIT() of those that take it */
	char letter;	   /* 0: none */
	const char *name;
	const char *argument; /* NULL: a flag */
	enum completion completion;
	const char *words;   /* COMPLETE_WORDS: space-separated */
	const char *help;    /* one line */
	const char *details; /* more for the man page (roff), or NULL */
};

struct command_row {
	enum command command;
	const char *name;     /* NULL: no command word */
	const char *synopsis; /* what follows the name */
	const char *help;     /* one line */
	const char *details;  /* more for `ctop help COMMAND`, lines of at most 80 columns */
};

#define COMMAND_BIT(command) (1u << (command))

extern const struct option_row option_rows[];
extern const size_t nr_option_rows;
extern const struct command_row command_rows[];
extern const size_t nr_command_rows;

const char *option_group_title(enum option_group group);
const struct command_row *command_row(enum command command); /* NULL: has no row */
/* True when help, man page and completions name the option for this command. */
bool option_shown(const struct option_row *row, enum command command);
/* The commands that take an option, for people: "ctop, ctop record". */
void option_owners(const struct option_row *row, char *owners, size_t size);

#endif
