/* SPDX-License-Identifier: MIT */
/* Smaller copies and fewer samples where the rings fill, and back: what the collector wants, main does. */
#include "session_internal.h"

#include <stdio.h>

#include <ctop/base/clock.h>
#include <ctop/session/session_setup.h>

/* Whatever a collector wants, tens of thousands of events are not switched for ever: a tenth of main's time at most. */
#define PAUSE_NS (20 * NS_PER_MS)
enum { PAUSE_TIMES = 9 };
#define SETTLE_NS (200 * NS_PER_MS)

/* Events that are switched together: all but those that ctop paces. */
static const struct sampler_sets *sets_together(const struct session *session)
{
	return sampler_sets(session->sampler, false);
}

size_t session_first_together(const struct session *session)
{
	size_t event = 0;
	while (event + 1 < session->sampling.nr_events &&
	       sampler_opened(session->sampler, event)->paced)
		event++;
	return event;
}

void session_begin_sets(struct session *session)
{
	if (!session->sampler)
		return;
	const struct sampler_sets *sets = sets_together(session);
	/* Where the machine was too busy to begin with what was asked for, that is a fallback, too. */
	const bool varies_rate = sets->nr && sets->items[sets->nr - 1].fewer > 1;
	session->foreseen_set =
		varies_rate || session->sampling.budget_share > 0
			? 0
			: sampler_set_in_use(session->sampler, session_first_together(session));
	session->set_since_ns = session->stats.start_ns;
	session_describe_sets(session, session->stats.start_ns);
}

static void describe_rate(const struct session *session, const struct sampler_set *set, char *text,
			  size_t size)
{
	const struct sampler_opened *opened =
		sampler_opened(session->sampler, session_first_together(session));
	const double asked_hz = opened->frequency_hz ? (double)opened->frequency_hz
				: opened->period ? (double)NS_PER_SECOND / (double)opened->period
						 : 0;
	snprintf(text, size, "%.0f samples per second instead of %.0f", asked_hz / set->fewer,
		 asked_hz);
}

/* "copies of 8192 bytes instead of 65528, 250 samples per second instead of 999" */
static void describe_set(const struct session *session, uint32_t set, char *text, size_t size)
{
	const struct sampler_sets *sets = sets_together(session);
	const struct sampler_set *was = &sets->items[session->foreseen_set];
	const struct sampler_set *is = &sets->items[set];
	size_t used = 0;
	text[0] = '\0';
	if (is->dump_bytes != was->dump_bytes)
		used = (size_t)snprintf(text, size, "copies of %u bytes instead of %u%s",
					is->dump_bytes, was->dump_bytes,
					is->fewer != was->fewer ? ", " : "");
	if (is->fewer != was->fewer && used < size)
		describe_rate(session, is, text + used, size - used);
}

void session_describe_sets(struct session *session, uint64_t now_ns)
{
	const uint64_t ns = now_ns > session->set_since_ns ? now_ns - session->set_since_ns : 0;
	for (size_t i = 0; i < session->sampling.nr_events; i++)
		session->set_ns[i][sampler_set_in_use(session->sampler, i)] += ns;
	session->set_since_ns = now_ns;
	const struct sampler_sets *sets = sets_together(session);
	if (!sets->nr)
		return;
	const size_t first = session_first_together(session);
	uint32_t cheapest = session->foreseen_set;
	uint64_t cheaper_ns = 0;
	for (uint32_t i = session->foreseen_set + 1; i < sets->nr; i++) {
		cheaper_ns += session->set_ns[first][i];
		if (session->set_ns[first][i] || i == sampler_set_in_use(session->sampler, first))
			cheapest = i;
	}
	if (cheapest == session->foreseen_set)
		return;
	char what[160], since[32] = "";
	describe_set(session, cheapest, what, sizeof(what));
	if (cheaper_ns >= NS_PER_SECOND / 20) /* else it has just begun */
		snprintf(since, sizeof(since), ", for %.1f s",
			 (double)cheaper_ns / (double)NS_PER_SECOND);
	snprintf(session->set_fallback, sizeof(session->set_fallback), "%s%s: %s", what, since,
		 session->least_set	 ? "as was asked for with <"
		 : session->budget.moved ? "--budget leaves no more"
					 : "the rings were filled faster than they could be read");
}

bool session_lower(struct session *session, char *what, size_t size)
{
	if (!session->sampler || session->phase != PHASE_RUNNING)
		return false;
	const struct sampler_sets *sets = sets_together(session);
	const uint32_t in_use =
		sampler_set_in_use(session->sampler, session_first_together(session));
	const uint32_t next = in_use < session->least_set ? session->least_set : in_use;
	if (next + 1 >= sets->nr)
		return false;
	session->least_set = next + 1;
	describe_set(session, session->least_set, what, size);
	session->next_set_ns = 0;
	session_adapt(session);
	return true;
}

static void settle(struct session *session, uint64_t now_ns)
{
	if (!session->settle_ns || now_ns < session->settle_ns)
		return;
	session->settle_ns = 0;
	if (session->on && !session->pausing)
		sampler_settle_sets(session->sampler);
	session->switching.until_ns = clock_now_ns();
	setup_set(&session->collector, &session->switching);
}

/* What the collector wants, where it makes sense. False: what there is. */
static bool take_wanted(const struct session *session, uint32_t *sets)
{
	bool differs = false;
	for (size_t i = 0; i < session->sampling.nr_events; i++) {
		const uint32_t in_use = sampler_set_in_use(session->sampler, i);
		const bool paced = sampler_opened(session->sampler, i)->paced;
		sets[i] = atomic_load(&session->collector.status->wanted_sets[i]);
		if (sets[i] >= sampler_sets(session->sampler, paced)->nr)
			sets[i] = in_use;
		const uint32_t last = sampler_sets(session->sampler, paced)->nr - 1;
		uint32_t least = paced ? 0 : session->least_set;
		if (session->budget.least_set > least)
			least = session->budget.least_set;
		if (sets[i] < least)
			sets[i] = least < last ? least : last;
		differs |= sets[i] != in_use;
	}
	return differs;
}

void session_adapt(struct session *session)
{
	uint32_t wanted[SAMPLER_MAX_EVENTS];
	if (!session->sampler || session->phase != PHASE_RUNNING)
		return;
	const uint64_t now_ns = clock_now_ns();
	settle(session, now_ns);
	if (now_ns < session->next_set_ns || !session->collector.channel ||
	    channel_waiting(session->collector.channel) || !take_wanted(session, wanted))
		return;
	/* The collector knows before it happens; if this cannot be sent now it is sent again, or to its successor. */
	session->switching = (struct message_set){.since_ns = now_ns, .until_ns = UINT64_MAX};
	for (size_t i = 0; i < session->sampling.nr_events; i++)
		session->switching.sets[i] = (uint8_t)wanted[i];
	if (setup_set(&session->collector, &session->switching))
		return;
	session_describe_sets(session, now_ns);
	sampler_use_sets(session->sampler, wanted, session->on && !session->pausing);
	const uint64_t done_ns = clock_now_ns(), pause_ns = PAUSE_TIMES * (done_ns - now_ns);
	session->next_set_ns = done_ns + (pause_ns > PAUSE_NS ? pause_ns : PAUSE_NS);
	session->settle_ns = session->next_set_ns + SETTLE_NS;
	session_describe_sets(session, now_ns);
}
