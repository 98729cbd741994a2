/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_METADATA_H
#define CTOP_METADATA_METADATA_H

/*
 * The facts of a run as keys and values (docs/recording-format.md, "Infos"): what
 * a recording keeps, and what the text report's header shows.
 */

#include <ctop/history/history.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>

struct metadata_sink {
	void *context;
	int (*add)(void *context, const char *key, const char *value); /* 0 or -errno */
};

/* What is added becomes the history's own. */
struct metadata_sink metadata_to_history(struct history *history);

/* Known before the first sample: machine, target, event, fallbacks. 0 or -errno. */
int metadata_start(const struct session *session, const struct options *options,
		   const struct metadata_sink *sink);
/* Known at the end. */
int metadata_end(const struct session_stats *stats, const struct metadata_sink *sink);
/* Whether the fact of this key holds for a part of the run as it does for all of it: what an excerpt keeps. */
bool metadata_holds_for_part(const char *key);
/* Known of a perf.data file once it was read. */
int metadata_of_file(const struct session_stats *stats, const struct metadata_sink *sink);

#endif
