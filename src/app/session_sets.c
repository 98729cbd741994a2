/* SPDX-License-Identifier: MIT */
/* Smaller copies and fewer samples where the rings fill, and back: what the collector wants, main does. */
#include "session_internal.h"

#include <stdio.h>

#include <ctop/base/clock.h>

#include "session_setup.h"

/* Whatever a collector wants, tens of thousands of events are not switched for ever: a tenth of main's time at most. */
#define PAUSE_NS (20 * NS_PER_MS)
enum { PAUSE_TIMES = 9 };
#define SETTLE_NS (200 * NS_PER_MS)

static bool is_paced(const struct sampler *sampler)
{
	return sampler_set(sampler, sampler_nr_sets(sampler) - 1)->fewer > 1;
}

void session_begin_sets(struct session *session)
{
	if (!session->sampler)
		return;
	/* Where the machine was too busy to begin with what was asked for, that is a step, too. */
	session->foreseen_set =
		is_paced(session->sampler) ? 0 : sampler_set_in_use(session->sampler);
	session->set_since_ns = session->stats.start_ns;
	session_describe_sets(session, session->stats.start_ns);
}

static void describe_rate(const struct session *session, const struct sampler_set *set, char *text,
			  size_t size)
{
	const struct sampler_opened *opened = sampler_opened(session->sampler, 0);
	const double asked_hz = opened->frequency_hz ? (double)opened->frequency_hz
				: opened->period ? (double)NS_PER_SECOND / (double)opened->period
						 : 0;
	snprintf(text, size, "%.0f samples a second instead of %.0f", asked_hz / set->fewer,
		 asked_hz);
}

/* "copies of 8192 bytes instead of 65528, 250 samples a second instead of 999" */
static void describe_set(const struct session *session, size_t set, char *text, size_t size)
{
	const struct sampler_set *was = sampler_set(session->sampler, session->foreseen_set);
	const struct sampler_set *is = sampler_set(session->sampler, set);
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
	const size_t in_use = sampler_set_in_use(session->sampler);
	if (now_ns > session->set_since_ns)
		session->set_ns[in_use] += now_ns - session->set_since_ns;
	session->set_since_ns = now_ns;
	size_t cheapest = session->foreseen_set;
	uint64_t cheaper_ns = 0;
	for (size_t i = session->foreseen_set + 1; i < sampler_nr_sets(session->sampler); i++) {
		cheaper_ns += session->set_ns[i];
		if (session->set_ns[i] || i == in_use)
			cheapest = i;
	}
	if (cheapest == session->foreseen_set)
		return;
	char what[160];
	describe_set(session, cheapest, what, sizeof(what));
	snprintf(session->set_step, sizeof(session->set_step),
		 "%s, for %.1f s: the rings were filled faster than they could be read", what,
		 (double)cheaper_ns / (double)NS_PER_SECOND);
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

void session_adapt(struct session *session)
{
	if (!session->sampler || session->phase != PHASE_RUNNING)
		return;
	const uint32_t wanted = atomic_load(&session->collector.status->wanted_set);
	const uint64_t now_ns = clock_now_ns();
	settle(session, now_ns);
	if (wanted == sampler_set_in_use(session->sampler) ||
	    wanted >= sampler_nr_sets(session->sampler) || now_ns < session->next_set_ns ||
	    !session->collector.channel || channel_waiting(session->collector.channel))
		return;
	/* It knows before it happens; one that cannot be told now is told again, or its successor is. */
	session->switching = (struct message_set){wanted, now_ns, UINT64_MAX};
	if (setup_set(&session->collector, &session->switching))
		return;
	session_describe_sets(session, now_ns);
	sampler_use_set(session->sampler, wanted, session->on && !session->pausing);
	const uint64_t done_ns = clock_now_ns(), pause_ns = PAUSE_TIMES * (done_ns - now_ns);
	session->next_set_ns = done_ns + (pause_ns > PAUSE_NS ? pause_ns : PAUSE_NS);
	session->settle_ns = session->next_set_ns + SETTLE_NS;
	session_describe_sets(session, now_ns);
}
