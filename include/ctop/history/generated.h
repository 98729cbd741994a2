/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_GENERATED_H
#define CTOP_HISTORY_GENERATED_H

/* Code that is in no file: how much of it processes run, and what is known of it. Looks at all stacks. Main only. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/history/history.h>

struct history_generated {
	int32_t pid;
	uint64_t started_ns; /* of the first of that pid; 0: not known */
	uint64_t samples;
	uint64_t generated; /* of these: in stacks with such code */
	uint64_t unnamed;   /* where some of that has no name */
	uint64_t cut;	    /* in such stacks that do not reach their root */
	uint64_t marked;    /* with one of the marks in them */
	uint32_t
		classes; /* bits: of the modules sampled; if they have none, of the process's name */
	uint32_t marks;	 /* bits: functions sampled */
};

/*
 * class_of: a number below 32 of a module's path, or -1. marks: names of functions, at most 32; NULL: none. The 256 processes
 * seen first, sorted by samples. *out is the caller's to free(). 0 or -ENOMEM.
 */
int history_generated(struct history *history, int (*class_of)(const char *path),
		      const char *const *marks, size_t nr_marks, struct history_generated **out,
		      size_t *nr);

#endif
