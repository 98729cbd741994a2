/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_SOURCE_H
#define CTOP_COLLECT_SOURCE_H

/*
 * Where records come from: the kernel's rings (merge.c), or a perf.data file (file.c). A file is one ring without
 * memory: what is remembered of a ring's last sample is remembered of the file's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/event_sets.h>
#include <ctop/file_kind.h>
#include <ctop/kernel/ring.h>
#include <ctop/perfdata/perfdata.h>

struct collector;
struct file_source;
struct perfdata; /* file.c */

/* What a sample is known by, to tell whether the next one is the same; see duplicates.c. */
struct last_sample {
	uint64_t id, time_ns;
	uint64_t position; /* in the ring */
	uint64_t after_ns; /* the task's one before it; UINT64_MAX: there is none */
	uint64_t state;	   /* same_hit_state(); 0: was not needed */
	int32_t tid;
	bool is_repeat;
};

struct collector_ring {
	struct ring ring;
	int fd;
	int32_t cpu;
	uint64_t next_time_ns; /* of the record at the tail; UINT64_MAX: none */
	const struct perf_event_header *next;
	struct last_sample last_samples[SAMPLER_MAX_EVENTS]; /* of each event */
	uint64_t seen_head;				     /* see sets.c */
	/* Of each paced event, of the set in use, since its pace was looked at. */
	uint64_t nr_seen[SAMPLER_MAX_EVENTS];
};

struct source {
	struct collector_ring *rings;
	size_t nr_rings;
	int fd;			       /* of a file that is to be opened; -1: none */
	int parts[PERFDATA_MAX_PARTS]; /* further ones, that have its records */
	size_t nr_parts;
	struct file_source *file;  /* NULL: the rings are the source */
	struct perfdata *perfdata; /* its; NULL: there is none */
	uint64_t number;	   /* of a file: of the record in hand */
	uint64_t taken;		   /* of a file: records that were taken, by a predecessor too */
	uint64_t last_time_ns;	   /* of the last record taken */
	unsigned nr_idle;	   /* of the rings: rounds since one that took a record */
	uint64_t clock_ns;	   /* before main's last messages were looked for */
};

/* ---- merge.c: the kernel's rings, in time order ---- */

/* Takes what is old enough (everything, when stopping) from all rings. 0 or -errno that ends the collector. */
int merge_round(struct collector *collector);
/* True when every ring is empty. */
bool merge_drained(const struct source *source);

/* ---- file.c: a perf.data file ---- */

/* Opens the file, and tells the tables what it says of itself. 0, or -errno with cause and remedy. */
int file_start(struct collector *collector, struct error *error);
void file_close(struct source *source);
/* Takes some records, as long as the reader of the samples keeps up. 0 or -errno that ends the collector. */
int file_round(struct collector *collector);
/* True when all was taken. */
bool file_drained(const struct source *source);
/* True while the ring of samples is full. */
bool file_wants_room(const struct source *source);
/* What was wrong with the file; "" when nothing was. Borrowed. */
const char *file_note(const struct source *source);

#endif
