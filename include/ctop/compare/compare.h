/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COMPARE_COMPARE_H
#define CTOP_COMPARE_COMPARE_H

/*
 * Two profiles compared, each of one run or of several: functions and paths of both sides brought together by name, and what they
 * cost on either. Runs are added one after the other, and none of their histories is needed afterwards:
 *
 *     compare_add(compare, &run, selection); ...     of both sides
 *     compare_finish(compare);
 *     compare_functions(), compare_each_node()
 *
 * Functions are the same if their names are (compare/name.h) and the file names of their modules; else, if each side has one of
 * that name that the other has not, wherever that is. Addresses never count: builds differ. So functions without a name are
 * one, module by module. Main only; names are untrusted.
 */

#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/compare/noise.h>
#include <ctop/query/selection.h>

struct compare;

struct compare *compare_new(bool by_share); /* NULL: out of memory */
void compare_free(struct compare *compare);

/* What weights of a run are divided by; by share it is the selection's total instead. */
struct compare_divisor {
	double per, variance; /* as in struct noise_run */
};
/* Adds what a selection of one event shows. 0, -ENODATA: it has no weight, or -ENOMEM. */
int compare_add(struct compare *compare, enum compare_side side,
		const struct compare_divisor *divisor, struct history *history,
		struct selection *selection);
/* Once both sides have a run. 0 or -ENOMEM. */
int compare_finish(struct compare *compare);

struct compare_function {
	const char *name;      /* as B has it, else A */
	const char *name_in_a; /* where A has another; NULL: it has the same, or none */
	const char *module;    /* the same */
	const char *module_in_a;
	bool kernel;
	bool in_a, in_b; /* it was sampled there */
	struct noise_value self, total;
};
struct compare_functions {
	struct compare_function *items;
	size_t nr, capacity;
};
/* Those beyond noise first, the largest change of self first, then of total; then the others, the most expensive first. 0 or -ENOMEM. */
int compare_functions(struct compare *compare, struct compare_functions *functions);

/* Of a function as a history has it. False: neither side has one of that name. */
bool compare_find(const struct compare *compare, const struct history *history,
		  struct function_id id, struct compare_function *function);

/*
 * The tree of calls, a step at a time as a history has it, from COMPARE_ROOT down. label: "[truncated]", ...: the step is no
 * function; NULL: it is. COMPARE_NO_PATH: neither side has such a path.
 */
enum { COMPARE_ROOT };
#define COMPARE_NO_PATH UINT32_MAX
uint32_t compare_step(const struct compare *compare, uint32_t path, const struct history *history,
		      struct function_id id, const char *label);
/* Its last function; self and total are the path's. */
struct compare_function compare_path(const struct compare *compare, uint32_t path);

/* A row of the tree of calls: paths from the root down, parents first, each with its subtree behind it. */
struct compare_node {
	struct compare_function function; /* self and total are the path's */
	const char *label;		  /* "[truncated]", ...: it is no function; NULL */
	uint32_t depth;			  /* of the roots of stacks: 0 */
};
/*
 * Calls each() for every path that is at least that share of a side's whole, the most expensive first. Stops at the first nonzero, which
 * it returns. 0 or -ENOMEM.
 */
int compare_each_node(struct compare *compare, double least,
		      int (*each)(void *context, const struct compare_node *node), void *context);
/* What was compared. */
const struct noise *compare_noise(const struct compare *compare);
struct compare_counts {
	size_t matched, renamed, moved, only_a, only_b;
	size_t tested; /* rows that there were samples enough for */
};
struct compare_counts compare_counts(const struct compare *compare);
/* All of it: a is 1, b what B's total is of A's. */
struct noise_value compare_total(const struct compare *compare);

#endif
