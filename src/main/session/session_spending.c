/* SPDX-License-Identifier: MIT */
/* --budget: what ctop's processes and the kernel's sampling take of the machine, and less of it where that is too much. */
#include "session_internal.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#define LOOK_EVERY_NS NS_PER_SECOND

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_usec * 1000;
}

/* Of all processes of ctop, those that have ended, too. A command of ours is one of them in the end, but no part of ctop. */
static uint64_t own_cpu_ns(struct session *session)
{
	const int32_t *pids = session->own.pids;
	struct rusage ended = {0};
	if (!session->stats.target_exited && getrusage(RUSAGE_CHILDREN, &ended) == 0)
		session->budget.ended_ns = ns_of(&ended.ru_utime) + ns_of(&ended.ru_stime);
	return clock_cpu_ns() + session->budget.ended_ns + child_cpu_ns(session->collector.pid) +
	       child_cpu_ns(session->symbolizer.pid) + child_cpu_ns(pids[OWN_WRITER]) +
	       child_cpu_ns(pids[OWN_OPENER]) + child_cpu_ns(pids[OWN_NAMES_OPENER]) +
	       child_cpu_ns(session->time.looker ? looker_pid(session->time.looker) : 0);
}

/* The kernel's samples so far, those that are of no use, too. */
static uint64_t nr_samples(const struct session *session)
{
	const struct child_status *status = session->collector.status;
	return status ? atomic_load(&status->drained) + atomic_load(&status->lost) : 0;
}

/* Of several events the dearest: which of them a sample was of, the collector knows alone. */
static uint64_t sample_cost_ns(const struct session *session)
{
	const struct sampler *sampler = session->sampler;
	uint64_t most_ns = 0;
	for (size_t i = 0; i < session->sampling.nr_events; i++) {
		const uint64_t ns =
			sampler_sample_cost_ns(sampler, i, sampler_set_in_use(sampler, i));
		most_ns = ns > most_ns ? ns : most_ns;
	}
	return most_ns;
}

static const struct sampler_sets *sets_in_question(const struct session *session)
{
	const struct sampler_sets *sets = sampler_sets(session->sampler, false);
	return sets->nr ? sets : sampler_sets(session->sampler, true);
}

static struct set_costs costs_of(const struct session *session)
{
	const struct sampler_sets *sets = sets_in_question(session);
	const size_t event = session_first_together(session);
	struct set_costs costs = {.nr = sets->nr};
	for (uint32_t i = 0; i < sets->nr; i++)
		costs.items[i] = (double)sampler_sample_cost_ns(session->sampler, event, i) /
				 (sets->items[i].fewer ? sets->items[i].fewer : 1);
	return costs;
}

/* What it came to since the last look. The count of a child that ends is in no sum for a moment. */
static struct spent measure(struct session *session)
{
	struct session_budget *budget = &session->budget;
	const uint64_t now_ns = clock_now_ns(), own_ns = own_cpu_ns(session);
	const uint64_t reading_ns = worker_cpu_ns(&session->collector);
	const uint64_t samples = nr_samples(session), records = session->time.all_records;
	struct spent spent = {.ns = now_ns - budget->at_ns};
	if (own_ns > budget->own_ns)
		spent.own_ns = own_ns - budget->own_ns;
	if (samples > budget->nr_samples)
		spent.varying_ns = (samples - budget->nr_samples) * sample_cost_ns(session);
	spent.kernel_ns =
		spent.varying_ns + (records - budget->nr_records) * SESSION_RECORD_COST_NS;
	if (reading_ns > budget->reading_ns)
		spent.varying_ns += reading_ns - budget->reading_ns;
	budget->at_ns = now_ns;
	budget->own_ns += spent.own_ns;
	budget->reading_ns = reading_ns;
	budget->nr_samples = samples;
	budget->nr_records = records;
	return spent;
}

static double percent_of(const struct spending *spending, uint64_t ns)
{
	const double all_ns = (double)spending->ns * spending->nr_cpus;
	return all_ns > 0 ? 100 * (double)ns / all_ns : 0;
}

/* Sets that are switched together are described where that is done; of events that ctop paces it is normal to have others. */
static void describe_paced(const struct session *session, char *text, size_t size)
{
	const struct sampler_sets *sets = sampler_sets(session->sampler, true);
	const uint32_t least = session->budget.least_set;
	text[0] = '\0';
	if (sampler_sets(session->sampler, false)->nr || !least || !sets->nr)
		return;
	const struct sampler_set *set = &sets->items[least < sets->nr ? least : sets->nr - 1];
	snprintf(text, size, "a sample for each %u hits at most, copies of %u bytes", set->fewer,
		 set->dump_bytes);
}

static void describe(struct session *session, bool is_last)
{
	struct session_budget *budget = &session->budget;
	const struct spending *spending = &budget->spending;
	const uint32_t in_use =
		sampler_set_in_use(session->sampler, session_first_together(session));
	char paced[96], names[64] = "";
	describe_paced(session, paced, sizeof(paced));
	budget->is_over = spending_is_over(spending, is_last);
	if (!budget->is_over) {
		snprintf(budget->fallback, sizeof(budget->fallback), "%s%s", paced,
			 paced[0] ? ": --budget leaves no more" : "");
		return;
	}
	const uint64_t names_ns = worker_cpu_ns(&session->symbolizer);
	if (names_ns > spending->own_ns / 2)
		snprintf(names, sizeof(names), ", for names %.2g s of CPU time",
			 (double)names_ns / (double)NS_PER_SECOND);
	snprintf(
		budget->fallback, sizeof(budget->fallback),
		"--budget %.6g%% %s: ctop's processes took %.2g%% of the machine%s, its samples in "
		"the kernel about %.2g%%, of %.0f s%s%s%s",
		100 * spending->share, is_last ? "was not held" : "is not held",
		percent_of(spending, spending->own_ns), names,
		percent_of(spending, spending->kernel_ns),
		(double)spending->ns / (double)NS_PER_SECOND, paced[0] ? "; " : "", paced,
		in_use + 1 >= sets_in_question(session)->nr ? "; less than this it cannot do" : "");
}

void session_begin_spending(struct session *session)
{
	struct session_budget *budget = &session->budget;
	const long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (!(session->sampling.budget_share > 0) || !session->sampler)
		return;
	spending_begin(&budget->spending, session->sampling.budget_share,
		       nr_cpus > 0 ? (uint32_t)nr_cpus : 1);
	budget->at_ns = clock_now_ns();
	budget->due_ns = budget->at_ns + LOOK_EVERY_NS;
	budget->own_ns = own_cpu_ns(session);
	budget->reading_ns = worker_cpu_ns(&session->collector);
	budget->least_set = sampler_set_in_use(session->sampler, session_first_together(session));
	budget->moved = budget->least_set > 0;
}

void session_look_at_spending(struct session *session)
{
	struct session_budget *budget = &session->budget;
	if (!(budget->spending.share > 0) || session->phase != PHASE_RUNNING ||
	    clock_now_ns() < budget->due_ns)
		return;
	const struct set_costs costs = costs_of(session);
	const struct spent spent = measure(session);
	/* The rings may have asked for less yet. */
	const uint32_t in_use =
		sampler_set_in_use(session->sampler, session_first_together(session));
	budget->due_ns = budget->at_ns + LOOK_EVERY_NS;
	budget->least_set = spending_next(&budget->spending, &costs, in_use, &spent);
	budget->moved |= budget->least_set > 0;
	session_describe_sets(session, budget->at_ns);
	describe(session, false);
}

void session_end_spending(struct session *session)
{
	struct session_budget *budget = &session->budget;
	if (!(budget->spending.share > 0))
		return;
	const struct set_costs costs = costs_of(session);
	const struct spent spent = measure(session);
	spending_next(&budget->spending, &costs, 0, &spent);
	describe(session, true);
}

const char *session_budget_note(const struct session *session)
{
	return session->budget.is_over ? session->budget.fallback : "";
}

void session_add_spending(const struct session *session, struct session_stats *stats)
{
	const struct spending *spending = &session->budget.spending;
	stats->budget_ppm = (uint64_t)(1e6 * spending->share + 0.5);
	stats->budget_own_ns = spending->own_ns;
	stats->budget_kernel_ns = spending->kernel_ns;
	stats->budget_machine_ns = spending->ns * spending->nr_cpus;
}
