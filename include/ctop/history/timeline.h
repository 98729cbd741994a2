/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_TIMELINE_H
#define CTOP_HISTORY_TIMELINE_H

/*
 * What each thread did when: its time cut into tiles of equal length, 8 bytes each, with how much of it the thread computed, queued and waited, and
 * one stack that was seen there. Memory is bounded: where it is used up, all tiles become twice as long, two of them one. Sums of a thread's states
 * are kept beside them, to the nanosecond. Times are CLOCK_MONOTONIC. Main only.
 *
 * What threads do comes from records of switches (timeline_add()). Where there are none, samples and waits tell about how it was (timeline_mark()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/base/thread_stretch.h>

struct timeline;
struct timeline_thread;
struct timeline_events;

/* bytes: what it may take in all. NULL: out of memory. */
struct timeline *timeline_new(uint64_t bytes);
void timeline_free(struct timeline *timeline);
/* Nothing has happened yet. */
void timeline_clear(struct timeline *timeline);
uint64_t timeline_bytes(const struct timeline *timeline);

/* From now on pid and tid mean threads of this recording, of several that were merged, from 1 on; 0, as it is at first: of the only one. */
void timeline_set_run(struct timeline *timeline, uint32_t run);

/* ---- filling: 0 or -ENOMEM ---- */

/* States come as stretches: from now on samples only say which stack was seen when. */
void timeline_expect_stretches(struct timeline *timeline);
int timeline_add(struct timeline *timeline, const struct thread_stretch *stretch);

/* A sample, or a wait that ended or goes on then. */
struct timeline_mark {
	int32_t pid, tid;
	const char *name;   /* as above */
	uint64_t time_ns;   /* its end, */
	uint64_t length_ns; /* and how long it was */
	uint32_t stack;	    /* row of the history */
	enum thread_state state;
	enum wait_kind wait;
};
int timeline_mark(struct timeline *timeline, const struct timeline_mark *mark);

/* Of a thread of a recording, whose stretches come all at once: what marks said of its states is forgotten. */
int timeline_begin_recorded(struct timeline *timeline, int32_t pid, int32_t tid, const char *name,
			    uint64_t began_ns);
/* Its sums are these, to the nanosecond. */
void timeline_set_sums(struct timeline *timeline, int32_t pid, int32_t tid,
		       const uint64_t ns[NR_THREAD_STATES], const uint64_t wait_ns[NR_WAIT_KINDS]);

/* All are there. Where a part of a run was recorded, a thread, and the timeline, begin where that does, not with a wait that began before. */
void timeline_end_recorded(struct timeline *timeline);

/* What is known of its life, as of struct timeline_thread; its marks then, in the order of time. */
void timeline_set_life(struct timeline *timeline, size_t row, const struct timeline_thread *life);
void timeline_add_mark(struct timeline *timeline, size_t row, const struct timeline_events *mark);
/* Of a recording: how many in all; a call, or a wait in one, behind those that were put before. */
struct timeline_call;
void timeline_count_calls(struct timeline *timeline, size_t row, uint64_t nr_calls);
void timeline_put_call(struct timeline *timeline, size_t row, const struct timeline_call *call);

/* A row of which it is not known which cgroup it is in, each once; SIZE_MAX: there is none now. Threads are where others of their process are, and very many that are new where their creators are. */
size_t timeline_next_unasked(struct timeline *timeline);
/* The path from the root of version 2's hierarchy on, untrusted; NULL: nobody can say any more, and it is where its creator is. What there is no room for is not known. */
void timeline_set_cgroup(struct timeline *timeline, size_t row, const char *path);

/* So many threads were too many where it was recorded. */
void timeline_miss_threads(struct timeline *timeline, uint64_t nr);

/* Rows of stacks have become others. */
void timeline_move_stacks(struct timeline *timeline, const uint32_t *stacks);

/* ---- asking ---- */

struct timeline_thread {
	int32_t pid, tid;
	uint32_t run;		     /* timeline_set_run() */
	uint32_t cgroup;	     /* for timeline_cgroup(); 0: not known */
	char name[16];		     /* untrusted */
	uint64_t serial;	     /* no other thread has it */
	uint64_t began_ns, until_ns; /* as far as is known */
	bool has_ended, has_stretches;
	bool lacks_events;
	bool is_created; /* its beginning is that of the thread, by creator_tid */
	int32_t creator_pid, creator_tid;
	/* What it did, in all. */
	uint64_t ns[NR_THREAD_STATES];
	uint64_t wait_ns[NR_WAIT_KINDS]; /* of THREAD_WAITS */
	/* What happened to it, in all; at least, if lacks_events. */
	uint64_t nr_preemptions, nr_migrations;
	uint64_t nr_calls;   /* of system calls, as far as they are recorded one by one */
	uint64_t started_ns; /* when it got a CPU first, if that was seen; else 0 */
};
size_t timeline_nr_threads(const struct timeline *timeline);
/* Borrowed until the next stretch or mark. */
const struct timeline_thread *timeline_thread(const struct timeline *timeline, size_t row);
/* For qsort_r() of rows (size_t), with the timeline: by recording, by process, then by thread, the older one first. */
int timeline_compare_rows(const void *a, const void *b, void *timeline);
/* The row of the thread of these numbers that began last, and not behind a moment, or else first; SIZE_MAX: none. */
size_t timeline_find_thread(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t time_ns);
/* The row of who of that recording had that number then, or had until a moment before, as those that end still wake others; SIZE_MAX: nobody that is known. */
size_t timeline_row_then(const struct timeline *timeline, uint32_t run, int32_t tid,
			 uint64_t time_ns);
/* Before its name, where there are several recordings: "2: ", of the second. */
void timeline_add_run(const struct timeline_thread *thread, struct text *out);
/* "4711 main": who created a thread, the name, if it is known, untrusted. */
void timeline_add_creator(const struct timeline *timeline, const struct timeline_thread *thread,
			  struct text *out);
/* Borrowed, untrusted; "": not known. From 1 on, without a gap. */
const char *timeline_cgroup(const struct timeline *timeline, uint32_t cgroup);
/* The row of a thread; SIZE_MAX: it has gone. */
size_t timeline_row_of(const struct timeline *timeline, uint64_t serial);
uint64_t timeline_first_ns(const struct timeline *timeline); /* 0: nothing has happened */
uint64_t timeline_last_ns(const struct timeline *timeline);
uint64_t timeline_tile_ns(const struct timeline *timeline);
/* How often tiles have become twice as long, as they took too much memory. */
unsigned timeline_nr_coarser(const struct timeline *timeline);
/* Threads that are missing, as there were too many: those that have ended go first. */
uint64_t timeline_nr_forgotten(const struct timeline *timeline);

/* Of a stretch of time, how much of it: 255 are all. What is missing is unknown, or before or behind the thread's life. */
struct timeline_cell {
	uint8_t share[THREAD_UNKNOWN]; /* by state */
	uint8_t wait;		       /* enum wait_kind: most of the waiting */
	bool is_alive;
	bool is_found; /* a stack there is among those looked for */
};
/* What a thread, or all of a process (tid -1), did between two moments, to about a tile. False: none of it lived then, or that is not known. */
struct timeline_states {
	uint64_t ns[NR_THREAD_STATES], lived_ns;
};
bool timeline_states_in(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t from_ns,
			uint64_t to_ns, struct timeline_states *states);
/*
 * What a cell is, as one character: '#' computing for most of it, '+' some, 'q' wanting a CPU, '?' unknown, ' ' no thread, else waiting, by what for: l(ock), i(o), p(oll),
 * s(leep), c(hild), f(ault), o(ther), '-' not seen.
 */
char timeline_letter(const struct timeline_cell *cell);
/* nr cells side by side from a moment on. Of several threads (rows), all together. found: by the history's stacks, nr_found of them; NULL. */
void timeline_cells(const struct timeline *timeline, const size_t *rows, size_t nr_rows,
		    uint64_t from_ns, uint64_t cell_ns, const uint8_t *found, size_t nr_found,
		    struct timeline_cell *cells, size_t nr);

/* The stack that was seen nearest to a moment. False: none was, within so long. */
struct timeline_seen {
	uint32_t stack;
	uint64_t time_ns; /* when, to the tile */
	bool is_wait;
};
bool timeline_stack_at(const struct timeline *timeline, size_t row, uint64_t time_ns,
		       uint64_t within_ns, struct timeline_seen *seen);

struct timeline_moment {
	size_t row;
	uint64_t time_ns, to_ns;
	enum wait_kind wait;
	bool is_woken; /* that ended a wait, and who has: */
	int32_t waker_tid;
};
/*
 * The next moment behind (step 1) or before (-1) another, in any of the rows, at which one of the stacks was seen. Of those in one tile the row next in the list.
 * False: there is none.
 */
bool timeline_find(const struct timeline *timeline, const size_t *rows, size_t nr_rows,
		   const uint8_t *found, size_t nr_found, const struct timeline_moment *from,
		   int step, struct timeline_moment *moment);

enum { TIMELINE_WAITS = 1024 };
/* The longest waits, the longest first; how many: of a timeline of little memory there are fewer. Those that go on are among them. */
size_t timeline_longest_waits(const struct timeline *timeline,
			      struct timeline_moment waits[TIMELINE_WAITS]);
/* As they were recorded, in the place of what tiles tell of them: first this, then each. */
void timeline_forget_waits(struct timeline *timeline);
void timeline_put_wait(struct timeline *timeline, const struct timeline_moment *wait);

/* What happened to a thread in some time: it lost its CPU and wanted to go on, or came onto another CPU than before. */
struct timeline_events {
	uint64_t time_ns; /* of the first; 0: there are none */
	uint64_t nr_preemptions, nr_migrations;
	uint32_t from_cpu, to_cpu; /* before the first migration, behind the last */
};
struct timeline_events timeline_events_in(const struct timeline *timeline, size_t row,
					  uint64_t from_ns, uint64_t to_ns);
/* Those that are within so long are told as one, at the moment of the first. */
uint64_t timeline_events_ns(const struct timeline *timeline);
/* One by one, in the order of time. */
size_t timeline_nr_marks(const struct timeline *timeline, size_t row);
struct timeline_events timeline_mark_at(const struct timeline *timeline, size_t row, size_t mark);
/* They are told less finely, so that there are fewer. */
void timeline_coarsen_events(struct timeline *timeline);

/* A system call of a thread, or a wait in one that a look has seen. Where there are too many the shortest go first. */
struct timeline_call {
	uint64_t from_ns, to_ns;
	bool is_whole;	  /* the call; else a wait in it */
	const char *name; /* with what is waited for: "read, pipe:[4711]"; untrusted, borrowed */
};
/* The one in which it was for most of that time, which is not empty. False: none is known. */
bool timeline_call_in(const struct timeline *timeline, size_t row, uint64_t from_ns, uint64_t to_ns,
		      struct timeline_call *call);
/* One by one, in the order of time. */
size_t timeline_nr_calls(const struct timeline *timeline, size_t row);
struct timeline_call timeline_call_at(const struct timeline *timeline, size_t row, size_t call);
/* None is shorter. */
uint64_t timeline_calls_ns(const struct timeline *timeline);
/* Half of the shortest that there may be are forgotten. */
void timeline_forget_short_calls(struct timeline *timeline);

/* A thread's tiles one by one, for recordings: how many, when the first one begins, and what each has. */
size_t timeline_nr_tiles(const struct timeline *timeline, size_t row);
uint64_t timeline_tiles_from_ns(const struct timeline *timeline, size_t row);
struct timeline_cell timeline_tile(const struct timeline *timeline, size_t row, size_t tile);
/* All tiles become twice as long. */
void timeline_coarsen(struct timeline *timeline);

#endif
