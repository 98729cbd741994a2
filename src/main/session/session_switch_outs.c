/* SPDX-License-Identifier: MIT */
/* Waits that are sampled as they begin: how many, and what they tell, to the collector. */
#include "session_internal.h"

#include <asm/perf_regs.h>
#include <stdio.h>
#include <stdlib.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/system_call.h>
#include <ctop/system/wait_kind.h>

#include <ctop/time/wait_chains.h>
#include <ctop/time/wait_objects.h>

/* So many a second at most: of few switches each, so that the period is 1. */
enum { SAMPLES_HZ = 250 };
/* What one costs who switches, with its copy, and what ctop to unwind it. */
#define COST_NS	    6000
#define OWN_COST_NS 25000
/* Of --max-overhead and --budget. */
#define SHARE 0.25
/* So many are no matter, whatever the target computes. */
enum { SAMPLES_LEAST_HZ = 100 };
/* Where more come than were foreseen. */
enum { SURGE = 2, LONGER = 8 };

/* ---- how many ---- */

static uint64_t samples_allowed(const struct session *session, uint64_t used_ns, uint64_t ns)
{
	const struct spending *spending = &session->budget.spending;
	const uint64_t percent = session->sampling.max_overhead_percent;
	double most = SAMPLES_HZ * (double)ns / NS_PER_SECOND;
	const double least = SAMPLES_LEAST_HZ * (double)ns / NS_PER_SECOND;
	const double of_target = SHARE * (double)percent / 100 * (double)used_ns / COST_NS;
	const double of_budget =
		SHARE * spending_allowed_ns(spending, ns) / (COST_NS + OWN_COST_NS);
	if (percent && of_target < most)
		most = of_target > least ? of_target : least;
	if (spending->share > 0 && of_budget < most)
		most = of_budget;
	return most >= 1 ? (uint64_t)most : 1;
}

/* A program that does the same things by turns must not keep step with it. */
static uint64_t odd_near(uint64_t period, uint64_t now_ns)
{
	return period <= 1 ? 1 : (period * 3 / 4 + hash_u64(now_ns) % (period / 2 + 1)) | 1;
}

static void set_period(struct session *session, uint64_t period)
{
	struct session_switch_outs *outs = &session->time.outs;
	const uint64_t before = sampler_switch_out_period(session->sampler);
	if (period == before)
		return;
	sampler_set_switch_out_period(session->sampler, period);
	outs->period_before = before;
	outs->set_ns = clock_now_ns();
}

/* How many switches a sample stands for: those that are read late were taken with the period before. */
static uint64_t period_at(const struct session *session, uint64_t time_ns)
{
	const struct session_switch_outs *outs = &session->time.outs;
	return time_ns < outs->set_ns ? outs->period_before
				      : sampler_switch_out_period(session->sampler);
}

static int follow_again(struct sampler *sampler, const struct sampler_threads *threads)
{
	return sampler_follow_switch_outs(sampler, threads, sampler_switch_out_period(sampler));
}

/* Threads that are younger than the target's may be anybody's: it is those known by now, and others from now on. */
static void leave_others_out(struct session *session)
{
	struct session_time *time = &session->time;
	struct session_switch_outs *outs = &time->outs;
	const bool renews = outs->nr_others > outs->nr / 2 && !outs->was_renewed &&
			    session_knows_youngest(time);
	if (renews && session_follow_with(session, follow_again))
		sampler_end_switch_outs(session->sampler);
	outs->was_renewed = renews;
}

void session_pace_switch_outs(struct session *session, uint64_t nr_switches, uint64_t used_ns,
			      uint64_t ns)
{
	struct session_switch_outs *outs = &session->time.outs;
	if (!outs->chains)
		return;
	leave_others_out(session);
	const uint64_t allowed = samples_allowed(session, used_ns, ns);
	const uint64_t lost = sampler_switch_outs_lost(session->sampler);
	/* Of all that are recorded half are switches out; samples may be of others' threads, too, or records be lost. */
	const uint64_t sampled = outs->nr_switches +
				 (lost - outs->lost) * sampler_switch_out_period(session->sampler);
	const uint64_t nr = nr_switches / 2 > sampled ? nr_switches / 2 : sampled;
	set_period(session, odd_near((nr + allowed - 1) / allowed, session->time.window_ns));
	outs->most = SURGE * allowed;
	outs->nr = outs->nr_others = outs->nr_switches = 0;
	outs->lost = lost;
}

/* Many more than there were: until the next turn of the guard it would be too much. Those from before the period was set say nothing of it. */
static void damp(struct session *session, uint64_t time_ns)
{
	struct session_switch_outs *outs = &session->time.outs;
	if (outs->nr <= outs->most || time_ns < outs->set_ns)
		return;
	outs->most *= SURGE;
	set_period(session, sampler_switch_out_period(session->sampler) * LONGER | 1);
}

static int follow(struct sampler *sampler, const struct sampler_threads *threads)
{
	return sampler_follow_switch_outs(sampler, threads, 1);
}

void session_begin_switch_outs(struct session *session)
{
	struct session_switch_outs *outs = &session->time.outs;
	/* Without call graphs there is nothing that a copy would be good for. */
	if (!session_places_waits(session) || session->sampling.call_graph == CALL_GRAPH_NO ||
	    !sampler_nr_switches(session->sampler) || session_follow_with(session, follow))
		return;
	outs->chains = calloc(1, sizeof(*outs->chains));
	outs->most = SAMPLES_HZ;
	if (!outs->chains)
		sampler_end_switch_outs(session->sampler);
}

/* ---- what they tell ---- */

/* Two calls may be made from one place: of the same one the arguments are the same, too. A page fault is no call, and has none. */
static bool is_call_of(const struct record_sample *sample, const struct system_call *call)
{
	if (call->number < 0)
		return true;
#if defined(__x86_64__)
	return sample->regs[PERF_REG_X86_DI] == call->arguments[0] &&
	       sample->regs[PERF_REG_X86_SI] == call->arguments[1];
#elif defined(__aarch64__)
	return sample->regs[PERF_REG_ARM64_X1] == call->arguments[1] &&
	       sample->regs[PERF_REG_ARM64_X8] == (uint64_t)call->number;
#endif
}

/* What the thread waits for just now, where that is at the same place as then. */
static bool is_seen(const struct record *record, const struct wait_record *wait,
		    enum wait_kind *kind)
{
	struct stat_line line;
	const struct system_call call = system_call_read(record->pid, record->tid);
	if (!call.is_told || call.pc != wait->pc || call.sp != wait->sp ||
	    !is_call_of(&record->sample, &call) || !proc_stat_line(record->pid, record->tid, &line))
		return false;
	/* Stopped since, wherever that met it. */
	if (line.state == 'T' || line.state == 't')
		return false;
	*kind = wait_kind_read(&call, record->pid, record->tid, line.state);
	return *kind != WAIT_UNSEEN;
}

static enum wait_kind kind_of(struct wait_chains *chains, const struct record *record,
			      const struct wait_record *wait)
{
	enum wait_kind kind;
	if (wait_chains_find(chains, &record->sample, &kind))
		return kind;
	if (!is_seen(record, wait, &kind))
		return wait_chains_find_place(chains, record->pid, wait->pc, &kind) ? kind
										    : WAIT_OTHER;
	wait_chains_learn(chains, &record->sample, kind);
	return kind;
}

void session_note_switch_out(struct session *session, const struct record *record)
{
	struct session_time *time = &session->time;
	struct session_switch_outs *outs = &time->outs;
	struct wait_record wait = {
		.header = {.type = WAIT_RECORD_STACK},
		.pid = record->pid,
		.tid = record->tid,
	};
	const uint8_t *stack;
	enum wait_place place;
	outs->nr++;
	outs->nr_switches += period_at(session, record->time_ns);
	outs->nr_others += !time_account_name(time->account, record->tid);
	damp(session, record->time_ns);
	if (!outs->chains || !session_has_room_for_wait(time) ||
	    !wait_record_take_sample(&wait, &record->sample, &stack) ||
	    !time_account_may_sample(time->account, record->tid, &place))
		return;
	wait.time_ns = clock_now_ns();
	wait.until_ns = record->time_ns;
	wait.kind = kind_of(outs->chains, record, &wait);
	wait.place = place;
	snprintf(wait.name, sizeof(wait.name), "%s", time_account_name(time->account, record->tid));
	session_tell_waits(time, wait.time_ns);
	if (!wait_ring_put(&time->ring, &wait, stack))
		return;
	time_account_sampled(time->account, record->tid, period_at(session, record->time_ns));
	wait_objects_sample(time->objects, record->tid, wait.kind, place);
	outs->nr_all++;
}
