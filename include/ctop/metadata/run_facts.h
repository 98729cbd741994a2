/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_RUN_FACTS_H
#define CTOP_METADATA_RUN_FACTS_H

/*
 * All facts of a run that are kept and told: of a running profile, or as a history's metadata have them. Each is a field here, or
 * of struct session_stats where the session counts it, and a row in src/main/metadata/fact_table.c, which says what a recording
 * and --stats call it. 0 and NULL: not known. Texts are borrowed, and untrusted where they are from a history.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/history/history.h>
#include <ctop/session/session.h>

/* More than anybody reads. */
enum { FACT_LIST_MAX = 64, FACTS_MAX = 120 };

struct fact_list {
	const char *const *items;
	size_t nr;
	size_t first; /* the number that a recording gives to items[0] */
	const char *read[FACT_LIST_MAX];
};

/* One of several events, beside what is counted of it: stats.events of the same number. */
struct run_event {
	const char *asked, *opened;
	uint64_t period;       /* 0 when a frequency was asked */
	uint64_t frequency_hz; /* 0 when a period was asked */
	enum weight_unit unit; /* of what is counted and sampled */
	bool is_counted;       /* a recording says what the kernel counted, be it 0 */
};

/* Not to be copied once it was read: its lists point into it. */
struct run_facts {
	const char *version, *command_line, *hostname, *kernel, *arch;
	const char
		*distribution; /* whose packages the target's files are of: distribution_word() */
	uint64_t nr_cpus, start_wall_ns, start_ns;
	const char *recorder; /* where it was not ctop */
	const char *excerpt;  /* what of a profile it is, if not all */
	const char *target, *target_kind;
	uint64_t sampled_cpus; /* of whole CPUs: how many */
	/* The first event, as asked and as opened. */
	struct {
		const char *asked, *opened;
		uint64_t unit, period, frequency_hz, asked_count, asked_hz;
	} event;
	const char *call_graph;
	uint64_t dump_bytes, dump_bytes_least, ring_pages;
	uint64_t duration_ns;	 /* of sampling */
	uint64_t first_stack_ns; /* from the start of ctop to the first complete stack */
	uint64_t cpu_ns;	 /* of all processes of ctop */
	struct session_stats stats;
	struct fact_list unreadable; /* files that a process of ctop died on */
	struct fact_list fallbacks;
	/* For --stats alone. */
	struct run_event events[SAMPLER_MAX_EVENTS];
	size_t shown;	/* the event that totals of weight, and the rate, are of */
	double rate_hz; /* reached: its samples per second of duration */
	uint64_t unsymbolized_frames, output_bytes;
	const struct thread_times *threads; /* what each did with its time; borrowed */
	size_t nr_threads;
	const struct waking_sum *wakings; /* who woke whom; borrowed */
	size_t nr_wakings;
	bool known[FACTS_MAX]; /* by row: a recording has it. See run_facts_know() */
};

/* Who a fact is known to, and when. */
enum fact_use {
	FACT_AT_START = 1, /* recorded before the first sample */
	FACT_AT_END = 2,
	FACT_COST =
		4, /* recorded at the end: what recording cost; of a perf.data file it is what reading does */
	FACT_OF_FILE = 8,  /* known of a perf.data file once it was read */
	FACT_OF_PART = 16, /* true of a part of the run as of all of it */
	FACT_RECORDED = FACT_AT_START | FACT_AT_END | FACT_COST
};

/* What a session knows by now; what was known at the start is not among it. */
void run_facts_of_session(const struct session_stats *stats, struct run_facts *facts);
/* All fallbacks of a session so far. */
void run_facts_set_fallbacks(const struct session *session, struct run_facts *facts);
/* Fills the facts of these uses from a history's metadata, which may come from a file that anybody wrote; other facts stay. */
void run_facts_read(const struct history *history, unsigned uses, struct run_facts *facts);
/* field: a recording said something of it when facts was read, be it 0. */
bool run_facts_know(const struct run_facts *facts, const void *field);
/* What an event came to, all 0 where that is not known. */
const struct session_event *run_facts_event(const struct run_facts *facts, size_t event);
/* True when the facts of the first event are about this one. NULL stands for it. */
bool run_facts_describe(const struct run_facts *facts, const char *event);
/* All samples dropped that are losses. */
uint64_t run_facts_dropped(const struct run_facts *facts);
/* The i-th thing that may go wrong in words that follow a number ("(s)" becomes "s", or nothing where it is one), and *nr, how often it did; NULL: there are no more. */
const char *run_facts_problem(const struct run_facts *facts, size_t i, uint64_t *nr);

/* A share of the time counted that is below this: events took turns on the counters. Starting and stopping costs less. */
#define SHARED_BELOW 0.95

#endif
