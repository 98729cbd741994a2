/* SPDX-License-Identifier: MIT */
/*
 * The kernel's record that a thread has got a CPU comes once its events are counting again (perf_event_task_sched_in() in kernel/events/core.c): a part of a
 * microsecond later, or, in virtual machines where timers and counters are the hypervisor's, 10 us and more. To the scheduler, and to whoever reads
 * /proc, it computes then. How late the records are is what schedstat has counted more than they, by the number of switches: over the waits that threads are looked at in.
 */
#include "account_internal.h"

#include <ctop/base/clock.h>

/* Fewer switches may be off by what is not of them. */
enum { RUNS_LEAST = 200 };
/* What is more is something else. */
#define COST_MOST_NS (NS_PER_MS / 5)

/* How long before the record it got the CPU, as far as who follows has not seen that time as something else. */
static uint64_t lead_ns(const struct time_account *account, const struct thread *thread,
			uint64_t at)
{
	const uint64_t since = thread->told > thread->since ? thread->told : thread->since;
	const uint64_t room = at > since ? at - since : 0;
	return room < account->switch_cost.ns ? room : account->switch_cost.ns;
}

uint64_t account_cpu_since(const struct time_account *account, const struct thread *thread,
			   uint64_t at)
{
	return at - lead_ns(account, thread, at);
}

uint64_t account_take_cpu(const struct time_account *account, struct thread *thread, uint64_t at)
{
	const uint64_t lead = lead_ns(account, thread, at);
	thread->taken_ns += lead;
	return at - lead;
}

void account_note_count(const struct time_account *account, struct thread *thread,
			const struct sched_stat *stat, uint64_t at)
{
	if (!stat->is_known || !account->is_on || thread->looked.since_ns)
		return;
	thread->looked = (struct counted){
		.since_ns = account->since_ns,
		.at = at,
		.run_ns = stat->run_ns,
		.nr_runs = stat->nr_runs,
	};
}

void account_forget_counts(struct thread *thread)
{
	thread->compared = thread->looked = (struct counted){0};
}

static void settle(struct switch_cost *cost)
{
	const int64_t ns = cost->late_ns / (int64_t)cost->nr_runs;
	cost->ns = ns < 0 ? 0 : ns < (int64_t)COST_MOST_NS ? (uint64_t)ns : COST_MOST_NS;
	cost->late_ns = 0;
	cost->nr_runs = 0;
}

void account_compare_counts(struct time_account *account, struct thread *thread,
			    enum time_kind kind, uint64_t until)
{
	/* Most switches come between two looks. */
	if (!thread->looked.since_ns || until < thread->looked.at)
		return;
	struct counted now = thread->looked;
	const struct counted before = thread->compared;
	struct switch_cost *cost = &account->switch_cost;
	now.recorded_ns = thread->times.ns[TIME_RUNNING] - thread->taken_ns;
	if (kind == TIME_RUNNING && now.at > thread->since)
		now.recorded_ns += now.at - thread->since;
	now.nr_recorded = thread->nr_recorded;
	thread->looked = (struct counted){0};
	thread->compared = now;
	const uint64_t nr_runs = now.nr_runs - before.nr_runs;
	const uint64_t nr_recorded = now.nr_recorded - before.nr_recorded;
	/* The one that it gets just then may be on either side. */
	if (before.since_ns != now.since_ns || nr_runs > nr_recorded + 1 ||
	    nr_recorded > nr_runs + 1)
		return;
	const int64_t late_ns =
		(int64_t)((now.run_ns - before.run_ns) - (now.recorded_ns - before.recorded_ns));
	const int64_t most_ns = (int64_t)((nr_recorded + 2) * COST_MOST_NS);
	/* A run without a record, or a look that was delayed. */
	if (late_ns > most_ns || late_ns < -most_ns)
		return;
	cost->late_ns += late_ns;
	cost->nr_runs += nr_runs;
	if (cost->nr_runs >= RUNS_LEAST)
		settle(cost);
}

uint64_t time_account_switch_cost_ns(const struct time_account *account)
{
	return account->switch_cost.ns;
}
