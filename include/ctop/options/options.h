/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_OPTIONS_H
#define CTOP_OPTIONS_OPTIONS_H

/*
 * What the user typed. One table of commands and options (src/main/options/options_table.c) drives
 * the parser, --help, the man page's option list and the shells' completions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/grouping.h>
#include <ctop/options/trigger.h>
#include <ctop/perf/sampler.h>
#include <ctop/state_frames.h>
#include <ctop/theme.h>
#include <ctop/time_shown.h>

struct format; /* format/formats.h */

enum command {
	COMMAND_LIVE, /* no command word */
	COMMAND_RECORD,
	COMMAND_REPORT,
	COMMAND_EXPORT,
	COMMAND_DIFF,
	COMMAND_MERGE,
	COMMAND_DUMP,
	COMMAND_SERVE,
	COMMAND_LIST,
	COMMAND_DOCTOR,
	COMMAND_HELP,	 /* --help, -h, help [COMMAND] */
	COMMAND_VERSION, /* --version, -V */
	COMMAND_INTERNAL /* --print-completion=SHELL, --print-man-options: for the build */
};

struct int32_list {
	int32_t *items;
	size_t nr, capacity;
};

enum { OPTIONS_SOURCE_DIRS_MAX = 16 };
enum { OPTIONS_JOBS_MAX = 16, OPTIONS_LABELS_MAX = 32, LABEL_KEY_MAX = 64, LABEL_MAX = 512 };

struct options {
	enum command command;
	enum command help_about; /* COMMAND_HELP: which one; COMMAND_LIVE: ctop itself */

	/* TARGET: exactly one kind, or none for report and export, and for ctop itself: options_have_target() */
	struct int32_list pids, tids, cpus; /* -p, -t, -C */
	bool system_wide;		    /* -a; -C without a target implies it */
	const char *cgroup;		    /* -G */
	const char *only_comm;		    /* of whole CPUs: threads of this name; NULL: all */
	bool has_uid;			    /* of whole CPUs: this user's processes */
	uint32_t uid;
	const char *process_name; /* NAME */
	char **environment;	  /* as the caller has it: the command's; main's own may be less */
	char *const *argv;	  /* -- CMD [ARG...], NULL-terminated; NULL: none */
	int command_input; /* what CMD reads; 0: our standard input (live sets it; closed once it runs) */
	int command_output; /* where CMD writes instead of a terminal; 0: nowhere else (live sets it) */

	/* SAMPLING */
	struct event events[SAMPLER_MAX_EVENTS]; /* nr_events 0: the default ladder from cycles */
	size_t nr_events;
	size_t first_filtered;	      /* of the last -e: what --filter is about */
	uint64_t count, frequency_hz; /* -c, -F: one or none given */
	enum call_graph call_graph;
	uint32_t dump_bytes;	       /* --call-graph dwarf,BYTES; 0: auto */
	double duration_seconds;       /* 0: until the target ends or ^C */
	double delay_seconds;	       /* until sampling begins; -1: until SIGUSR1 */
	uint32_t ring_pages;	       /* -m; 0: default */
	uint32_t max_overhead_percent; /* default 10 */
	double budget_share;	       /* --budget, of all CPUs' time, up to 1; 0: none */
	uint64_t memory_mib;	       /* of a live profile's history; default 128 */
	bool memory_is_asked;	       /* else a file's may be larger: see load.c */
	enum state_frames state_frames;
	enum time_shown time; /* --time; of readers, which samples count */
	bool strict, no_inherit;
	bool system_calls; /* --syscalls */

	/* FILTER */
	struct int32_list filter_pids, filter_tids, filter_cpus;
	const char *comm, *event, *module;
	double from_seconds, to_seconds;
	bool kernel_only, user_only;
	/* "KEY=VALUE"; of record, what the run is given. */
	const char *labels[OPTIONS_LABELS_MAX];
	size_t nr_labels;

	/* input and output */
	const char *input;   /* FILE; default profile.ctop */
	const char **inputs; /* of merge; output is OUT */
	size_t nr_inputs;
	uint32_t nr_jobs;   /* processes that read a perf.data file; 0: by its size */
	const char *other;  /* diff A B: B, and input is A; each one file or several, with commas */
	const char *output; /* -o; record: default profile.ctop; export: NULL is stdout */
	bool output_by_default;	     /* it was not named */
	const struct format *format; /* export FORMAT */
	bool samples;		     /* export folded: counts samples, not what they stand for */
	const char *pattern;	     /* list PATTERN; NULL: all */
	bool json;		     /* doctor --json */
	const char *per;	     /* diff: "total", "second" or an event; NULL: total */
	double fail_above_percent;   /* diff; below 0: not asked for */
	bool folded;		     /* diff --folded */
	const char *html_path;	     /* record --html FILE */
	const char *stats_path;	     /* --stats FILE */
	bool no_inline;		     /* neither inlined functions nor lines */
	bool no_keep_code;	     /* of hot functions, in the recording */
	/* A flight recorder: only the last stretch is kept, until it is to be written. */
	uint64_t last_ns; /* --last; 0: everything is recorded */
	uint64_t last_bytes, post_ns;
	bool keeps_all_it_can; /* --last-size alone: as long as there is room, MOST_LAST_NS at most */
	uint32_t keep;	       /* slices; 0: all */
	struct trigger triggers[TRIGGERS_MAX];
	size_t nr_triggers;
	int32_t recorder_pid;	/* dump; 0: the only one */
	const char *listen;	/* serve: as listen_address_parse() takes it */
	const char *token_file; /* serve; NULL: none */
	const char *push_url;	/* serve; NULL: nothing is pushed */
	uint64_t push_every_ns;
	bool quiet, stdio, tree, modules, timeline, ascii;
	enum grouping grouping; /* of the list's rows, and of some exports' frames */
	bool debuginfod;	/* debug files may be fetched */
	bool no_cache;		/* the kernel's names are printed by it each time */
	const char *vmlinux;	/* that the kernel was made of; NULL: where it is by custom */
	const char *annotate;	/* report: the function whose code is shown; NULL: none */
	const char *source_dirs[OPTIONS_SOURCE_DIRS_MAX]; /* "OLD=NEW" */
	size_t nr_source_dirs;
	enum theme theme;
	double min_percent; /* rows below it are left out; default 0.5 */
	uint32_t limit;	    /* rows of the top list; default 40; 0: all */
	bool names_full;    /* in text; else they are made to fit its lines */
	uint32_t columns;   /* of the terminal that main writes to; 0: it is none */
	const char *print; /* COMMAND_INTERNAL: "bash", "zsh", "fish", "man", "formats" or "keys" */
};

/* 0, or -EINVAL with the cause and the remedy, exit code 2. Strings are borrowed from argv. */
int options_parse(int argc, char **argv, struct options *options, struct error *error);
void options_release(struct options *options);
bool options_have_target(const struct options *options);
/* -EINVAL with cause and remedy: no target was named. */
int options_no_target(const struct options *options, struct error *error);
/*
 * Whether all threads of the machine may be followed. Of some CPUs, a cgroup, or threads chosen as they come nobody knows all that a thread
 * does.
 */
static inline bool options_follow_all(const struct options *options)
{
	return options->system_wide && !options->cgroup && !options->cpus.nr &&
	       !options->only_comm && !options->has_uid;
}
/* Whether sampling does not begin with the session. */
bool options_start_off(const struct options *options);

/* The command that a word was probably meant to be, or NULL: for "no process named recrod". */
const char *options_nearest_command(const char *word);

/* The help text of a command (COMMAND_LIVE: of ctop), to stdout. */
void options_print_help(enum command command);
/* What `which` names: a shell's completion script, or the man page's option list ("man"), to stdout. */
void options_print_internal(const char *which);

#endif
