/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_TIMELINE_INTERNAL_H
#define CTOP_HISTORY_TIMELINE_INTERNAL_H

/*
 * The timeline's rows, for its files: timeline.c (threads), timeline_tiles.c (their tiles), timeline_events.c (what happened to
 * them), timeline_calls.c (their system calls), timeline_lists.c (the room for both), timeline_cgroups.c (where they are),
 * timeline_query.c (what is asked), timeline_waits.c (the longest waits).
 */

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

struct call_span {
	uint64_t from_ns, to_ns;
	uint32_t name; /* row of its names */
	bool is_whole;
};

/* Of the timeline's bytes: for marks, for calls and their names. */
enum { TIMELINE_EVENTS_SHARE = 16, TIMELINE_CALLS_SHARE = 16 };

/* timeline_lists.c */
struct row_list {
	void *items; /* in the order of time */
	uint32_t nr, capacity;
};

struct timeline_row {
	struct timeline_thread thread;
	uint64_t first; /* number of the first tile: time >> shift */
	struct tile *tiles;
	uint32_t nr, capacity;
	struct row_list marks; /* of struct event_mark */
	struct row_list calls; /* of struct call_span: none overlaps another */
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

enum { TIMELINE_RECENT = 1024 };

struct timeline {
	struct {
		struct timeline_row *items;
		size_t nr, capacity;
	} rows;
	struct index by_ids;
	uint64_t bytes_most, tile_bytes, event_bytes, call_bytes;
	unsigned shift, nr_coarser, events_shift, calls_shift;
	bool expects_stretches;
	uint64_t first_ns, last_ns;
	uint64_t nr_made, nr_forgotten;
	uint32_t run; /* timeline_set_run() */
	/* That were asked for last, by the last bits of the tid, and 1; each is checked. */
	uint32_t recent[TIMELINE_RECENT];
	struct {
		struct past_wait *items;
		size_t nr, capacity;
	} waits; /* that are over, the longest first */
	struct {
		char **items; /* paths; struct timeline_thread counts them from 1 */
		size_t nr, capacity;
	} cgroups;
	uint64_t cgroup_bytes;
	struct {
		char **items;
		size_t nr, capacity;
	} call_names;
	uint64_t call_name_bytes;
	struct index by_call_name;
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
/* What is before that moment's tile goes. */
void timeline_cut_tiles(const struct timeline *timeline, struct timeline_row *row,
			uint64_t from_ns);
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

/* ---- timeline_lists.c ---- */

struct timeline_lists {
	size_t item_bytes;
	uint64_t *bytes, bytes_most; /* of all rows' */
	unsigned *
		shift; /* 2^shift ns: what is closer, or shorter, is not told apart, or forgotten */
	void (*thin_out)(
		struct timeline
			*timeline); /* shift becomes larger, and all lists shorter, if they can */
};
/* For one item more. False: there is none. */
bool timeline_list_make_room(const struct timeline_lists *lists, struct timeline *timeline,
			     struct row_list *list);
void timeline_list_trim(const struct timeline_lists *lists, struct row_list *list);
void timeline_list_free(const struct timeline_lists *lists, struct row_list *list);

/* ---- timeline_calls.c ---- */

/* Behind those that were noted before; a wait with the same beginning goes on, and waits in a whole call become a part of that. */
void timeline_note_call(struct timeline *timeline, struct timeline_row *row,
			const struct timeline_call *call);
void timeline_free_calls(struct timeline *timeline, struct timeline_row *row);
void timeline_forget_call_names(struct timeline *timeline);

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
