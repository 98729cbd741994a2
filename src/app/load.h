/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_LOAD_H
#define CTOP_APP_LOAD_H

/*
 * A recording brought into a history, through the filter, for the commands that
 * read one. Of several events the one asked for counts, else the first.
 */

#include <stdbool.h>

#include <ctop/app/options.h>
#include <ctop/app/session.h>
#include <ctop/base/error.h>
#include <ctop/profile/history.h>

struct load {
	struct history *history;
	struct session *session;
	struct history_filter filter;
	const struct tables *tables; /* of the epoch in hand */
	bool event_chosen;
	char event[128];
};

/* Reads all of options->input. 0, or -errno with cause and remedy; load_release() is due in any case. */
int load_open(struct load *load, const struct options *options, struct error *error);
void load_release(struct load *load);

/*
 * Writes --stats, if it was asked for: the profile's facts are the recording's, those of
 * cost (CPU time, memory, output) the command's own. 0 or -errno with cause.
 */
int load_write_stats(struct load *load, const struct options *options, size_t output_bytes,
		     struct error *error);

#endif
