/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_STATS_H
#define CTOP_APP_STATS_H

/* `--stats FILE`: one JSON object of what was measured. */

#include <stdint.h>

#include <ctop/app/session.h>
#include <ctop/base/error.h>
#include <ctop/profile/history.h>

struct stats_input {
	struct session_stats session;
	uint64_t frames, unsymbolized_frames;
	uint64_t output_bytes;
	const char *const *steps_down;
	size_t nr_steps_down;
	const char *event_asked, *event_opened;
	uint64_t event_period;	     /* 0 when a frequency was asked */
	uint64_t event_frequency_hz; /* 0 when a period was asked */
	double rate_hz;		     /* reached: samples per second of duration */
};

/* Writes the object to path ("-": stdout). 0 or -errno with the cause. */
int stats_write(const char *path, const struct stats_input *input, struct error *error);

#endif
