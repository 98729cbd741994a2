/* SPDX-License-Identifier: MIT */
/* What stands in for what cannot be had, and periods that are kept long enough: each fallback is said. */
#include "target.h"

/* ---- the ladder ---- */

static bool has_cycles(void)
{
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cycles");
	struct sampler *sampler = open_or_explain(&options);
	bool clock = sampler_opened(sampler, 0)->clock;
	sampler_free(sampler);
	return !clock;
}

static void clock_stands_in_for_cycles(void)
{
	require_root();
	if (has_cycles())
		SKIP("this machine counts cycles");
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cycles:u");
	struct sampler *sampler = open_or_explain(&options);
	CHECK_STR(sampler_opened(sampler, 0)->name, "cpu-clock:u");
	CHECK_EQ(sampler_opened(sampler, 0)->period, 1000000000 / 999);
	CHECK(has_fallback(sampler, "cpu-clock stands in for cycles:u"));
	CHECK_EQ(sampler_nr_fallbacks(sampler), 1);
	sampler_free(sampler);
}

static void count_of_cycles_becomes_time(void)
{
	require_root();
	if (has_cycles())
		SKIP("this machine counts cycles");
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cycles");
	bool assumed;
	const char *source;
	options.count = 10000000;
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_opened(sampler, 0)->period,
		 event_cycles_to_ns(options.count, &assumed, &source));
	CHECK(has_fallback(sampler, source));
	sampler_free(sampler);
}

/* Three are named, of more than three two. */
static void events_that_take_one_fallback_share_its_line(void)
{
	static const char *const names[] = {"cpu-clock:p", "page-faults:p", "cs:kp",
					    "migrations:kp"};
	enum { NR = sizeof(names) / sizeof(*names) };
	require_root();
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, names[0]);
	for (size_t i = 1; i < NR; i++)
		options.events[i] = event_of(names[i]);
	for (options.nr_events = NR - 1; options.nr_events <= NR; options.nr_events++) {
		struct sampler *sampler = open_or_explain(&options);
		CHECK_EQ(sampler_nr_fallbacks(sampler), 1);
		CHECK_STR(sampler_fallback(sampler, 0),
			  options.nr_events == NR
				  ? "not precise, as only the CPU's counters can be: cpu-clock:p, "
				    "page-faults:p and 2 more"
				  : "not precise, as only the CPU's counters can be: cpu-clock:p, "
				    "page-faults:p, cs:kp");
		sampler_free(sampler);
	}
}

static void strict_makes_a_fallback_an_error(void)
{
	require_root();
	if (has_cycles())
		SKIP("this machine counts cycles");
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cycles");
	struct error error;
	options.strict = true;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "cpu-clock stands in"));
	options.events[0] = event_of("cpu-clock");
	sampler_free(open_or_explain(&options));
}

static void only_cycles_have_a_stand_in(void)
{
	require_root();
	if (has_cycles())
		SKIP("this machine has counters");
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "instructions");
	struct error error;
	check_refused(&options, &error);
	CHECK(strstr(error.cause, "cannot count 'instructions'"));
}

static void rates_beyond_the_kernels_are_lowered(void)
{
	require_root();
	static const char *const events[] = {"cpu-clock", "cycles", "page-faults"};
	int32_t pid = getpid();
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct sampler_options options = options_for(&pid, events[i]);
		struct error error;
		options.frequency_hz = 2000000000;
		struct sampler *sampler = sampler_open(&options, &error);
		CHECK(sampler && has_fallback(sampler, "samples per second instead of 2000000000"));
		sampler_free(sampler);
		options.strict = true;
		check_refused(&options, &error);
	}
}

static void dumps_are_as_large_as_the_ring_holds(void)
{
	require_root();
	static const struct {
		uint32_t pages, asked, dump;
		uint64_t hz;
		const char *fallback;
	} cases[] = {
		/* 100 ms at the rate: 8 MiB hold 127 of 64 KiB at 1 kHz; 8 KiB is the least. */
		{2048, 0, 65528, 999, NULL},	  {2048, 0, 32768, 2000, NULL},
		{2048, 0, 16384, 4000, NULL},	  {2048, 0, 8192, 10000, NULL},
		{64, 0, 8192, 999, NULL},	  {2048, 16000, 16000, 10000, NULL},
		{16, 65528, 32256, 999, "65528"}, {1, 0, 1536, 999, "8192"},
	};
	if (sysconf(_SC_PAGESIZE) != 4096)
		SKIP("the figures are for pages of 4 KiB");
	int32_t pid = getpid();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sampler_options options = options_for(&pid, "cpu-clock");
		options.ring_pages = cases[i].pages;
		options.dump_bytes = cases[i].asked;
		options.frequency_hz = cases[i].hz;
		struct sampler *sampler = open_or_explain(&options);
		CHECK_EQ(sampler_ring_pages(sampler), cases[i].pages);
		CHECK_EQ(sampler_dump_bytes(sampler), cases[i].dump);
		CHECK_EQ(sampler_nr_fallbacks(sampler), cases[i].fallback != NULL);
		CHECK(!cases[i].fallback || has_fallback(sampler, cases[i].fallback));
		sampler_free(sampler);
	}
}

/* ---- the guard ---- */

static uint64_t period_of(const char *event, uint64_t count, uint32_t percent, size_t nr_fallbacks)
{
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, event);
	options.count = count;
	options.max_overhead_percent = percent;
	struct sampler *sampler = open_or_explain(&options);
	uint64_t period = sampler_opened(sampler, 0)->period;
	CHECK_EQ(sampler_nr_fallbacks(sampler), nr_fallbacks);
	sampler_free(sampler);
	return period;
}

static void guard_slows_clocks_down_and_says_so(void)
{
	require_root();
	/* A sample costs at least a microsecond, so at 1 % they are 100 us apart. */
	CHECK(period_of("cpu-clock", 1000, 1, 1) >= 100000);
	CHECK(period_of("task-clock", 1000, 1, 1) >= 100000);
	/* What is slow enough stays as it was asked for: a second, less than any percentage. */
	CHECK_EQ(period_of("cpu-clock", 1000000000, 10, 0), 1000000000);
}

static void without_guard_the_kernels_timer_is_the_limit(void)
{
	require_root();
	CHECK_EQ(period_of("cpu-clock", 1000, 0, 1), 10000);
	CHECK_EQ(period_of("cpu-clock", 10000, 0, 0), 10000);
}

static void a_period_below_a_microsecond_is_told_in_ns(void)
{
	require_root();
	int32_t pid = getpid();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.count = 40;
	options.max_overhead_percent = 0;
	struct sampler *sampler = open_or_explain(&options);
	CHECK(has_fallback(sampler, "a sample each 10.0 us instead of 40 ns: "));
	sampler_free(sampler);
}

static void guard_is_for_clocks_only(void)
{
	require_root();
	CHECK_EQ(period_of("page-faults", 1, 1, 0), 1);
	CHECK_EQ(period_of("context-switches", 1, 1, 0), 1);
}

int main(void)
{
	RUN(clock_stands_in_for_cycles);
	RUN(count_of_cycles_becomes_time);
	RUN(events_that_take_one_fallback_share_its_line);
	RUN(strict_makes_a_fallback_an_error);
	RUN(only_cycles_have_a_stand_in);
	RUN(rates_beyond_the_kernels_are_lowered);
	RUN(dumps_are_as_large_as_the_ring_holds);
	RUN(guard_slows_clocks_down_and_says_so);
	RUN(without_guard_the_kernels_timer_is_the_limit);
	RUN(a_period_below_a_microsecond_is_told_in_ns);
	RUN(guard_is_for_clocks_only);
	return test_done();
}
