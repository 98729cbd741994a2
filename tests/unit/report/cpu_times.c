/* SPDX-License-Identifier: MIT */
/* What /proc/stat says of CPUs, and why a rate was not reached. */
#include <ctop/system/cpu_times.h>

#include "main/report/rate_reason.h"
#include "test.h"

/* As proc_stat(5) has it: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. */
static const char before[] = "cpu  1000 10 200 5000 60 7 8 300 0 0\n"
			     "cpu0 500 5 100 2500 30 3 4 100 50 5\n"
			     "cpu1 500 5 100 2500 30 4 4 200 0 0\n"
			     "cpu10 1 1 1 1 1 1 1 1 0 0\n"
			     "intr 12345 0 0\n"
			     "ctxt 99\n";
static const char after[] = "cpu  1090 10 210 5002 60 7 8 376 0 0\n"
			    "cpu0 510 6 102 2501 31 4 5 176 60 6\n"
			    "cpu1 600 5 200 2500 30 4 4 200 0 0\n"
			    "cpu10 9 9 9 9 9 9 9 9 0 0\n"
			    "intr 12345 0 0\n";

static const int first = 0, both[] = {0, 1};

/* In ticks, which are 10 ms in all of them. */
static uint64_t ticks(uint64_t ns)
{
	return ns / 10000000;
}

static void each_time_is_told_apart(void)
{
	const struct cpu_times times = cpu_times_parse(before, &first, 1);
	CHECK_EQ(ticks(times.busy_ns), 500 + 5 + 100 + 3 + 4);
	CHECK_EQ(ticks(times.idle_ns), 2500 + 30);
	CHECK_EQ(ticks(times.stolen_ns), 100);
	const struct cpu_times of_both = cpu_times_parse(before, both, 2);
	CHECK_EQ(ticks(of_both.stolen_ns), 300);
	CHECK_EQ(ticks(cpu_times_sum(&of_both)), 612 + 2530 + 100 + 613 + 2530 + 200);
}

/* Of 93 ticks 76 were the host's. */
static void between_two_moments(void)
{
	const struct cpu_times times = cpu_times_between(cpu_times_parse(before, &first, 1),
							 cpu_times_parse(after, &first, 1));
	CHECK_EQ(ticks(times.busy_ns), 15);
	CHECK_EQ(ticks(times.stolen_ns), 76);
	CHECK_EQ(ticks(times.idle_ns), 2);
	const struct cpu_times back = cpu_times_between(cpu_times_parse(after, &first, 1),
							cpu_times_parse(before, &first, 1));
	CHECK_EQ(cpu_times_sum(&back), 0);
}

static void texts_that_say_less(void)
{
	const struct cpu_times old = cpu_times_parse("cpu0 1 2 3 4 5 6 7\n", &first, 1);
	CHECK_EQ(ticks(old.busy_ns), 1 + 2 + 3 + 6 + 7);
	CHECK_EQ(ticks(old.idle_ns), 9);
	CHECK_EQ(old.stolen_ns, 0);
	static const char *const nothing[] = {"",
					      "\n",
					      "cpu0",
					      "cpu0 1 2 3\n",
					      "cpu 1 2 3 4 5 6 7 8\n",
					      "cpux 1 2 3 4 5 6 7 8\n",
					      "intr 0\n"};
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
		const struct cpu_times times = cpu_times_parse(nothing[i], both, 2);
		CHECK_EQ(cpu_times_sum(&times), 0);
	}
}

static void the_machine_has_time(void)
{
	const struct cpu_times times = cpu_times_read(&first, 1);
	CHECK(cpu_times_sum(&times) > 0);
}

/* ---- reasons ---- */

static const char *reason_of(const struct rate_facts *facts)
{
	static struct text text;
	text_clear(&text);
	rate_reason_add(facts, &text);
	return text_string(&text);
}

#define S UINT64_C(1000000000)

static void a_rate_that_was_reached_needs_no_reason(void)
{
	struct rate_facts facts = {
		.asked_hz = 999,
		.opened_hz = 999,
		.reached_hz = 970,
		.used_share = 0.97,
		.throttled = 3,
		.cpus = {.busy_ns = S, .stolen_ns = S},
	};
	CHECK_STR(reason_of(&facts), "");
	facts.asked_hz = facts.opened_hz = 0;
	facts.reached_hz = 0;
	CHECK_STR(reason_of(&facts), "");
}

static void each_reason(void)
{
	struct rate_facts facts = {.asked_hz = 999, .opened_hz = 999, .reached_hz = 240};
	facts.used_share = 1;
	facts.cpus = (struct cpu_times){.busy_ns = 24 * S, .stolen_ns = 76 * S};
	CHECK_STR(reason_of(&facts), "; the host took 76% of the CPUs' time");
	facts.cpus.stolen_ns = 0;
	CHECK_STR(reason_of(&facts), "");
	facts.throttled = 1;
	CHECK_STR(reason_of(&facts), "; throttled 1 time by the kernel");
	facts.throttled = 0;
	facts.fewer_ns = 3 * S / 2;
	CHECK_STR(reason_of(&facts), "; the rings filled, and it was lower for 1.5 s");
	facts.has_budget = true;
	CHECK_STR(reason_of(&facts), "; --budget held it lower for 1.5 s");
	facts.fewer_ns = 0;
	facts.used_share = 0.24;
	CHECK_STR(reason_of(&facts), "; the target used 24% of a CPU");
	facts.used_share = 0.002;
	CHECK_STR(reason_of(&facts), "; the target used 0.2% of a CPU");
	facts.used_share = 1;
	facts.opened_hz = 250;
	CHECK_STR(reason_of(&facts), "; --max-overhead lets it be 250 Hz");
	facts.used_share = -1; /* of an event that is no clock */
	facts.opened_hz = 999;
	CHECK_STR(reason_of(&facts), "");
	facts.opened_hz = 0; /* not known */
	CHECK_STR(reason_of(&facts), "");
}

static void of_whole_cpus_all_at_once(void)
{
	const struct rate_facts facts = {
		.asked_hz = 999,
		.opened_hz = 500,
		.reached_hz = 300,
		.used_share = 0.1,
		.nr_cpus = 2,
		.cpus = {.busy_ns = 30 * S, .stolen_ns = 30 * S, .idle_ns = 40 * S},
		.throttled = 7,
	};
	CHECK_STR(reason_of(&facts),
		  "; --max-overhead lets it be 500 Hz; the CPUs were idle 40% of the "
		  "time; the host took 30% of the CPUs' time; throttled 7 times by the "
		  "kernel");
}

int main(void)
{
	RUN(each_time_is_told_apart);
	RUN(between_two_moments);
	RUN(texts_that_say_less);
	RUN(the_machine_has_time);
	RUN(a_rate_that_was_reached_needs_no_reason);
	RUN(each_reason);
	RUN(of_whole_cpus_all_at_once);
	return test_done();
}
