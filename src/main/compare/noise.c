/* SPDX-License-Identifier: MIT */
#include <ctop/compare/noise.h>

#include <math.h>

/* By chance, in all rows together. */
static const double outside_all = 0.05;
/* Of effective samples of both sides: of fewer nothing is said, nor how far runs differ in a row. */
enum { SAMPLES_LEAST = 10, SAMPLES_OF_SPREAD = 50 };
/* As if that many differences had been seen of just what samples explain: few runs of few rows tell little about runs. */
enum { FREEDOM_BEFORE = 6 };

static double squared(double value)
{
	return value * value;
}

static double value_of(const struct noise *noise, size_t run, double weight)
{
	return weight / (noise->runs[run].per * noise->unit);
}

static size_t runs_of(const struct noise *noise, enum compare_side side)
{
	size_t nr = 0;
	for (size_t i = 0; i < noise->nr_runs; i++)
		nr += noise->runs[i].side == side;
	return nr;
}

static double effective(const struct weighed *weighed)
{
	return weighed->squares > 0 ? squared(weighed->weight) / weighed->squares : 0;
}

static double effective_of_all(const struct noise *noise, const struct weighed *row)
{
	double nr = 0;
	for (size_t i = 0; i < noise->nr_runs; i++)
		nr += effective(&row[i]);
	return nr;
}

static double mean(const struct noise *noise, enum compare_side side, const struct weighed *row)
{
	double sum = 0;
	for (size_t i = 0; i < noise->nr_runs; i++)
		if (noise->runs[i].side == side)
			sum += value_of(noise, i, row[i].weight);
	return sum / (double)runs_of(noise, side);
}

void noise_init(struct noise *noise, const struct noise_run *runs, size_t nr_runs, bool by_share)
{
	*noise = (struct noise){
		.runs = runs, .nr_runs = nr_runs, .by_share = by_share, .unit = 1, .spread = 1};
	double sum = 0;
	for (size_t i = 0; i < nr_runs; i++)
		if (runs[i].side == COMPARE_A)
			sum += runs[i].all.weight / runs[i].per;
	noise->unit = sum / (double)runs_of(noise, COMPARE_A);
	noise_set_tests(noise, 1);
}

/* ---- by samples ---- */

/* What the row would have in each run if it had the same in all. */
static double common_value(const struct noise *noise, const struct weighed *row)
{
	double sum = 0, nr = 0;
	for (size_t i = 0; i < noise->nr_runs; i++) {
		const double n = effective(&noise->runs[i].all);
		sum += n * value_of(noise, i, row[i].weight);
		nr += n;
	}
	return nr > 0 ? sum / nr : 0;
}

/* How many times heavier the row's samples are than a run's others. */
static double heaviness(const struct noise *noise, const struct weighed *row)
{
	double most = 0;
	for (size_t i = 0; i < noise->nr_runs; i++) {
		const struct weighed *all = &noise->runs[i].all;
		if (row[i].weight <= 0)
			continue;
		const double here = row[i].squares / row[i].weight * all->weight / all->squares;
		most = here > most ? here : most;
	}
	return most;
}

/* What one of the row's samples adds to a run's value. */
static double step_of_run(const struct noise *noise, size_t run, double heavy)
{
	const struct noise_run *of = &noise->runs[run];
	return heavy * of->all.squares / of->all.weight / (of->per * noise->unit);
}

/* The variance of a run's value by its samples alone. */
static double variance_of_run(const struct noise *noise, size_t run, double common, double heavy)
{
	const struct noise_run *of = &noise->runs[run];
	const double each = of->all.squares / of->all.weight; /* a sample's weight, so to speak */
	if (!noise->by_share)
		return heavy * each * common / (of->per * noise->unit);
	const double p = common < 1 ? common : 1;
	return (p * squared(1 - p) * heavy + squared(p) * (1 - p)) * each / of->all.weight;
}

/* The same with that of what it is divided by. */
static double whole_variance_of_run(const struct noise *noise, size_t run, double common,
				    double heavy)
{
	return variance_of_run(noise, run, common, heavy) +
	       squared(common) * noise->runs[run].per_variance;
}

static double variance_of_side(const struct noise *noise, enum compare_side side, double common,
			       double heavy)
{
	double sum = 0;
	for (size_t i = 0; i < noise->nr_runs; i++)
		if (noise->runs[i].side == side)
			sum += whole_variance_of_run(noise, i, common, heavy);
	return sum / squared((double)runs_of(noise, side));
}

/* The third cumulant of a side's value: where few samples are due, one too many is more than one too few. */
static double cumulant_of_side(const struct noise *noise, enum compare_side side, double common,
			       double heavy)
{
	double sum = 0;
	for (size_t i = 0; i < noise->nr_runs; i++)
		if (noise->runs[i].side == side)
			sum += variance_of_run(noise, i, common, heavy) *
			       step_of_run(noise, i, heavy);
	const double nr = (double)runs_of(noise, side);
	return sum / (nr * nr * nr);
}

/*
 * How much wider than the normal distribution's bound: by Cornish and Fisher. Nothing where both sides have as many samples, much
 * where one has few.
 */
static double skew(const struct noise *noise, double common, double heavy, double variance)
{
	const double third = fabs(cumulant_of_side(noise, COMPARE_B, common, heavy) -
				  cumulant_of_side(noise, COMPARE_A, common, heavy));
	const double z = noise->bound_of_runs;
	return variance > 0 ? fmax(0, z * z - 1) / 6 * third / variance : 0;
}

bool noise_is_tested(const struct noise *noise, const struct weighed *row)
{
	/* Shares of what is in every stack cannot differ. */
	return effective_of_all(noise, row) >= SAMPLES_LEAST &&
	       !(noise->by_share && common_value(noise, row) >= 1);
}

/* ---- by runs ---- */

static size_t freedom_of_runs(const struct noise *noise)
{
	return noise->nr_runs - NR_COMPARE_SIDES;
}

/* Squared distances of the runs' values from their side's mean, each over what `by` has for it (NULL: 1). */
static double distances(const struct noise *noise, const struct weighed *row, bool by_samples)
{
	const double means[] = {mean(noise, COMPARE_A, row), mean(noise, COMPARE_B, row)};
	const double common = by_samples ? common_value(noise, row) : 0;
	const double heavy = by_samples ? heaviness(noise, row) : 0;
	double sum = 0;
	for (size_t i = 0; i < noise->nr_runs; i++) {
		const double value = value_of(noise, i, row[i].weight);
		const double variance =
			by_samples ? whole_variance_of_run(noise, i, common, heavy) : 1;
		if (variance > 0)
			sum += squared(value - means[noise->runs[i].side]) / variance;
	}
	return sum;
}

void noise_add_spread(const struct noise *noise, const struct weighed *row,
		      struct noise_spread *spread)
{
	if (!freedom_of_runs(noise) || effective_of_all(noise, row) < SAMPLES_OF_SPREAD)
		return;
	spread->sum += distances(noise, row, true);
	spread->nr++;
}

void noise_end_spread(struct noise *noise, const struct noise_spread *spread)
{
	const double freedom = (double)(freedom_of_runs(noise) * spread->nr);
	if (freedom <= 0)
		return;
	noise->freedom = FREEDOM_BEFORE + freedom;
	noise->spread = fmax(1, (FREEDOM_BEFORE + spread->sum) / noise->freedom);
}

static double variance_by_runs(const struct noise *noise, const struct weighed *row)
{
	const double nr_a = (double)runs_of(noise, COMPARE_A),
		     nr_b = (double)runs_of(noise, COMPARE_B);
	if (!freedom_of_runs(noise))
		return 0;
	return distances(noise, row, false) / (double)freedom_of_runs(noise) *
	       (1 / nr_a + 1 / nr_b);
}

/* ---- a row ---- */

double noise_quantile(double outside, double freedom)
{
	double low = 0, high = 40;
	while (high - low > 1e-9) {
		const double middle = (low + high) / 2;
		if (erfc(middle / M_SQRT2) > outside)
			low = middle;
		else
			high = middle;
	}
	const double z = low, z2 = z * z, v = freedom;
	if (v <= 0)
		return z;
	/* Abramowitz and Stegun 26.7.5: t by z. */
	return z + z * (z2 + 1) / (4 * v) + z * (5 * z2 * z2 + 16 * z2 + 3) / (96 * v * v) +
	       z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / (384 * v * v * v);
}

void noise_set_tests(struct noise *noise, size_t nr)
{
	const double outside = outside_all / (nr ? (double)nr : 1);
	noise->bound = noise_quantile(outside, noise->freedom);
	noise->bound_of_runs = noise_quantile(outside, 0);
}

struct noise_value noise_value(const struct noise *noise, const struct weighed *row)
{
	struct noise_value value = {
		.a = mean(noise, COMPARE_A, row),
		.b = mean(noise, COMPARE_B, row),
		.tested = noise_is_tested(noise, row),
	};
	const double common = common_value(noise, row), heavy = heaviness(noise, row);
	const double by_samples = variance_of_side(noise, COMPARE_A, common, heavy) +
				  variance_of_side(noise, COMPARE_B, common, heavy);
	value.noise = fmax(noise->bound * sqrt(noise->spread * by_samples) +
				   skew(noise, common, heavy, by_samples),
			   noise->bound_of_runs * sqrt(variance_by_runs(noise, row)));
	value.beyond = value.tested && fabs(value.b - value.a) > value.noise;
	return value;
}
