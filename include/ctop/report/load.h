/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_LOAD_H
#define CTOP_REPORT_LOAD_H

/*
 * A recording brought into a history, through the filter, for the commands that
 * read one.
 */

#include <ctop/base/error.h>
#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>

struct load {
	struct history *history;
	struct session *session;
	struct session *again;	       /* that read it once more; NULL: nobody had to */
	const struct options *options; /* borrowed, or with_event */
	struct options *with_event;    /* the first that has samples; NULL: as asked for */
};

enum load_mode {
	LOAD_COUNTS, /* of the event asked for, else of the first that has samples: those of different events do not add up */
	LOAD_COLUMNS, /* the same, and unless one is asked for the others beside it, for columns of their own */
	LOAD_EVENTS, /* of the event asked for, else of all: for callers that keep them apart */
	LOAD_SECONDS, /* as LOAD_COUNTS, and counts by the second, for the interface */
	LOAD_SAMPLES, /* single samples as well, of the event asked for, else of all, see load_again() */
	LOAD_SLICES /* the same, and what they are by slices of time, instead of single samples */
};

/* So many single samples are kept; it is 48 MiB. */
enum { LOAD_SAMPLES_MOST = 2 << 20 };

/*
 * Reads all of options->input; load->options are those that hold from then on. 0, or -errno with cause and remedy, also when
 * there are samples and none passes the filter; load_release() is due in any case.
 */
int load_open(struct load *load, const struct options *options, enum load_mode mode,
	      struct error *error);
/* The same in steps: its begin, */
int load_begin(struct load *load, const struct options *options, enum load_mode mode,
	       struct error *error);
/* and what follows, for at most timeout_ms, until it is done (or fails, as load_open() does). */
int load_step(struct load *load, int timeout_ms, bool *done, struct error *error);
/*
 * Reads a source with more than LOAD_SAMPLES_MOST samples once more, for a history that follows. 0, or -errno with
 * cause and remedy: a pipe is read once.
 */
int load_again(struct load *load, struct error *error);
/* Once it is read: adds lines on what was lost with its damage, or is lacking to read it; safe text. */
void load_add_damage(const struct load *load, struct text *lines);
/* Tells that on stderr. */
void load_tell_damage(const struct load *load);
/* With LOAD_COUNTS and LOAD_COLUMNS: one line on stderr when the recording has more events than are shown. */
void load_tell_event(const struct load *load);
/* One line on stderr when the memory's bound was reached. */
void load_tell_folded(const struct load *load);
void load_release(struct load *load);

/*
 * Writes --stats, if it was asked for: the profile's facts are the recording's, those of
 * cost (CPU time, memory, output) the command's own. 0 or -errno with cause.
 */
int load_write_stats(struct load *load, const struct options *options, size_t output_bytes,
		     struct error *error);

#endif
