/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_TRACKS_H
#define CTOP_FORMAT_TRACKS_H

/*
 * A selection's samples thread by thread and event by event, on a tree of stacks: what viewers want that show each thread along
 * time. Memory grows with distinct stacks; of single samples there are at most TRACKS_SAMPLES_MOST. Where there are more, and where
 * the history has let them go, each distinct stack is one sample of all its weight, without a time.
 */

#include <ctop/base/index.h>
#include <ctop/format/formats.h>

#include "process_names.h"

enum { TRACKS_SAMPLES_MOST = 2 << 20 };
/* Instead of an event: computing and waiting together, as time. */
#define TRACK_OF_WALL UINT32_MAX

/* A function's address, as a stack has it. */
struct track_frame {
	struct function_id function;
	uint32_t module;
	uint64_t address;
	uint32_t offset;  /* in the function; UINT32_MAX: not known */
	uint32_t depth;	  /* of how many others of the address it was put into; 0: none */
	uint32_t line;	  /* 0: not known */
	const char *file; /* "": not known; borrowed, from the history */
};
/* A frame, called by the parent's. Number 0 is none: a stack without frames. */
struct track_node {
	uint32_t parent, frame;
};
struct track_sample {
	uint64_t time_ns; /* 0: not known */
	uint64_t weight;
	uint64_t samples;
	uint32_t node, track;
	enum stack_end end;
};
struct track {
	uint32_t event;
	int32_t pid, tid;
	uint64_t started_ns; /* the process */
	const char *comm;    /* the first one seen; borrowed, from the history */
	const char *process; /* what its process goes by; the same */
	uint64_t weight;
	uint32_t first, nr;   /* of its samples, in order[] */
	uint32_t wall_plus_1; /* meaningless to others */
};
struct tracks {
	bool has_times;
	bool of_functions; /* a function is one frame, whatever its addresses: that of the first one seen */
	struct process_names processes;
	struct {
		struct track_frame *items;
		size_t nr, capacity;
	} frames;
	struct {
		struct track_node *items;
		size_t nr, capacity;
	} nodes;
	struct {
		struct track *items;
		size_t nr, capacity;
	} tracks; /* by event; in it the heaviest first */
	struct {
		struct track_sample *items;
		size_t nr, capacity;
	} samples; /* in the order of time; .track is meaningless to others */
	uint32_t *
		order; /* samples of one track after the other, each in the order of time; those of walls once more */
	struct index frames_index, nodes_index, tracks_index;
	struct {
		struct row_node {
			uint32_t node_plus_1, track;
			enum stack_end end;
		} * items;
		size_t nr, capacity;
	} rows; /* of the selection: whose node is known */
};

enum tracks_of {
	TRACKS_OF_SAMPLES,
	/* And, behind all others, a track of each thread's computing and waiting, where waits are known. */
	TRACKS_OF_SAMPLES_AND_WALL,
	TRACKS_OF_STACKS /* each distinct one, without times, however few samples there are */
};
/*
 * For who takes samples one by one and keeps none: an empty tree, the number of the stack with these frames below *node, and that of
 * the thread and event that a stack was sampled in. 0 or -ENOMEM; tracks_release() is due in any case.
 */
int tracks_begin(struct tracks *tracks, const struct export_request *request);
int tracks_find_node(struct tracks *tracks, const struct history_frame *frames, size_t nr_frames,
		     uint32_t *node);
int tracks_find_track(struct tracks *tracks, const struct history_stack *stack, uint32_t *track);
/* 0 or -ENOMEM; tracks_release() is due in any case. */
int tracks_take(struct tracks *tracks, const struct export_request *request, enum tracks_of what);
void tracks_release(struct tracks *tracks);

#endif
