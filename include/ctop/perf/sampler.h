/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_SAMPLER_H
#define CTOP_PERF_SAMPLER_H

/*
 * The kernel's side of a session: opens events on the target and one ring per
 * CPU, falls back by the ladder where the machine or the privileges require it,
 * and reports each fallback. Main only.
 *
 * One ring per CPU, owned by a PERF_COUNT_SW_DUMMY event on ctop's own pid and
 * that CPU, so that it outlives every thread of the target; the target's per-CPU
 * inherited events join by PERF_EVENT_IOC_SET_OUTPUT.
 *
 * Beside each stands a small ring of side-band records (maps, forks, exits) of the same tasks, for main alone: what
 * the collector says of them is checked against it. It is there from the attaching on, also while the events are off.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/event_sets.h>
#include <ctop/kernel/record.h>
#include <ctop/perf/event.h>
#include <ctop/weight_unit.h>

enum { SAMPLER_MAX_FALLBACKS = 16 };
/* How the fallback begins that is usual in virtual machines: nothing that was asked for is missing. */
#define SAMPLER_NO_COUNTER "this machine has no cycle counter"

enum call_graph { CALL_GRAPH_AUTO, CALL_GRAPH_DWARF, CALL_GRAPH_FP, CALL_GRAPH_NO };

struct sampler_options {
	struct event events[SAMPLER_MAX_EVENTS];
	size_t nr_events;
	const int32_t *pids; /* whole processes */
	size_t nr_pids;
	const int32_t *tids; /* single threads */
	size_t nr_tids;
	bool system_wide;
	bool follows_all; /* system_wide: records of everybody's switches, too */
	int cgroup_fd; /* system_wide, this cgroup's tasks alone: its directory; 0 or less: all */
	const int32_t *cpus; /* NULL: all online */
	size_t nr_cpus;
	bool enable_on_exec; /* for `-- CMD`: pids holds the one held child */
	bool inherit;	     /* the targets' descendants, too: those that run, and those to come */
	uint64_t count;	     /* -c; 0: use frequency */
	uint64_t frequency_hz; /* -F */
	enum call_graph call_graph;
	uint32_t dump_bytes;	       /* asked for; 0: auto */
	uint32_t ring_pages;	       /* asked for, a power of two; 0: default */
	uint32_t max_overhead_percent; /* 0: off */
	double budget_share; /* of all CPUs' time that ctop may take, up to 1; 0: it has no budget */
	bool strict;	     /* a fallback is an error */
	bool adapts;	     /* opens cheaper sets of the events, too */
};

/* One ring, as the collector needs it. */
struct sampler_ring {
	int32_t cpu;
	int fd; /* of the dummy event: the sampler's */
};

/* Which event and which attached thread an id in a record belongs to. */
struct sampler_id {
	uint64_t id;
	uint32_t event;
	int32_t tid; /* -1: the whole CPU */
	int32_t cpu;
	/* As many rows as there are events further up is the same event of the set before; id 0: it has no such set. */
	uint32_t set;
};

struct sampler_opened {
	char name
		[EVENT_TEXT_BYTES]; /* the event as opened, with modifiers: "cpu-clock", "cycles:u" */
	uint64_t period, frequency_hz; /* one of them 0 */
	bool clock;
	bool paced; /* by ctop: a sample's period is its set's, the frequency what is aimed at */
	bool without_period; /* of its samples: the format's PERIOD is not in them, for it does not change */
	enum weight_unit unit; /* what its samples weigh */
};

struct sampler;

/* Opens everything, disabled. NULL with cause and remedy. Fallbacks are in sampler_fallback(). */
struct sampler *sampler_open(const struct sampler_options *options, struct error *error);
void sampler_free(struct sampler *sampler); /* NULL is fine */

size_t sampler_nr_fallbacks(const struct sampler *sampler);
const char *sampler_fallback(const struct sampler *sampler, size_t i);

size_t sampler_nr_rings(const struct sampler *sampler);
const struct sampler_ring *sampler_rings(const struct sampler *sampler);
uint32_t sampler_ring_pages(const struct sampler *sampler);
/*
 * A ring that was read needs not be watched for so long: what is sampled fills no more of it than up to its watermark. 0: it may
 * be full at any moment, for nobody bounds the rate of an event.
 */
uint32_t sampler_rest_ms(const struct sampler *sampler);
/* Redirects every event into its CPU's ring: once the collector has mapped them, and again after each of its restarts. 0 or -errno. */
int sampler_redirect(struct sampler *sampler);

const struct record_format *sampler_format(const struct sampler *sampler);
/* Of what was foreseen; the set in use may have others. */
uint32_t sampler_dump_bytes(const struct sampler *sampler);
bool sampler_user_only(const struct sampler *sampler);
const struct sampler_opened *sampler_opened(const struct sampler *sampler, size_t event);
size_t sampler_nr_ids(const struct sampler *sampler);
const struct sampler_id *sampler_ids(const struct sampler *sampler);
/*
 * True when samples must be filtered by pid in the collector: whole CPUs are sampled, as there are too few descriptors, or because
 * probes cannot be inherited.
 */
bool sampler_filters_pids(const struct sampler *sampler);

/* The processes attached: those asked for and their descendants that ran already; more after sampler_attach_late(). */
size_t sampler_nr_processes(const struct sampler *sampler);
/* 0: it could not be attached. */
int32_t sampler_process(const struct sampler *sampler, size_t i);
/* By CLOCK_MONOTONIC, when it had that number, before it was attached: who started later is another. */
uint64_t sampler_process_seen_ns(const struct sampler *sampler, size_t i);
/* How many of them were not asked for by number. */
size_t sampler_nr_children(const struct sampler *sampler);

/* How many side-band rings there are: one per CPU, or 0 where no locked memory was left for them. */
size_t sampler_nr_sideband(const struct sampler *sampler);
int sampler_sideband_fd(const struct sampler *sampler,
			size_t i); /* to poll: POLLIN when it fills */
/*
 * Hands at most max records of each ring to take(), oldest first: MMAP2 with device and inode, FORK, EXIT.
 * True when there are more.
 */
bool sampler_read_sideband(struct sampler *sampler, size_t max,
			   void (*take)(void *context, const struct record *record), void *context);
/* What of it is missing, so far. */
struct sampler_sideband_losses {
	uint64_t records; /* by the kernel's count: maps, forks and exits */
	uint64_t threads; /* whose events could not be attached, as descriptors or memory ran out */
};
struct sampler_sideband_losses sampler_sideband_losses(const struct sampler *sampler);

/*
 * Records of when threads got a CPU and lost it, for main alone: SWITCH, FORK, EXIT, COMM. How many rings of them there are:
 * one per CPU; 0 where whole CPUs, or not all, are sampled, or there was no locked memory, or too few descriptors, for them.
 */
size_t sampler_nr_switches(const struct sampler *sampler);
/* Descriptors to poll, of switches and wakings. */
size_t sampler_nr_switch_fds(const struct sampler *sampler);
int sampler_switch_fd(const struct sampler *sampler, size_t i);
/*
 * Hands at most max records of all rings to take(), in the order of time, but none from until_ns on. before_ns: of the record before in its
 * ring; what a LOST record is about was between the two. True: there are more.
 */
bool sampler_read_switches(struct sampler *sampler, uint64_t until_ns, size_t max,
			   void (*take)(void *context, const struct record *record,
					uint64_t before_ns),
			   void *context);
/*
 * Up to when all of them have been read: what does not fit into a full ring is told by the next record that does, and there may be none
 * any more. UINT64_MAX: nothing is missing that was not told.
 */
uint64_t sampler_switches_known_until(const struct sampler *sampler);
/* No more of them are written from now on. */
void sampler_end_switches(struct sampler *sampler);

/* These threads, which are put into order, and all that begin after the youngest. */
struct sampler_threads {
	int32_t *tids;
	size_t nr;
	int32_t youngest;
};
/*
 * Beside them, in their order, RECORD_WAKING: who woke one of these threads, by sched:sched_waking on all CPUs.
 * Again, for other threads: what was asked before is over, and some are told twice. 0; -EXDEV: in a pid namespace
 * the kernel tells others' numbers; or -errno.
 */
int sampler_follow_wakings(struct sampler *sampler, const struct sampler_threads *threads);
/* The youngest of all threads: those that begin from now on have larger numbers, until these begin again. */
int32_t sampler_youngest_thread(void);
/* Whether wakings of that thread are recorded, if any are. */
bool sampler_wakings_cover(const struct sampler *sampler, int32_t tid);
uint64_t sampler_wakings_lost(const struct sampler *sampler);
/* No more of them are written from now on. */
void sampler_end_wakings(struct sampler *sampler);
/* So many threads can be told from others. */
enum { SAMPLER_COPIED_MOST = 15 };
/*
 * Of wakings of these threads (put into order; NULL: all that are followed) by threads that are followed, one more RECORD_WAKING each, before
 * the plain one, whose sample has registers and stack of who wakes. In the place of those asked for before. 0 or -errno: there are none.
 */
int sampler_copy_wakings(struct sampler *sampler, int32_t *tids, size_t nr);
void sampler_end_waking_copies(struct sampler *sampler);

/*
 * Beside them, too, RECORD_SWITCHED_OUT: of each so many waits of these threads one is sampled as it begins, by sched:sched_switch on all CPUs, with the user's registers
 * and stack and the kernel's callchain. What is lost of them is lost, nothing else. Again, and results: as sampler_follow_wakings().
 */
int sampler_follow_switch_outs(struct sampler *sampler, const struct sampler_threads *threads,
			       uint64_t period);
/* The next one is sampled at once, then each so many; 0: there are none. */
void sampler_set_switch_out_period(struct sampler *sampler, uint64_t period);
uint64_t sampler_switch_out_period(const struct sampler *sampler);
uint64_t sampler_switch_outs_lost(const struct sampler *sampler);
void sampler_end_switch_outs(struct sampler *sampler);

/*
 * Beside them, too, RECORD_SYSTEM_CALL: of these threads each system call's begin and end, by raw_syscalls:sys_enter and sys_exit on all CPUs; and RECORD_CALLS_LOST, where
 * some of both were lost (lost: how many). Again, and results: as sampler_follow_wakings().
 */
int sampler_follow_calls(struct sampler *sampler, const struct sampler_threads *threads);
void sampler_end_calls(struct sampler *sampler);
uint64_t sampler_calls_lost(const struct sampler *sampler);
/* Why they are not to be had, by its result, and what helps; returns it. */
int sampler_advise_calls(int code, struct error *error);

/*
 * A thread that was in the middle of starting another while it was attached: the new one has neither inherited
 * nor been listed yet. Some ms later it is there. Attaches such threads, disabled: their ids are at the end of
 * sampler_ids(). Some of them have inherited after all; the collector finds that out. 0 or -errno.
 */
int sampler_attach_late(struct sampler *sampler);

/* Enables the set in use. Not with enable_on_exec, unless processes are filtered. 0 or -errno. */
int sampler_enable(struct sampler *sampler);
/* The same for the ids from this one on: of thousands, those that are enabled already would each cost a system call. */
int sampler_enable_from(struct sampler *sampler, size_t id);
int sampler_disable(struct sampler *sampler);

/* Of paced events, or of all others. */
const struct sampler_sets *sampler_sets(const struct sampler *sampler, bool paced);
uint32_t sampler_set_in_use(const struct sampler *sampler, size_t event);
/* With a budget: what a sample of an event's set costs whoever is sampled, about; else 0. */
uint64_t sampler_sample_cost_ns(const struct sampler *sampler, size_t event, uint32_t set);
/*
 * Other sets are in use from now on, one for each event; `enabled`: and sample at once. Nothing is missed: for some
 * microseconds an event is in both, and samples of the old set behind the first of the new one are doubles (collect/duplicates.c).
 */
void sampler_use_sets(struct sampler *sampler, const uint32_t *sets, bool enabled);
/* Tells all events again which set it is, while they are on: a task that was forked meanwhile may have the other one. */
void sampler_settle_sets(struct sampler *sampler);
/*
 * A thread turned out to have been given this event twice, once of its own and once by inheriting from the
 * thread that started it: closes its own, with what others inherited from that; what it inherited itself
 * goes on. One event on one CPU only: a thread that was started while its maker was being attached
 * inherited some and not others. The clocks show it by samples under two ids. Other software events hit at
 * one moment, and the kernel (6.18) gives both records the id and the time of the first: they show it by
 * twins, two samples of a task in a row with one id and one time. All sets are closed together.
 */
void sampler_close_id(struct sampler *sampler, uint64_t id);

/* What the kernel knows of an event, summed over all its descriptors. */
struct sampler_count {
	uint64_t count, lost;
	/* How long it was to be counted, and was: less when more events were asked for than there are counters. */
	uint64_t enabled_ns, running_ns;
};

/*
 * Descriptors that sampler_close_id() closed are included. -ENOTSUP when the kernel has no PERF_FORMAT_LOST; all but
 * lost is right all the same.
 */
int sampler_read(struct sampler *sampler, size_t event, struct sampler_count *count);

#endif
