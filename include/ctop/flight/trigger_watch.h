/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_TRIGGER_WATCH_H
#define CTOP_FLIGHT_TRIGGER_WATCH_H

/*
 * Whether a flight recorder's triggers (options/trigger.h) have come true. Of a file the directory is watched (inotify): nobody waits for a
 * file system while the profile runs. exit!=0 is known at the end, and is not looked for here. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct trigger_watch;

/* NULL with cause and remedy. The options stay. */
struct trigger_watch *trigger_watch_new(const struct options *options, struct error *error);
void trigger_watch_free(struct trigger_watch *watch);

/* Samples are of these tables from now on, which stay until the next ones. */
void trigger_watch_begin_epoch(struct trigger_watch *watch, const struct tables *tables,
			       const struct symbols *symbols);
/* Samples as they come. */
void trigger_watch_samples(struct trigger_watch *watch, const struct sample *samples, size_t nr);
/*
 * The first that came true since the last look, as it was typed and with what met it (untrusted), and when (CLOCK_MONOTONIC). False: none.
 * About ten times a second: a wait that ends sooner behind its time is not seen.
 */
struct trigger_met {
	char why[160];
	uint64_t moment_ns;
};
bool trigger_watch_look(struct trigger_watch *watch, struct session *session,
			struct trigger_met *met);
/* Whether one asks for waits, of which nothing is known but from records of switches. */
bool trigger_watch_needs_switches(const struct trigger_watch *watch);

#endif
