/* SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>

#include <ctop/perf/event.h>

#include "test.h"

static int parse(const char *text, struct event *event, struct error *error)
{
	*error = (struct error){0};
	return event_parse(text, strlen(text), event, error);
}

static void names_and_modifiers(void)
{
	struct event event;
	struct error error;
	CHECK_EQ(parse("cpu-clock", &event, &error), 0);
	CHECK_EQ(event.type, PERF_TYPE_SOFTWARE);
	CHECK(event.clock && !event.cycles && event.user && event.kernel);
	CHECK_EQ(parse("cycles:upp", &event, &error), 0);
	CHECK(event.cycles && event.user && !event.kernel && event.asked_user_only);
	CHECK_EQ(event.precise, 2);
	CHECK_STR(event.name, "cycles");
	CHECK_STR(event.asked, "cycles:upp");
	CHECK_EQ(parse("page-faults:k", &event, &error), 0);
	CHECK(!event.user && event.kernel && !event.asked_user_only);
	CHECK_EQ(parse("cs:uk", &event, &error), 0);
	CHECK(event.user && event.kernel);
}

static void near_misses_are_told(void)
{
	struct event event;
	struct error error;
	CHECK(parse("cpu-clok", &event, &error) < 0);
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	CHECK(strstr(error.cause, "cpu-clok") != NULL);
	CHECK(strstr(error.remedy, "'cpu-clock'") != NULL);
	CHECK(parse("qqqqqqqqqqqq", &event, &error) < 0);
	CHECK(!strstr(error.remedy, "did you mean"));
}

static void rubbish_is_refused(void)
{
	char longest[400];
	memset(longest, 'c', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const char *const cases[] = {"", ":", ":u", "cycles:z", "cycles:pppp", "cycles:", longest};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event;
		struct error error;
		CHECK(parse(cases[i], &event, &error) < 0);
		CHECK(error.cause[0] && error.remedy[0]);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	}
}

static void cycles_become_time(void)
{
	bool assumed;
	const char *source;
	uint64_t ns = event_cycles_to_ns(1000000, &assumed, &source);
	/* Between 100 MHz and 10 GHz. */
	CHECK(ns >= 100000 && ns <= 10000000);
	CHECK(source && source[0]);
	CHECK(event_cycles_to_ns(1, &assumed, &source) >= 1);
}

int main(void)
{
	RUN(names_and_modifiers);
	RUN(near_misses_are_told);
	RUN(rubbish_is_refused);
	RUN(cycles_become_time);
	return test_done();
}
