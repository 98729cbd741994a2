/* SPDX-License-Identifier: MIT */
#include "fact_table.h"

#include <stdio.h>
#include <string.h>

#define START(key, kind, field)                                                                    \
	{                                                                                          \
		key, NULL, kind, offsetof(struct run_facts, field), FACT_AT_START | OF_PART,       \
			false, NULL                                                                \
	}
#define FACT(key, json, kind, field, uses)                                                         \
	{                                                                                          \
		key, json, kind, offsetof(struct run_facts, field), uses, false, NULL              \
	}
#define UNLESS_0(key, json, kind, field, uses)                                                     \
	{                                                                                          \
		key, json, kind, offsetof(struct run_facts, field), uses, true, NULL               \
	}
#define PROBLEM(name, uses, words)                                                                 \
	{                                                                                          \
		"stats." #name, #name, FACT_NUMBER, offsetof(struct run_facts, stats.name), uses,  \
			false, words                                                               \
	}
#define WAITS(name, kind)                                                                          \
	UNLESS_0("stats.time.wait." name "_ns", "waits_seconds." name, FACT_NS,                    \
		 stats.times.wait_ns[kind], FACT_AT_END)
#define DROPPED(reason, uses, words)                                                               \
	{                                                                                          \
		"stats.dropped." #reason, "dropped." #reason, FACT_NUMBER,                         \
			offsetof(struct run_facts, stats.dropped_##reason), uses, false, words     \
	}

enum { AT_END = FACT_AT_END, OF_FILE = FACT_AT_END | FACT_OF_FILE, OF_PART = FACT_OF_PART };

const struct fact_row fact_rows[] = {
	START("version", FACT_TEXT, version),
	START("command_line", FACT_TEXT, command_line),
	START("hostname", FACT_TEXT, hostname),
	START("kernel", FACT_TEXT, kernel),
	START("arch", FACT_TEXT, arch),
	START("distribution", FACT_TEXT, distribution),
	START("nr_cpus", FACT_NUMBER, nr_cpus),
	START("start_wall_ns", FACT_NS, start_wall_ns),
	START("start_ns", FACT_NS, start_ns),
	START("recorder", FACT_TEXT, recorder),
	START("excerpt", FACT_TEXT, excerpt),
	START("target", FACT_TEXT, target),
	START("target_kind", FACT_TEXT, target_kind),
	UNLESS_0("sampled_cpus", NULL, FACT_NUMBER, sampled_cpus, FACT_AT_START | OF_PART),
	FACT("event.asked", NULL, FACT_TEXT, event.asked, FACT_AT_START),
	FACT("event.opened", NULL, FACT_TEXT, event.opened, FACT_AT_START),
	FACT("event.unit", NULL, FACT_NUMBER, event.unit, FACT_AT_START),
	FACT("event.period", NULL, FACT_NUMBER, event.period, FACT_AT_START),
	FACT("event.frequency_hz", NULL, FACT_NUMBER, event.frequency_hz, FACT_AT_START),
	FACT("event.asked_count", NULL, FACT_NUMBER, event.asked_count, FACT_AT_START),
	FACT("event.asked_hz", NULL, FACT_NUMBER, event.asked_hz, FACT_AT_START),
	START("call_graph", FACT_TEXT, call_graph),
	START("dump_bytes", FACT_NUMBER, dump_bytes),
	START("dump_bytes_least", FACT_NUMBER, dump_bytes_least),
	START("ring_pages", FACT_NUMBER, ring_pages),

	FACT("stats.samples", "samples", FACT_NUMBER, stats.samples, AT_END),
	FACT("stats.lost", "lost", FACT_NUMBER, stats.lost, OF_FILE | OF_PART),
	DROPPED(overrun, AT_END | OF_PART, "dropped: ctop was too slow"),
	DROPPED(disk, AT_END | OF_PART, "dropped: the disk was too slow"),
	DROPPED(crash, OF_FILE | OF_PART, "dropped: a helper process crashed on them"),
	DROPPED(damaged, OF_FILE | OF_PART, "dropped: damaged records"),
	DROPPED(double, AT_END | OF_PART, NULL),
	DROPPED(own, AT_END | OF_PART, NULL),
	DROPPED(foreign, AT_END | OF_PART, NULL),
	DROPPED(comm, AT_END | OF_PART, NULL),
	DROPPED(uid, AT_END | OF_PART, NULL),
	FACT("stats.drained", "drained", FACT_NUMBER, stats.drained, OF_FILE),
	PROBLEM(undrained, AT_END, "end not waited for: what the kernel still held is missing"),
	FACT("stats.events_counted", "events_counted", FACT_NUMBER, stats.events_counted, AT_END),
	FACT("stats.events_sampled", "events_sampled", FACT_NUMBER, stats.events_sampled, AT_END),
	FACT(NULL, "counted_share", FACT_SHARE, stats.counted_share, 0),
	PROBLEM(late, OF_FILE | OF_PART, "late"),
	PROBLEM(hurried, AT_END | OF_PART,
		"broken stack(s) not waited for: ctop did not get the CPU to fetch their files or "
		"maps in time"),
	PROBLEM(throttled, OF_FILE | OF_PART, "time(s) throttled by the kernel"),
	PROBLEM(lost_sideband, AT_END | OF_PART,
		"record(s) of maps, forks and exits lost: files of programs that ended at once may "
		"have no names"),
	PROBLEM(unfollowed, AT_END, "thread(s) without such records: the same"),
	FACT("stats.fewer_ns", NULL, FACT_NS, stats.fewer_ns, AT_END),
	FACT("duration_ns", "duration_seconds", FACT_NS, duration_ns, AT_END),
	FACT(NULL, "rate_hz", FACT_DECIMAL, rate_hz, 0),
	FACT("stats.cpus.busy_ns", "cpus_seconds.busy", FACT_NS, stats.cpus.busy_ns, AT_END),
	FACT("stats.cpus.idle_ns", "cpus_seconds.idle", FACT_NS, stats.cpus.idle_ns, AT_END),
	FACT("stats.cpus.stolen_ns", "cpus_seconds.stolen", FACT_NS, stats.cpus.stolen_ns, AT_END),
	UNLESS_0("stats.time.source", "time.source", FACT_NUMBER, stats.time_source, AT_END),
	UNLESS_0("stats.time.threads", "time.threads", FACT_NUMBER, stats.nr_timed, AT_END),
	UNLESS_0("stats.time.observed_ns", "time.observed_seconds", FACT_NS,
		 stats.times.observed_ns, AT_END),
	UNLESS_0("stats.time.running_ns", "time.running_seconds", FACT_NS,
		 stats.times.ns[TIME_RUNNING], AT_END),
	UNLESS_0("stats.time.runnable_ns", "time.runnable_seconds", FACT_NS,
		 stats.times.ns[TIME_RUNNABLE], AT_END),
	UNLESS_0("stats.time.waiting_ns", "time.waiting_seconds", FACT_NS,
		 stats.times.ns[TIME_WAITING], AT_END),
	UNLESS_0("stats.time.unknown_ns", "time.unknown_seconds", FACT_NS,
		 stats.times.ns[TIME_UNKNOWN], AT_END),
	UNLESS_0("stats.time.switch_cost_ns", "time.switch_cost_ns", FACT_NUMBER,
		 stats.switch_cost_ns, AT_END),
	WAITS("lock", WAIT_LOCK),
	WAITS("io", WAIT_IO),
	WAITS("poll", WAIT_POLL),
	WAITS("sleep", WAIT_SLEEP),
	WAITS("child", WAIT_CHILD),
	WAITS("fault", WAIT_FAULT),
	WAITS("other", WAIT_OTHER),
	WAITS("unseen", WAIT_UNSEEN),
	PROBLEM(untimed, AT_END, "thread(s) more than the account of their time has room for"),
	UNLESS_0("stats.waits_estimated_ns", "waits_estimated_seconds", FACT_NS,
		 stats.waits_estimated_ns, AT_END),
	UNLESS_0("stats.waits_unplaced", "waits_unplaced", FACT_NUMBER, stats.waits_unplaced,
		 AT_END),
	UNLESS_0("stats.waits_refused", "waits_refused", FACT_NUMBER, stats.waits_refused, AT_END),
	UNLESS_0("stats.waits_refused_by", "waits_refused_by", FACT_NUMBER, stats.waits_refused_by,
		 AT_END),
	PROBLEM(waits_silent, AT_END,
		"time(s) a thread's memory did not answer within 250 ms: where it waits is not "
		"looked at any more, how long is known all the same"),
	PROBLEM(waits_unasked, AT_END,
		"look(s) at where threads wait that were not made: the process that looks could "
		"not be started, as where a limit of processes or open files is reached"),
	PROBLEM(waits_untold_ns, AT_END, "ns of waiting that ctop was too slow to tell"),
	PROBLEM(wakings_lost, AT_END,
		"record(s) of wakings lost: of their threads the run-queue's time from waking on "
		"counts as waiting"),
	PROBLEM(wakings_untold, AT_END,
		"wait(s) whose end the kernel's records of wakings do not tell: their run-queue's "
		"time from waking on counts as waiting"),
	UNLESS_0("stats.switch_outs", "switch_outs", FACT_NUMBER, stats.switch_outs, AT_END),
	UNLESS_0("stats.switch_outs_lost", "switch_outs_lost", FACT_NUMBER, stats.switch_outs_lost,
		 AT_END),
	UNLESS_0("stats.switch_out_period", "switch_out_period", FACT_NUMBER,
		 stats.switch_out_period, AT_END),
	UNLESS_0("stats.wakeups_unseen", "wakeups_unseen", FACT_NUMBER, stats.wakeups_unseen,
		 AT_END),
	UNLESS_0("stats.wakeups_given_up", "wakeups_given_up", FACT_NUMBER, stats.wakeups_given_up,
		 AT_END),
	PROBLEM(wakeups_untold_ns, AT_END,
		"ns of waits that ended of which ctop was too slow to tell who ended them"),
	UNLESS_0("stats.calls", "calls", FACT_NUMBER, stats.calls, AT_END),
	PROBLEM(calls_lost, AT_END,
		"record(s) of system calls lost: calls that these are of are not in the timeline"),
	PROBLEM(calls_given_up, AT_END,
		"second with more than 100,000 system calls: none were recorded from then on"),
	UNLESS_0("stats.goroutines_refusal", "goroutines_refusal", FACT_NUMBER,
		 stats.goroutines_refusal, AT_END),
	PROBLEM(goroutines_left_out, AT_END,
		"goroutine(s) of a process more than are looked at (65,536)"),
	PROBLEM(goroutines_joined, AT_END,
		"goroutine(s) told as one, behind the first 16,384: their stacks and sums are "
		"whole"),
	FACT("stats.ends", "stacks", FACT_ENDS, stats.ends, AT_END),
	UNLESS_0("stats.first_stack_ns", "first_stack_seconds", FACT_NS, first_stack_ns, AT_END),
	FACT("stats.frames", "frames", FACT_NUMBER, stats.frames, AT_END),
	PROBLEM(unlined, AT_END,
		"address(es) not looked up in time: no lines or inlined functions there"),
	FACT(NULL, "unsymbolized_frames", FACT_NUMBER, unsymbolized_frames, 0),
	FACT(NULL, "cpu_seconds", FACT_NS, cpu_ns, 0),
	FACT("stats.cpu_ns.main", "cpu_seconds_of.main", FACT_NS, stats.cpu_ns[0], FACT_COST),
	FACT("stats.cpu_ns.collector", "cpu_seconds_of.collector", FACT_NS, stats.cpu_ns[1],
	     FACT_COST),
	FACT("stats.cpu_ns.symbolizer", "cpu_seconds_of.symbolizer", FACT_NS, stats.cpu_ns[2],
	     FACT_COST),
	FACT("stats.cpu_ns.writer", "cpu_seconds_of.writer", FACT_NS, stats.cpu_ns[3], FACT_COST),
	UNLESS_0("stats.budget.ppm", "budget.ppm", FACT_NUMBER, stats.budget_ppm, FACT_AT_END),
	UNLESS_0("stats.budget.own_ns", "budget.own_cpu_seconds", FACT_NS, stats.budget_own_ns,
		 FACT_AT_END),
	UNLESS_0("stats.budget.kernel_ns", "budget.kernel_cpu_seconds", FACT_NS,
		 stats.budget_kernel_ns, FACT_AT_END),
	UNLESS_0("stats.budget.machine_ns", "budget.machine_cpu_seconds", FACT_NS,
		 stats.budget_machine_ns, FACT_AT_END),
	FACT(NULL, "kernel_names", FACT_NUMBER, stats.kernel_names, 0),
	FACT(NULL, "rule_cache.hits", FACT_NUMBER, stats.cache_hits, 0),
	FACT(NULL, "rule_cache.misses", FACT_NUMBER, stats.cache_misses, 0),
	FACT("stats.peak_rss_bytes", "peak_rss_bytes", FACT_NUMBER, stats.peak_rss_bytes,
	     FACT_COST),
	FACT("stats.ring_bytes", "ring_bytes", FACT_NUMBER, stats.ring_bytes, AT_END),
	FACT(NULL, "output_bytes", FACT_NUMBER, output_bytes, 0),
	PROBLEM(restarts, OF_FILE | OF_PART, "restart(s) of helper processes"),
	FACT("unreadable", "unreadable", FACT_LIST, unreadable, AT_END | OF_PART),
	FACT("step_down", "steps_down", FACT_LIST, fallbacks, FACT_AT_START | OF_FILE | OF_PART),
};
const size_t nr_fact_rows = sizeof(fact_rows) / sizeof(*fact_rows);
_Static_assert(sizeof(fact_rows) / sizeof(*fact_rows) <= FACTS_MAX, "each has its known[]");

#define EVENT(key, json, kind, field)                                                              \
	{                                                                                          \
		key, json, kind, offsetof(struct session_event, field), FACT_AT_END, false, NULL   \
	}

const struct fact_row event_fact_rows[] = {
	EVENT(NULL, "samples", FACT_NUMBER, samples),
	EVENT("stats.lost", "lost", FACT_NUMBER, lost),
	EVENT("stats.counted", "counted", FACT_NUMBER, counted),
	EVENT("stats.sampled", "sampled", FACT_NUMBER, sampled),
	EVENT("stats.counted_ppm", "counted_share", FACT_SHARE, counted_share),
};
const size_t nr_event_fact_rows = sizeof(event_fact_rows) / sizeof(*event_fact_rows);

const char *fact_key_of(char key[FACT_KEY_MAX], const char *row_key, size_t number)
{
	snprintf(key, FACT_KEY_MAX, "%s.%zu", row_key, number);
	return key;
}

const char *fact_key_of_end(char key[FACT_KEY_MAX], const char *row_key, enum stack_end end)
{
	snprintf(key, FACT_KEY_MAX, "%s.%s", row_key, stack_end_name(end));
	return key;
}

const void *fact_at(const struct fact_row *row, const void *base)
{
	return (const char *)base + row->offset;
}

uint64_t fact_number(const struct fact_row *row, const void *base)
{
	uint64_t value;
	memcpy(&value, fact_at(row, base), sizeof(value));
	return value;
}

double fact_decimal(const struct fact_row *row, const void *base)
{
	double value;
	memcpy(&value, fact_at(row, base), sizeof(value));
	return value;
}
