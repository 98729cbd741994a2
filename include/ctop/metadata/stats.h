/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_STATS_H
#define CTOP_METADATA_STATS_H

/* `--stats FILE`: one JSON object of what was measured. */

#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/history/history.h>
#include <ctop/session/session.h>

struct stats_event {
	const char *asked, *opened;
	uint64_t period;       /* 0 when a frequency was asked */
	uint64_t frequency_hz; /* 0 when a period was asked */
	enum weight_unit unit; /* of what is counted and sampled */
	struct session_event counts;
};

struct stats_input {
	struct session_stats session;
	uint64_t frames, unsymbolized_frames;
	uint64_t output_bytes;
	const char *const *steps_down;
	size_t nr_steps_down;
	struct stats_event events[SAMPLER_MAX_EVENTS];
	size_t nr_events;
	size_t event;	/* the one that totals of weight, and the rate, are of */
	double rate_hz; /* reached: its samples per second of duration */
};

/*
 * Writes the object to path ("-": stdout). 0 or -errno with the cause; -EINTR once wake_fd is readable and nobody reads
 * what is to be written; -1: it waits however long.
 */
int stats_write(const char *path, const struct stats_input *input, int wake_fd,
		struct error *error);

#endif
