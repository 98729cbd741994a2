/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_TIMELINE_INTERNAL_H
#define CTOP_HISTORY_TIMELINE_INTERNAL_H

/*
 * The timeline's rows, for its files: timeline.c (threads), timeline_tiles.c (their tiles), timeline_events.c (what happened to
 * them), timeline_cgroups.c (where they are), timeline_query.c (what is asked), timeline_waits.c (the longest waits). */

#include <ctop/base/index.h>
#include <ctop/history/timeline.h>

/* As many shares as a tile has. */
enum { TILE_WHOLE = 255, TILE_KIND = 7, TILE_STACK_WAITS = 8 };

struct tile {
	uint32_t stack; /* row + 1; 0: none was seen */
	uint8_t share[THREAD_UNKNOWN];
	uint8_t flags; /* TILE_KIND: most of the waiting; TILE_STACK_WAITS: the stack is of a wait */
};
_Static_assert(sizeof(struct tile) == 8, "many");
_Static_assert(NR_WAIT_KINDS <= TILE_KIND + 1, "they fit in");

/* Events of one stretch of time, at the moment of the first. */
struct event_mark {
	uint64_t time_ns;
	uint16_t nr_preemptions,
		nr_migrations;	   /* that many or more, where it is the largest number */
	uint16_t from_cpu, to_cpu; /* before the first migration, behind the last */
};
_Static_assert(sizeof(struct event_mark) == 16, "many");

/* Of the timeline's bytes, for marks. */
enum { TIMELINE_EVENTS_SHARE = 16 };

struct timeline_row {
	struct timeline_thread thread;
	uint64_t first; /* number of the first tile: time >> shift */
	struct tile *tiles;
	uint32_t nr, capacity;
	struct event_mark *marks; /* in the order of time */
	uint32_t nr_marks, marks_capacity;
	/* The tile that the last stretch was in, before rounding. */
	bool has_open;
	uint32_t open; /* tile */
	uint64_t open_ns[THREAD_UNKNOWN], open_wait_ns[NR_WAIT_KINDS];
	bool waits;
	struct timeline_moment wait; /* the one in hand */
	uint64_t marked_ns;	     /* of states by marks: they do not overlap */
};

struct past_wait {
	uint64_t serial;
	struct timeline_moment at;
};

struct timeline {
	struct {
		struct timeline_row *items;
		size_t nr, capacity;
	} rows;
	struct index by_ids;
	uint64_t bytes_most, tile_bytes, event_bytes;
	unsigned shift, nr_coarser, events_shift;
	bool expects_stretches;
	uint64_t first_ns, last_ns;
	uint64_t nr_made, nr_forgotten;
	size_t last_row;			/* that was asked for last */
	struct past_wait waits[TIMELINE_WAITS]; /* that are over, the longest first */
	size_t nr_waits;
	struct {
		char **items; /* paths; struct timeline_thread counts them from 1 */
		size_t nr, capacity;
	} cgroups;
	uint64_t cgroup_bytes;
	size_t nr_asked;   /* rows from the first on whose cgroup was asked for */
	uint64_t asked_ns; /* when the youngest of them began */
};

/* ---- timeline_tiles.c ---- */

/* The thread did that; its row's tiles grow as need be. 0 or -ENOMEM. */
int timeline_fill(struct timeline *timeline, struct timeline_row *row, enum thread_state state,
		  enum wait_kind wait, uint64_t from_ns, uint64_t to_ns);
/* A stack was seen. What was sampled comes before what waited. */
int timeline_fill_stack(struct timeline *timeline, struct timeline_row *row, uint32_t stack,
			bool is_wait, uint64_t from_ns, uint64_t to_ns);
/* Rounds what came last. */
void timeline_close_tile(const struct timeline *timeline, struct timeline_row *row);
/* Nobody has said what it did. */
void timeline_forget_states(struct timeline_row *row);
void timeline_free_tiles(struct timeline *timeline, struct timeline_row *row);

/* ---- timeline_events.c ---- */

void timeline_note_event(struct timeline *timeline, struct timeline_row *row,
			 const struct thread_stretch *stretch);
/* One that is no later than the last is a part of that. */
void timeline_put_mark(struct timeline *timeline, struct timeline_row *row,
		       const struct event_mark *mark);
void timeline_free_marks(struct timeline *timeline, struct timeline_row *row);

/* ---- timeline_waits.c ---- */

void timeline_follow_wait(struct timeline *timeline, struct timeline_row *row,
			  const struct thread_stretch *stretch);

static inline uint64_t timeline_number_of(const struct timeline *timeline, uint64_t ns)
{
	return ns >> timeline->shift;
}

static inline uint64_t timeline_start_of(const struct timeline *timeline, uint64_t number)
{
	return number << timeline->shift;
}

#endif
