/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <ctop/perf/event.h>

#include "test.h"

static int parse(const char *text, struct event *event, struct error *error)
{
	*error = (struct error){0};
	return event_parse(text, strlen(text), event, error);
}

static struct event parsed(const char *text)
{
	struct event event;
	struct error error;
	CHECK_EQ(parse(text, &event, &error), 0);
	return event;
}

static void names_have_their_numbers(void)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
		bool clock, cycles;
	} cases[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true},
		{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false},
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, false},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false},
		{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false},
		{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false},
		{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false,
		 false},
		{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event = parsed(cases[i].name);
		CHECK_STR(event.name, cases[i].name);
		CHECK_EQ(event.type, cases[i].type);
		CHECK_EQ(event.config, cases[i].config);
		CHECK_EQ(event.clock, cases[i].clock);
		CHECK_EQ(event.cycles, cases[i].cycles);
	}
}

static void modifiers_say_what_is_counted(void)
{
	static const struct {
		const char *text;
		bool user, kernel, hypervisor, user_only;
		int precise;
	} cases[] = {
		{"cycles", true, true, true, false, 0},
		{"cycles:u", true, false, false, true, 0},
		{"cycles:k", false, true, false, false, 0},
		{"cycles:uk", true, true, false, false, 0},
		{"cycles:ku", true, true, false, false, 0},
		{"cycles:h", false, false, true, false, 0},
		{"cycles:uh", true, false, true, false, 0},
		{"cycles:p", true, true, true, false, 1},
		{"cycles:pp", true, true, true, false, 2},
		{"cycles:ppp", true, true, true, false, 3},
		{"cycles:upp", true, false, false, true, 2},
		{"cycles:pup", true, false, false, true, 2},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event = parsed(cases[i].text);
		CHECK_STR(event.asked, cases[i].text);
		CHECK_STR(event.name, "cycles");
		CHECK_EQ(event.user, cases[i].user);
		CHECK_EQ(event.kernel, cases[i].kernel);
		CHECK_EQ(event.hypervisor, cases[i].hypervisor);
		CHECK_EQ(event.asked_user_only, cases[i].user_only);
		CHECK_EQ(event.precise, cases[i].precise);
	}
}

static void text_ends_at_its_size(void)
{
	struct event event;
	struct error error = {0};
	CHECK_EQ(event_parse("cpu-clock,cycles", 9, &event, &error), 0);
	CHECK_STR(event.asked, "cpu-clock");
}

static void bad_modifiers_are_named(void)
{
	static const char *const texts[] = {"cycles:",	   "cycles:z",	  "cycles:uz",
					    "cycles:pppp", "cpu-clock:U", "cycles:u,k"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(texts[i], &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(strstr(error.cause, "modifiers") && strstr(error.cause, texts[i]));
		CHECK(error.remedy[0] != '\0');
	}
}

static void near_misses_are_suggested(void)
{
	static const struct {
		const char *text, *meant;
	} cases[] = {
		{"cylces", "'cycles'"},
		{"cycle", "'cycles'"},
		{"cpu-clok", "'cpu-clock'"},
		{"cpuclock", "'cpu-clock'"},
		{"page-fault", "'page-faults'"},
		{"pagefaults", "'page-faults'"},
		{"context", "'context-switches'"},
		{"instrctions:u", "'instructions'"},
		{"fautls", "'faults'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(cases[i].text, &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(strstr(error.cause, "unknown event"));
		CHECK(strstr(error.remedy, cases[i].meant));
	}
}

static void far_names_are_not_suggested(void)
{
	static const char *const texts[] = {"banana", "x", "qqqqqq", "a-very-long-name-of-nothing"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct event event;
		struct error error;
		CHECK_EQ(parse(texts[i], &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(!strstr(error.remedy, "did you mean"));
		CHECK(error.remedy[0] != '\0');
	}
}

static void nothing_and_too_much_are_refused(void)
{
	struct event event;
	struct error error;
	char longest[200];
	CHECK_EQ(parse("", &event, &error), -EINVAL);
	CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
	CHECK_EQ(parse(":", &event, &error), -EINVAL);
	CHECK_EQ(parse(":u", &event, &error), -EINVAL);
	for (size_t size = 60; size < sizeof(longest); size++) {
		memset(longest, 'x', size);
		CHECK_EQ(event_parse(longest, size, &event, &error), -EINVAL);
		CHECK_EQ(error.exit_code, ERROR_EXIT_USAGE);
		CHECK(error.cause[0] && error.remedy[0]);
	}
}

/* Names that only libpfm4 has: its own spelling of the kernel's software events is known everywhere. */
static void other_names_come_from_libpfm(void)
{
	struct event event = parsed("PERF_COUNT_SW_CPU_CLOCK");
	CHECK_EQ(event.type, PERF_TYPE_SOFTWARE);
	CHECK_EQ(event.config, PERF_COUNT_SW_CPU_CLOCK);
	CHECK(event.clock);
	event = parsed("PERF_COUNT_SW_PAGE_FAULTS:u");
	CHECK_EQ(event.config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK(event.asked_user_only);
	CHECK_STR(event.name, "PERF_COUNT_SW_PAGE_FAULTS");
}

static void cycles_become_time(void)
{
	bool assumed;
	const char *source = NULL;
	uint64_t small = event_cycles_to_ns(1, &assumed, &source);
	CHECK(small >= 1);
	CHECK(source && source[0]);
	uint64_t second = event_cycles_to_ns(1000000000, &assumed, &source);
	/* A billion cycles: between 0.1 s at 10 GHz and 10 s at 100 MHz. */
	CHECK(second >= 100000000 && second <= 10000000000);
	CHECK(assumed || strcmp(source, "an assumed 3 GHz") != 0);
	CHECK(!assumed || second == 333333333);
}

static void count_event(void *context, const char *name, const char *description)
{
	struct event event = parsed(name);
	CHECK(description[0] != '\0');
	CHECK(event.user);
	++*(int *)context;
}

static void every_listed_event_parses(void)
{
	int nr = 0;
	event_each_common(count_event, &nr);
	CHECK(nr >= 10);
}

int main(void)
{
	RUN(names_have_their_numbers);
	RUN(modifiers_say_what_is_counted);
	RUN(text_ends_at_its_size);
	RUN(bad_modifiers_are_named);
	RUN(near_misses_are_suggested);
	RUN(far_names_are_not_suggested);
	RUN(nothing_and_too_much_are_refused);
	RUN(other_names_come_from_libpfm);
	RUN(cycles_become_time);
	RUN(every_listed_event_parses);
	return test_done();
}
