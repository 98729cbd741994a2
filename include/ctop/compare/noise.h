/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COMPARE_NOISE_H
#define CTOP_COMPARE_NOISE_H

/*
 * Whether two measurements of something differ by more than chance makes them differ. Arithmetic alone: knows no names.
 *
 * A row (a function, a path) has a value in each run: its weight, divided by what the run is compared by (its own total, seconds,
 * events of a counter), as a share of side A's mean total. How far a value is off by chance follows
 *
 * - from its samples: of shares, as of draws from the run's n effective samples, p (1 - p) / n; of rates, as of counts, where the total
 *   may be off, too. n = (sum of weights)^2 / (sum of their squares), and rows whose samples are heavier have fewer;
 * - and, where a side has several runs, from how far these differ: of all rows together, and of the row itself. The largest counts.
 *
 * A row is beyond noise if it would be found so by chance, in any row of a comparison of two alike, once in 20 comparisons: the 5 % are
 * shared out among all rows that are tested (Bonferroni). Rows of few samples are not tested.
 */

#include <stdbool.h>
#include <stddef.h>

enum compare_side { COMPARE_A, COMPARE_B, NR_COMPARE_SIDES };

/* Sums of weights and of their squares. */
struct weighed {
	double weight, squares;
};

/* A run as a whole. */
struct noise_run {
	enum compare_side side;
	struct weighed all;
	double per; /* what weights are divided by; more than 0 */
	double per_variance; /* of it by chance, as a share of its square: it was sampled itself; 0: it is known */
};

/* How the rows of a comparison are measured. */
struct noise {
	const struct noise_run *runs;
	size_t nr_runs;
	bool by_share; /* per is each run's own total */
	double unit;   /* A's mean of all.weight / per: the whole */
	double spread; /* how many times more runs differ, squared, than their samples explain; at least 1 */
	double freedom; /* degrees of it, that spread was found from; 0: by samples alone */
	double bound,
		bound_of_runs; /* so many standard errors are noise: by samples and spread; by the row's own runs */
};

struct noise_value {
	double a, b;  /* means of the side's runs; 1 is A's whole */
	double noise; /* b - a is within it by chance */
	bool tested;  /* there are samples enough to say */
	bool beyond;  /* the noise */
};

/* runs are borrowed. nr_tests is set later, by noise_set_tests(). */
void noise_init(struct noise *noise, const struct noise_run *runs, size_t nr_runs, bool by_share);
/*
 * Where a side has several runs: takes in how far a row's values differ among them. Rows should not overlap: what functions have themselves, not
 * with their callees. Then noise_end_spread().
 */
struct noise_spread {
	double sum; /* of (differences of runs)^2 / (what samples explain) */
	size_t nr;
};
void noise_add_spread(const struct noise *noise, const struct weighed *row,
		      struct noise_spread *spread);
void noise_end_spread(struct noise *noise, const struct noise_spread *spread);
/* Whether a row has samples enough. row: of each run. */
bool noise_is_tested(const struct noise *noise, const struct weighed *row);
/* How many rows are tested; 0 counts as one. */
void noise_set_tests(struct noise *noise, size_t nr);
struct noise_value noise_value(const struct noise *noise, const struct weighed *row);

/* How many standard errors either way all but so little of a t distribution lies within; freedom 0: of a normal one. */
double noise_quantile(double outside, double freedom);

#endif
