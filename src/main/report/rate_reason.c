/* SPDX-License-Identifier: MIT */
#include "rate_reason.h"

#include <inttypes.h>

#include <ctop/base/clock.h>

/* What the clock's own grain and the ends of a run make of a rate. */
#define REACHED_FROM 0.95
/* Less is no reason. */
#define STOLEN_FROM 0.02

static void add_guard(const struct rate_facts *facts, struct text *text)
{
	if (facts->opened_hz > 0 && facts->opened_hz < facts->asked_hz * REACHED_FROM)
		text_addf(text, "; --max-overhead lets it be %.*f Hz", facts->opened_hz < 10,
			  facts->opened_hz);
}

/* What was not used gives no samples. Stolen time is neither used nor idle. */
static void add_idle(const struct rate_facts *facts, struct text *text)
{
	const uint64_t sum_ns = cpu_times_sum(&facts->cpus);
	const double idle = sum_ns ? (double)facts->cpus.idle_ns / (double)sum_ns : 0;
	if (facts->nr_cpus && idle > 1 - REACHED_FROM)
		text_addf(text, "; the CPUs were idle %.0f%% of the time", 100 * idle);
	else if (!facts->nr_cpus && facts->used_share >= 0 && facts->used_share < REACHED_FROM)
		text_addf(text, "; the target used %.*f%% of a CPU",
			  facts->used_share < 0.01 ? 1 : 0, 100 * facts->used_share);
}

static void add_stolen(const struct rate_facts *facts, struct text *text)
{
	const uint64_t sum_ns = cpu_times_sum(&facts->cpus);
	const double stolen = sum_ns ? (double)facts->cpus.stolen_ns / (double)sum_ns : 0;
	if (stolen > STOLEN_FROM)
		text_addf(text, "; the host took %.0f%% of the CPUs' time", 100 * stolen);
}

void rate_reason_add(const struct rate_facts *facts, struct text *text)
{
	const double hz = facts->asked_hz > 0 ? facts->asked_hz : facts->opened_hz;
	const double cpus = facts->nr_cpus ? (double)facts->nr_cpus : 1;
	if (hz <= 0 || facts->reached_hz >= hz * cpus * REACHED_FROM)
		return;
	add_guard(facts, text);
	if (facts->fewer_ns && facts->has_budget)
		text_addf(text, "; --budget held it lower for %.1f s",
			  (double)facts->fewer_ns / (double)NS_PER_SECOND);
	else if (facts->fewer_ns)
		text_addf(text, "; the rings filled, and it was lower for %.1f s",
			  (double)facts->fewer_ns / (double)NS_PER_SECOND);
	add_idle(facts, text);
	add_stolen(facts, text);
	if (facts->throttled)
		text_addf(text, "; throttled %" PRIu64 " time%s by the kernel", facts->throttled,
			  facts->throttled == 1 ? "" : "s");
}
