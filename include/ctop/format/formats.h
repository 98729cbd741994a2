/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FORMATS_H
#define CTOP_FORMAT_FORMATS_H

/*
 * Every format that ctop exports to, as one table: what --help, the completions, the man page, `ctop export` and the
 * interface's `x` know of it.
 */

#include <stdbool.h>
#include <stddef.h>

#include <ctop/base/text.h>
#include <ctop/grouping.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>

/* Where the output goes. */
struct export_sink {
	void *context;
	int (*write)(void *context, const void *bytes,
		     size_t size); /* 0 or -errno: writing stops */
	/*
	 * Imports the history's source once more, as history_follow_samples() wants it, and refreshes the selection. 0 or
	 * -errno. NULL where the history keeps no single samples.
	 */
	int (*read_again)(void *context);
	int fd; /* that blocks, for a recording, which writes to it directly; borrowed */
};

struct export_request {
	struct history *history;
	struct selection *selection; /* of it: what is exported */
	const struct export_sink *sink;
	bool count_samples; /* not what they stand for; a format that can */
	enum grouping
		grouping; /* frames are so already; whether by thread or process too the format sees to */
	/* Of a recording: what of the profile it is, for people, and which of the history's metadata are true of that. */
	const char *excerpt;
	bool (*keeps)(const char *key);
	/*
	 * Adds what the report says above its table, safe to show: how the profile was made and how well, with an event's samples,
	 * of which so many are exported. NULL: not known.
	 */
	void (*describe)(void *describe_context, size_t event, const struct history_totals *totals,
			 struct text *lines);
	void *describe_context;
};

struct format {
	const char *name; /* FORMAT of `ctop export`; NULL: the interface alone writes it */
	const char *help; /* one line */
	const char
		*ending;  /* of files that `x` writes in it; NULL: `ctop export` alone writes it */
	const char *what; /* is in such a file */
	const char *details;		       /* for the man page (roff) */
	bool counts_samples;		       /* takes --samples */
	bool groups_threads, groups_processes; /* --group; neither: it tells them apart anyway */
	bool of_samples;  /* of single samples, of all events as a rule; else of stacks */
	bool of_timeline; /* has what threads did when, too */
	bool of_slices;	  /* of stacks in slices of time; the same */
	bool all_events;  /* of stacks, those of all events as a rule; else of one */
	int (*write)(const struct export_request *request); /* 0 or -errno */
};

extern const struct format formats[];
extern const size_t nr_formats;

/* NULL: there is none. */
const struct format *format_named(const char *name);
/* The one that the path ends in; the first one where it ends in none. */
const struct format *format_of_path(const char *path);
/* The next one with an ending, the first one behind the last. */
const struct format *format_next(const struct format *format);

#endif
