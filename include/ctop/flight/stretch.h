/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_STRETCH_H
#define CTOP_FLIGHT_STRETCH_H

/*
 * The last stretch of a profile, in bounded memory for ever: the samples as they came, and the epochs' tables that they refer to. An epoch
 * is given up as a whole, once all of it is too old; its owner begins a new one in time (stretch_wants_epoch()). Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/recorder/recording_writer.h>
#include <ctop/session/region.h>
#include <ctop/session/session.h>

struct stretch;

/* bytes_most: of samples and tables, the epoch in hand aside. NULL: out of memory. */
struct stretch *stretch_new(uint64_t last_ns, uint64_t bytes_most);
void stretch_free(struct stretch *stretch);

/* Samples from now on refer to these, which stay mapped until their region is taken. so_far: what was lost before. 0 or -ENOMEM. */
int stretch_begin_epoch(struct stretch *stretch, const struct tables *tables,
			const struct symbols *symbols, const struct session_stats *so_far);
int stretch_add(struct stretch *stretch, const struct sample *samples, size_t nr);
/* Of the epoch before the one in hand: owned from now on. Leaves *region closed. */
void stretch_take_region(struct stretch *stretch, struct region *region);

/* Gives up what is from before that time, and what there is no room for. */
void stretch_forget(struct stretch *stretch, uint64_t before_ns);
/* The one in hand has lasted long enough, or takes too much. */
bool stretch_wants_epoch(const struct stretch *stretch, uint64_t now_ns);
/* From when on everything that was sampled is there; 0: from the start. */
uint64_t stretch_since_ns(const struct stretch *stretch);
/* When the newest sample was taken; 0: there is none. */
uint64_t stretch_until_ns(const struct stretch *stretch);
/* What was lost and dropped before the oldest epoch that is there. */
const struct session_stats *stretch_before(const struct stretch *stretch);
uint64_t stretch_bytes(const struct stretch *stretch);

/* How many samples there are from from_ns on, up to and including to_ns. */
uint64_t stretch_count(const struct stretch *stretch, uint64_t from_ns, uint64_t to_ns);
/* Writes these, with all that they refer to. 0 or -errno; -EAGAIN: too much waits in the writer. */
int stretch_write(const struct stretch *stretch, uint64_t from_ns, uint64_t to_ns,
		  struct recording_writer *writer);

#endif
