/* SPDX-License-Identifier: MIT */
/* Profiles drawn by chance from what is known: how often something is found that is not there, and what is there. */
#include <ctop/compare/noise.h>

#include <math.h>
#include <stdint.h>

#include "../test.h"

enum { RUNS_MOST = 6, ROWS = 20, TRIES = 1000 };

/* xorshift64*: the same numbers in every run. */
static uint64_t state = 88172645463325252u;

static double chance(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - chance())) * cos(2 * M_PI * chance());
}

struct drawn {
	struct noise_run runs[RUNS_MOST];
	struct weighed rows[ROWS][RUNS_MOST];
	size_t nr_runs;
};

struct draw {
	size_t runs_of_side;
	size_t samples; /* of a run */
	size_t fewer;	/* times fewer has a run of B */
	double shares
		[2]
		[ROWS]; /* of each side; their sum may be more than 1: then there is more to do */
	double wobble;	/* how much functions differ from run to run, as a share */
	bool uneven;	/* weights differ, 1 to 100 */
	bool by_share;
	double divisor; /* by rate: of that many events, which were drawn by chance; 0: of something that is known */
};

/* So many where `due` are due: as good as a normal distribution from some hundred on. */
static double drawn_count(double due)
{
	return fmax(1, due + sqrt(due) * normal());
}

static void draw_run(const struct draw *draw, struct drawn *drawn, size_t run)
{
	const enum compare_side side = run < draw->runs_of_side ? COMPARE_A : COMPARE_B;
	double shares[ROWS], sum = 0;
	for (size_t i = 0; i < ROWS; i++) {
		shares[i] = draw->shares[side][i] * fmax(0, 1 + draw->wobble * normal());
		sum += shares[i];
		drawn->rows[i][run] = (struct weighed){0};
	}
	drawn->runs[run] = (struct noise_run){.side = side};
	const size_t fewer = side == COMPARE_B && draw->fewer ? draw->fewer : 1;
	const size_t nr = (size_t)((double)draw->samples * (draw->by_share ? 1 : sum)) / fewer;
	for (size_t i = 0; i < nr; i++) {
		double at = chance() * sum;
		size_t row = 0;
		for (; row + 1 < ROWS && at >= shares[row]; row++)
			at -= shares[row];
		const double weight = draw->uneven ? pow(100, chance()) : 1;
		drawn->rows[row][run].weight += weight;
		drawn->rows[row][run].squares += weight * weight;
		drawn->runs[run].all.weight += weight;
		drawn->runs[run].all.squares += weight * weight;
	}
	drawn->runs[run].per = draw->by_share ? drawn->runs[run].all.weight : 10.0 / (double)fewer;
	if (draw->divisor > 0) {
		drawn->runs[run].per = drawn_count(draw->divisor);
		drawn->runs[run].per_variance = 1 / drawn->runs[run].per;
	}
}

static void begin(const struct draw *draw, struct drawn *drawn, struct noise *noise)
{
	struct noise_spread spread = {0};
	size_t nr = 0;
	drawn->nr_runs = 2 * draw->runs_of_side;
	for (size_t i = 0; i < drawn->nr_runs; i++)
		draw_run(draw, drawn, i);
	noise_init(noise, drawn->runs, drawn->nr_runs, draw->by_share);
	for (size_t i = 0; i < ROWS; i++) {
		noise_add_spread(noise, drawn->rows[i], &spread);
		nr += noise_is_tested(noise, drawn->rows[i]);
	}
	noise_end_spread(noise, &spread);
	noise_set_tests(noise, nr);
}

/* Of TRIES, in how many anything, or this row, is beyond noise. */
static size_t found(const struct draw *draw, size_t only)
{
	size_t nr = 0;
	for (size_t i = 0; i < TRIES; i++) {
		struct drawn drawn;
		struct noise noise;
		bool any = false;
		begin(draw, &drawn, &noise);
		for (size_t row = 0; row < ROWS; row++)
			any |= (only == ROWS || only == row) &&
			       noise_value(&noise, drawn.rows[row]).beyond;
		nr += any;
	}
	printf("# %zu of %d\n", nr, TRIES);
	return nr;
}

/* One function with `first` of the time; the others share the rest, ever less. */
static struct draw profile(double first)
{
	struct draw draw = {.runs_of_side = 1, .samples = 2000, .by_share = true};
	double rest = 1 - first;
	draw.shares[0][0] = first;
	for (size_t i = 1; i < ROWS; i++) {
		draw.shares[0][i] = i + 1 < ROWS ? rest / 3 : rest;
		rest -= draw.shares[0][i];
	}
	memcpy(draw.shares[1], draw.shares[0], sizeof(draw.shares[1]));
	return draw;
}

static void the_same_twice_shows_nothing(void)
{
	struct draw draw = profile(0.4);
	CHECK(found(&draw, ROWS) <= TRIES / 20);
	draw.by_share = false;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
	draw.by_share = true;
	draw.uneven = true;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
}

/* Of few events to divide by, all values are off together. */
static void a_divisor_that_was_sampled_is_noise_too(void)
{
	struct draw draw = profile(0.4);
	draw.by_share = false;
	draw.divisor = 400;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
	draw.divisor = 20000;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
	draw.runs_of_side = 3;
	draw.divisor = 400;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
}

/* Where one sample is due in ten recordings, one is no difference. */
static void a_short_recording_beside_a_long_one_shows_nothing(void)
{
	static const size_t fewer[] = {10, 100, 1000};
	for (size_t i = 0; i < sizeof(fewer) / sizeof(*fewer); i++) {
		struct draw draw = profile(0.4);
		draw.samples = 5000;
		draw.fewer = fewer[i];
		CHECK(found(&draw, ROWS) <= TRIES / 20);
		draw.by_share = false;
		CHECK(found(&draw, ROWS) <= TRIES / 20);
	}
}

static void runs_that_differ_show_nothing(void)
{
	struct draw draw = profile(0.4);
	draw.runs_of_side = 3;
	CHECK(found(&draw, ROWS) <= TRIES / 20);
	draw.wobble =
		0.1; /* two to three times as much as samples explain: that is estimated from the runs themselves */
	CHECK(found(&draw, ROWS) <= TRIES * 3 / 40);
}

/* 10 s at 999 Hz of two CPUs, of a program that does a given work each second. */
static void five_percent_of_the_hottest_is_found(void)
{
	struct draw draw = profile(0.9);
	draw.samples = 19980;
	draw.by_share = false;
	draw.shares[1][0] *= 1.05;
	CHECK(found(&draw, 0) >= TRIES * 9 / 10);
}

static void a_large_difference_is_found_among_few_samples(void)
{
	struct draw draw = profile(0.4);
	draw.shares[1][0] = 0.5;
	draw.shares[1][1] -= 0.1;
	CHECK(found(&draw, 0) >= TRIES * 9 / 10);
	draw.runs_of_side = 3;
	CHECK(found(&draw, 0) >= TRIES * 9 / 10);
}

static void few_samples_say_nothing(void)
{
	const struct noise_run runs[] = {{.side = COMPARE_A, .all = {1000, 1000}, .per = 1000},
					 {.side = COMPARE_B, .all = {1000, 1000}, .per = 1000}};
	const struct weighed few[] = {{9, 9}, {0, 0}}, many[] = {{90, 90}, {0, 0}};
	struct noise noise;
	noise_init(&noise, runs, 2, true);
	CHECK(!noise_value(&noise, few).tested && !noise_value(&noise, few).beyond);
	CHECK(noise_value(&noise, many).tested && noise_value(&noise, many).beyond);
	/* Nor does what is in every stack. */
	const struct weighed all[] = {{1000, 1000}, {1000, 1000}};
	CHECK(!noise_value(&noise, all).tested);
}

static void quantiles_are_those_of_the_tables(void)
{
	CHECK(fabs(noise_quantile(0.05, 0) - 1.95996) < 1e-4);
	CHECK(fabs(noise_quantile(0.001, 0) - 3.29053) < 1e-4);
	CHECK(fabs(noise_quantile(0.05, 10) - 2.22814) < 1e-3);
	CHECK(fabs(noise_quantile(0.001, 30) - 3.64596) < 1e-3);
}

int main(void)
{
	RUN(the_same_twice_shows_nothing);
	RUN(a_divisor_that_was_sampled_is_noise_too);
	RUN(a_short_recording_beside_a_long_one_shows_nothing);
	RUN(runs_that_differ_show_nothing);
	RUN(five_percent_of_the_hottest_is_found);
	RUN(a_large_difference_is_found_among_few_samples);
	RUN(few_samples_say_nothing);
	RUN(quantiles_are_those_of_the_tables);
	return test_done();
}
