/* SPDX-License-Identifier: MIT */
/*
 * Which of five sets keeps a rate of 1000 Hz, for what comes:
 *
 *   few events          each is sampled
 *   many                so many that about what was asked for is left, never more than twice that
 *   a burst             one step, as it will be over
 *   rings that fill     at once what has room
 */
#include "jailed/collect/pace.h"

#include <ctop/base/clock.h>

#include "test.h"

enum { HZ = 1000, NR_SETS = 5, LAST = NR_SETS - 1 };
enum { EACH, EACH_SMALL, OF_16, OF_256, OF_4096 };
#define MS NS_PER_MS

static const struct sampler_sets sets = {
	.nr = NR_SETS,
	.items = {{65528, 1, 25}, {1024, 1, 25}, {8192, 16, 25}, {8192, 256, 25}, {8192, 4096, 25}},
};

static uint32_t next_of(uint32_t set, uint64_t nr, uint64_t ns, double fill)
{
	const struct pace_seen seen = {HZ, nr, ns, pace_window_ns(HZ), fill};
	return pace_next(&sets, set, &seen);
}

static void what_is_asked_for_stays(void)
{
	for (uint32_t set = 0; set < NR_SETS; set++) {
		CHECK_EQ(next_of(set, 160, 100 * MS, 0), set);
		CHECK_EQ(next_of(set, 190, 100 * MS, 0.2), set);
	}
}

static void few_become_dearer_when_they_are_proved_few(void)
{
	CHECK_EQ(next_of(OF_16, 0, 10 * MS, 0), OF_16);
	CHECK_EQ(next_of(OF_16, 0, 50 * MS, 0), EACH_SMALL);
	CHECK_EQ(next_of(OF_16, 8, 100 * MS, 0), EACH_SMALL);
	CHECK_EQ(next_of(OF_16, 9, 100 * MS, 0), OF_16);
	CHECK_EQ(next_of(OF_4096, 0, 50 * MS, 0), OF_256);
	CHECK_EQ(next_of(EACH_SMALL, 50, 100 * MS, 0), EACH);
	CHECK_EQ(next_of(EACH, 0, 100 * MS, 0), EACH);
	/* It did not hold the last time. */
	const struct pace_seen soon = {HZ, 0, 100 * MS, 400 * MS, 0};
	CHECK_EQ(pace_next(&sets, OF_16, &soon), OF_16);
}

static void a_burst_is_one_step(void)
{
	CHECK_EQ(next_of(EACH, 101, 1 * MS, 0), EACH_SMALL);
	CHECK_EQ(next_of(EACH_SMALL, 5000, 5 * MS, 0.2), OF_16);
	CHECK_EQ(next_of(EACH, 20, 1 * MS, 0.26), EACH_SMALL);
	CHECK_EQ(next_of(LAST, 100000, 1 * MS, 1), LAST);
}

static void what_lasts_or_fills_the_rings_is_as_many_as_it_takes(void)
{
	CHECK_EQ(next_of(EACH_SMALL, 100000, 50 * MS, 0.2), OF_4096);
	CHECK_EQ(next_of(EACH_SMALL, 6000, 5 * MS, 0.8), OF_256);
	CHECK_EQ(next_of(EACH, 1500, 50 * MS, 0), OF_16);
	/* Not to a period that what came has hardly filled: what is left of it would be missed. */
	CHECK_EQ(next_of(EACH_SMALL, 20000, 50 * MS, 0.9), OF_256);
	CHECK_EQ(next_of(EACH, 60, 1 * MS, 0.9), EACH_SMALL);
}

static void sets_that_are_not_there(void)
{
	const struct sampler_sets none = {0};
	const struct pace_seen seen = {HZ, 1000000, MS, 0, 1};
	CHECK_EQ(pace_next(&none, 0, &seen), 0);
	CHECK_EQ(pace_next(&sets, NR_SETS, &seen), NR_SETS);
	const struct pace_seen without_rate = {0, 10, 50 * MS, 0, 0};
	CHECK_EQ(pace_next(&sets, OF_256, &without_rate), OF_4096);
	CHECK(pace_window_ns(0) > 0 && pace_window_ns(1e-9) <= 60 * NS_PER_SECOND);
}

/* Events that come evenly, looked at each 10 ms. *samples: in the last second of ten. */
static uint32_t settled(uint64_t events_hz, uint64_t *samples, unsigned *nr_switches)
{
	uint32_t set = EACH_SMALL;
	uint64_t nr = 0, ns = 0, left = 0;
	*samples = *nr_switches = 0;
	for (int look = 0; look < 1000; look++) {
		left += events_hz / 100;
		const uint64_t came = left / sets.items[set].fewer;
		left %= sets.items[set].fewer;
		nr += came;
		ns += 10 * MS;
		*samples += look >= 900 ? came : 0;
		const uint32_t next = next_of(set, nr, ns, 0);
		*nr_switches += next != set;
		if (next == set && ns < pace_window_ns(HZ))
			continue;
		set = next;
		nr = ns = 0;
	}
	return set;
}

static void any_steady_rate_is_kept_without_going_back_and_forth(void)
{
	uint64_t samples;
	unsigned nr_switches;
	for (uint64_t hz = 100; hz <= 4000000; hz = hz * 5 / 4) {
		const uint32_t set = settled(hz, &samples, &nr_switches);
		CHECK(samples <= 2 * HZ + 50);
		CHECK(samples * 11 >= (hz < HZ ? hz : HZ));
		CHECK(nr_switches <= 4);
		if (hz <= HZ)
			CHECK(set <= EACH_SMALL);
	}
}

int main(void)
{
	RUN(what_is_asked_for_stays);
	RUN(few_become_dearer_when_they_are_proved_few);
	RUN(a_burst_is_one_step);
	RUN(what_lasts_or_fills_the_rings_is_as_many_as_it_takes);
	RUN(sets_that_are_not_there);
	RUN(any_steady_rate_is_kept_without_going_back_and_forth);
	return test_done();
}
