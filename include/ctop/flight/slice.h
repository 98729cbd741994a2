/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_SLICE_H
#define CTOP_FLIGHT_SLICE_H

/*
 * A part of a stretch on its way into a file of its own, which a process writes (session/disk.h), so that a slow disk stalls nobody. What
 * is to be written is taken at once; the stretch may forget it then. A file that could not be written whole is removed. Main only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/flight/stretch.h>
#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>
#include <ctop/output/output.h>
#include <ctop/session/disk.h>

/* What was known of the run when it began. */
struct slice_facts {
	struct slice_fact {
		char *key, *value;
	} * items;
	size_t nr, capacity;
};
int slice_facts_take(struct slice_facts *facts, const struct session *session,
		     const struct options *options); /* 0 or -errno */
void slice_facts_release(struct slice_facts *facts);

struct slice_request {
	const struct stretch *stretch;
	const struct slice_facts *facts;
	const struct session_stats *stats; /* of the run so far */
	uint64_t from_ns, to_ns;	   /* CLOCK_MONOTONIC */
	uint64_t from_wall_ns;		   /* Unix time */
	const char *excerpt;		   /* what it is, and why it was taken; safe to show */
	struct timeline *timeline;	   /* what threads did then; becomes as coarse as need be */
	struct output_request output;
};

struct slice {
	enum slice_state { SLICE_NONE, SLICE_DATA, SLICE_END, SLICE_DISK } state;
	struct output output;
	struct disk disk;
	struct recording_writer *writer;
	uint64_t samples, bytes;
};

/*
 * Once the last one is written. 0, or -errno with cause and remedy; -EEXIST without: there is such a file. *writer_pid: the process that
 * writes.
 */
int slice_begin(struct slice *slice, const struct slice_request *request, pid_t *writer_pid,
		struct error *error);
/* 0: it is written; -EAGAIN: not yet; else -errno of what became of it. */
int slice_go_on(struct slice *slice);
/* Waits until slice_go_on() may do more, or wake_fd is readable: -EINTR. */
int slice_wait(const struct slice *slice, int wake_fd);
/* Ends one that is not written: its file is removed. Fine on one that is. */
void slice_release(struct slice *slice);

#endif
