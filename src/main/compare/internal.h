/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COMPARE_INTERNAL_H
#define CTOP_COMPARE_INTERNAL_H

/* What is kept of two profiles: functions by name, a tree of paths, and what each run has of both. */

#include <ctop/base/index.h>
#include <ctop/compare/compare.h>

/* Functions of both sides, brought together: functions.c. */
struct same_function {
	char *name, *module; /* what it goes by; owned, as all names here */
	bool kernel, named;
	bool label;			/* it is no function */
	char *names[NR_COMPARE_SIDES];	/* as the side has it; NULL: it has not */
	bool several[NR_COMPARE_SIDES]; /* names: then it goes by its own */
	uint32_t moved_to;		/* the row of this name in another module; its own: none */
	uint32_t moved_from;		/* the same, the other way; 0: none */
	uint32_t nr_paths;		/* that it stands on; at least as many */
};

struct same_functions {
	struct same_function *items;
	size_t nr, capacity;
	struct index index; /* name and module */
};

/* The row of a function that this side has. -ENOMEM, or 0. */
int same_functions_add(struct same_functions *functions, enum compare_side side,
		       const struct same_function *wanted, const char *name, uint32_t *row);
/* As far as there is one. False: there is none. */
bool same_functions_find(const struct same_functions *functions, const struct same_function *wanted,
			 uint32_t *row);
/* Those of one side alone, and of one name, in different modules. 0 or -ENOMEM. */
int same_functions_find_moved(struct same_functions *functions);
void same_functions_release(struct same_functions *functions);

/* A step of a path. Row 0: the root, its own parent, of no function. Parents come first. */
struct path_row {
	uint32_t parent, function;
	uint32_t first_child, next_sibling; /* once all is there; 0: none */
	bool outermost;			    /* no path above it ends in the same function */
};

struct path_rows {
	struct path_row *items;
	size_t nr, capacity;
	struct index index; /* parent and function */
};

/* By path or function, of one run; what is not there has nothing. */
struct weighed_rows {
	struct weighed *items;
	size_t nr, capacity;
};

struct compared_run {
	struct weighed_rows own;	 /* by path: of stacks that end there */
	struct weighed_rows below;	 /* by path, all that passes it; once all is there */
	struct weighed_rows self, total; /* by function */
};

struct compare {
	bool by_share;
	struct same_functions functions;
	struct path_rows paths;
	struct compared_run *runs;
	struct noise_run *measured; /* of the same number */
	size_t nr_runs;
	struct noise noise;
	struct noise path_noise; /* the same, for as many rows as there are paths */
	struct weighed *row;	 /* scratch: of each run */
	struct compare_counts counts;
};

/* The row of a path one step further. False: there is none. */
bool path_rows_find(const struct path_rows *paths, uint32_t parent, uint32_t function,
		    uint32_t *row);
/* The same; it is added where there is none. -ENOMEM or 0. */
int path_rows_add(struct compare *compare, uint32_t parent, uint32_t function, uint32_t *row);
/* Once all is summed up: how much is noise. 0 or -ENOMEM. */
int compare_measure(struct compare *compare);
/* A function without its values. Names are borrowed. */
struct compare_function compare_function_of(const struct compare *compare, uint32_t row);
/* With them. */
struct compare_function compare_measured(const struct compare *compare, uint32_t row);

#endif
