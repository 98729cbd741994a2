/* SPDX-License-Identifier: MIT */
/*
 * Which set of the events the rings have room for, and of those that we pace, which gives the rate asked for (pace.h). Whoever reads them sees first that they fill, and says so to
 * main, who has the events; and it knows what came since its last look, which would be more by the other set's copies and rate.
 *
 * While main switches, an event is in both sets for a moment: what is sampled of the old one behind the new one's first
 * sample is counted already (that one may be of a hit that was counted, too: same_hit.c). So is, until it is switched off once more, that of a task forked in between.
 */
#include "sets.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>

#include "internal.h"
#include "pace.h"

/* Who waits for main's answers leaves his records where they are: that is no want of room yet. */
enum { WAITING_PERCENT = 75 };
/* What stays below for so long, and longer each time that it did not hold, may become dearer. */
#define CALM_NS	     (2 * NS_PER_SECOND)
#define CALM_MOST_NS (64 * NS_PER_SECOND)
#define RELAPSE_NS   (10 * NS_PER_SECOND)
/* A sample beside its copy. */
enum { HEAD_BYTES = 512 };
/* A pace that became dearer and could not stay so is left for longer the next time, up to so many windows. */
enum { PACE_CALM_WINDOWS_MAX = 16 };
/* Larger copies leave less room for a burst: they wait longer for calm than another period does. */
enum { COPIES_CALM = 4 };
#define PACE_RELAPSE_NS (2 * NS_PER_SECOND)

static void note_switch(struct event_pace *pace, uint32_t set, uint64_t since_ns)
{
	pace->set = set;
	pace->nr_switches++;
	pace->switches[pace->nr_switches % SWITCHES_KEPT].since_ns = since_ns;
	pace->switches[pace->nr_switches % SWITCHES_KEPT].set = set;
}

void sets_begin(struct collector *collector)
{
	struct pressure *pressure = &collector->sets.pressure;
	*pressure = (struct pressure){.calm_ns = CALM_NS};
	for (size_t i = 0; i < SAMPLER_MAX_EVENTS; i++) {
		collector->sets.paces[i] = (struct event_pace){0};
		note_switch(&collector->sets.paces[i], collector->config.in_use[i], 0);
	}
}

static size_t nr_events(const struct events *events)
{
	return events->named.nr < SAMPLER_MAX_EVENTS ? events->named.nr : SAMPLER_MAX_EVENTS;
}

static bool is_paced(const struct events *events, size_t event)
{
	return event < nr_events(events) && events->named.items[event].paced;
}

static const struct sampler_sets *sets_of(const struct collector *collector, size_t event)
{
	return &collector->config.sets[is_paced(&collector->events, event)];
}

bool sets_differ(const struct collector *collector, const struct event_id *event)
{
	return sets_of(collector, event->event)->nr > 1;
}

uint64_t sets_fewer(const struct collector *collector, const struct event_id *event)
{
	const struct sampler_sets *sets = sets_of(collector, event->event);
	return event->set < sets->nr ? sets->items[event->set].fewer : 1;
}

static uint64_t nr_lost(const struct collector *collector)
{
	return atomic_load_explicit(&collector->status->lost, memory_order_relaxed) +
	       collector->output.counts.lost;
}

/* The set in use of all that we do not pace: they are switched together. */
static uint32_t set_together(const struct collector *collector)
{
	size_t event = 0;
	while (event < nr_events(&collector->events) && is_paced(&collector->events, event))
		event++;
	const uint32_t set =
		event < nr_events(&collector->events) ? collector->sets.paces[event].set : 0;
	return set < collector->config.sets[false].nr ? set : 0;
}

static void use_together(struct pressure *pressure, bool is_dearer, uint64_t now_ns)
{
	if (is_dearer)
		pressure->dearer_since_ns = now_ns;
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
}

static double asked_hz(const struct events *events, size_t event)
{
	return (double)events->named.items[event].frequency_hz;
}

static void count_again(struct collector *collector, size_t event, uint64_t now_ns)
{
	collector->sets.paces[event].since_ns = now_ns;
	for (size_t i = 0; i < collector->source.nr_rings; i++)
		collector->source.rings[i].nr_seen[event] = 0;
}

static void use_pace(struct collector *collector, size_t event, bool is_dearer, uint64_t now_ns)
{
	struct event_pace *pace = &collector->sets.paces[event];
	const uint64_t window_ns = pace_window_ns(asked_hz(&collector->events, event));
	if (is_dearer) {
		pace->dearer_since_ns = now_ns;
	} else {
		const bool relapsed =
			pace->dearer_since_ns && now_ns - pace->dearer_since_ns < PACE_RELAPSE_NS;
		pace->calm_ns = !relapsed ? window_ns
				: pace->calm_ns < window_ns * PACE_CALM_WINDOWS_MAX
					? pace->calm_ns * 2
					: pace->calm_ns;
		pace->dearer_since_ns = 0;
	}
	count_again(collector, event, now_ns);
}

void sets_use(struct collector *collector, const struct message_set *message)
{
	struct pressure *pressure = &collector->sets.pressure;
	const uint64_t now_ns = clock_now_ns();
	pressure->switching_since_ns = message->since_ns;
	pressure->switching_until_ns = message->until_ns;
	const uint32_t together = set_together(collector);
	for (size_t i = 0; i < nr_events(&collector->events); i++) {
		struct event_pace *pace = &collector->sets.paces[i];
		const uint32_t set = message->sets[i], before = pace->set;
		if (set == before || set >= sets_of(collector, i)->nr)
			continue;
		note_switch(pace, set, message->since_ns);
		pressure->settles = true;
		if (is_paced(&collector->events, i))
			use_pace(collector, i, set < before, now_ns);
	}
	if (set_together(collector) != together)
		use_together(pressure, set_together(collector) < together, now_ns);
}

bool sets_are_switching(const struct sets *sets, uint64_t time_ns)
{
	const struct pressure *pressure = &sets->pressure;
	return time_ns >= pressure->switching_since_ns && time_ns < pressure->switching_until_ns;
}

/* The row that all sets of an event share; NULL: there is one set of it. */
static struct event_id *shared_row(const struct collector *collector, const struct event_id *event)
{
	if (event->event >= nr_events(&collector->events) || !sets_differ(collector, event) ||
	    event->first >= collector->events.ids.nr)
		return NULL;
	return &collector->events.ids.items[event->first];
}

/*
 * The number of the switch that a sample of that time comes behind: records are read late, and others may have followed. 0: longer ago than switches
 * are kept.
 */
static uint32_t switch_before(const struct event_pace *pace, uint64_t time_ns)
{
	const uint32_t last = pace->nr_switches;
	uint32_t kept = last < SWITCHES_KEPT ? last : SWITCHES_KEPT;
	uint32_t nr = last;
	for (; kept && pace->switches[nr % SWITCHES_KEPT].since_ns > time_ns; kept--)
		nr--;
	return kept ? nr : 0;
}

enum of_set { OF_SET_IN_USE, OF_ANOTHER_SET, OF_NO_KNOWN_SET };

/* Whether a sample of that time is of the set that was in use then; and the switch to it, and the row that notes who has seen it. */
static enum of_set set_of_sample(const struct collector *collector, const struct event_id *event,
				 uint64_t time_ns, struct event_id **shared, uint32_t *nr)
{
	const struct event_pace *pace = &collector->sets.paces[event->event];
	*shared = shared_row(collector, event);
	*nr = *shared ? switch_before(pace, time_ns) : 0;
	if (!*nr)
		return OF_NO_KNOWN_SET;
	return event->set == pace->switches[*nr % SWITCHES_KEPT].set ? OF_SET_IN_USE
								     : OF_ANOTHER_SET;
}

bool sets_is_first(const struct collector *collector, const struct event_id *event,
		   uint64_t time_ns)
{
	struct event_id *shared;
	uint32_t nr;
	return set_of_sample(collector, event, time_ns, &shared, &nr) == OF_SET_IN_USE &&
	       shared->seen_switch != nr;
}

bool sets_is_double(struct collector *collector, const struct event_id *event, uint64_t time_ns)
{
	struct event_id *shared;
	uint32_t nr;
	const enum of_set of = set_of_sample(collector, event, time_ns, &shared, &nr);
	if (of == OF_SET_IN_USE)
		shared->seen_switch = nr;
	return of == OF_ANOTHER_SET && shared->seen_switch == nr;
}

static void want(struct child_status *status, size_t event, uint32_t set)
{
	atomic_store_explicit(&status->wanted_sets[event], set, memory_order_release);
}

static void tell_main(const struct collector *collector)
{
	static const uint64_t one = 1;
	/* Full: main has not looked at the last one yet. */
	if (collector->to_main >= 0 && write(collector->to_main, &one, sizeof(one)) < 0)
		return;
}

/* All but those that we pace. */
static void want_together(struct collector *collector, uint32_t set)
{
	for (size_t i = 0; i < nr_events(&collector->events); i++)
		if (!is_paced(&collector->events, i))
			want(collector->status, i, set);
	tell_main(collector);
}

/* How much more of a ring the set before would fill in the same time. */
static double growth(const struct sampler_sets *sets, uint32_t set)
{
	const struct sampler_set *dearer = &sets->items[set - 1], *now = &sets->items[set];
	const double more =
		(double)(dearer->dump_bytes + HEAD_BYTES) / (now->dump_bytes + HEAD_BYTES);
	return dearer->fewer ? more * now->fewer / dearer->fewer : more;
}

static void want_cheaper(struct collector *collector, double fill, uint64_t now_ns)
{
	struct pressure *pressure = &collector->sets.pressure;
	const uint32_t last = collector->config.sets[false].nr - 1, set = set_together(collector);
	if (pressure->dearer_since_ns && now_ns - pressure->dearer_since_ns < RELAPSE_NS &&
	    pressure->calm_ns < CALM_MOST_NS)
		pressure->calm_ns *= 2;
	pressure->dearer_since_ns = 0;
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
	if (set < last)
		want_together(collector, fill * 100 > WAITING_PERCENT ? last : set + 1);
}

static void want_dearer(struct collector *collector, uint64_t now_ns)
{
	struct pressure *pressure = &collector->sets.pressure;
	const struct sampler_sets *sets = &collector->config.sets[false];
	const uint32_t set = set_together(collector);
	if (!pressure->calm_since_ns)
		pressure->calm_since_ns = now_ns;
	if (!set || now_ns - pressure->calm_since_ns < pressure->calm_ns)
		return;
	/* Half as much again: what was foreseen for the first set fills half of a ring by itself. */
	const double most = 1.5 * sets->items[set - 1].crowded_percent / 100;
	if (pressure->most_arrived * growth(sets, set) < most)
		want_together(collector, set - 1);
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
}

/* ---- what came since the last look ---- */

struct look {
	double fill, arrived; /* of a ring: the most that waits, and that is new */
	bool has_lost;
	/* Most of what fills the rings is of events that we pace, and most of that of this one. */
	bool is_paced;
	size_t paced_most;
};

/* Whose samples arrived, before they are read: a burst fills the ring first. */
static void count_arrived(struct collector *collector, struct collector_ring *ring)
{
	uint64_t at = ring->seen_head > ring->ring.tail ? ring->seen_head : ring->ring.tail;
	uint64_t id, size;
	uint32_t type;
	while ((size = ring_look_ahead(&ring->ring, at, &type, &id))) {
		at += size;
		const struct event_id *event =
			type == PERF_RECORD_SAMPLE ? events_find(&collector->events, id) : NULL;
		if (!event || !is_paced(&collector->events, event->event))
			continue;
		collector->sets.pressure.paced_bytes[event->event] += size;
		if (event->set == collector->sets.paces[event->event].set)
			ring->nr_seen[event->event]++;
	}
}

static struct look look_at_rings(struct collector *collector)
{
	struct look look = {0};
	struct pressure *pressure = &collector->sets.pressure;
	uint64_t paced_bytes = 0;
	for (size_t i = 0; i < collector->source.nr_rings; i++) {
		struct collector_ring *ring = &collector->source.rings[i];
		if (ring->cpu == WAIT_RING_CPU)
			continue;
		const double bytes = (double)ring->ring.data_bytes;
		const double arrived = (double)(ring->ring.head - ring->seen_head) / bytes;
		const double waits = (double)ring_waiting_bytes(&ring->ring) / bytes;
		if (collector->events.any_paced)
			count_arrived(collector, ring);
		pressure->bytes += ring->ring.head - ring->seen_head;
		ring->seen_head = ring->ring.head;
		look.fill = waits > look.fill ? waits : look.fill;
		look.arrived = arrived > look.arrived ? arrived : look.arrived;
	}
	for (size_t i = 0; i < nr_events(&collector->events); i++) {
		paced_bytes += pressure->paced_bytes[i];
		if (pressure->paced_bytes[i] > pressure->paced_bytes[look.paced_most])
			look.paced_most = i;
	}
	look.is_paced = paced_bytes > pressure->bytes / 2;
	const uint64_t lost = nr_lost(collector);
	look.has_lost = lost != pressure->lost;
	pressure->lost = lost;
	return look;
}

/* The dearer set has the same period. */
static bool varies_copies(const struct sampler_sets *sets, uint32_t set)
{
	return set && set < sets->nr && sets->items[set - 1].fewer == sets->items[set].fewer;
}

static void look_at_pace(struct collector *collector, size_t event, double fill, uint64_t now_ns)
{
	struct event_pace *pace = &collector->sets.paces[event];
	const struct sampler_sets *sets = &collector->config.sets[true];
	/* A command that is held yet shows nothing of what it will do. */
	if (!pace->since_ns && collector->sets.pressure.bytes)
		pace->since_ns = collector->sets.pressure.looked_ns;
	if (!pace->since_ns)
		return;
	const uint64_t window_ns = pace_window_ns(asked_hz(&collector->events, event));
	const uint64_t calm_ns = pace->calm_ns > window_ns ? pace->calm_ns : window_ns;
	struct pace_seen seen = {
		.asked_hz = asked_hz(&collector->events, event),
		.ns = now_ns - pace->since_ns,
		.calm_ns = varies_copies(sets, pace->set) ? COPIES_CALM * calm_ns : calm_ns,
		.fill = fill,
	};
	for (size_t i = 0; i < collector->source.nr_rings; i++)
		if (collector->source.rings[i].nr_seen[event] > seen.nr)
			seen.nr = collector->source.rings[i].nr_seen[event];
	const uint32_t next = pace_next(sets, pace->set, &seen);
	want(collector->status, event, next);
	if (next != pace->set)
		tell_main(collector);
	else if (seen.ns >= (pace->set ? seen.calm_ns : window_ns))
		count_again(collector, event, now_ns);
}

void sets_look(struct collector *collector)
{
	struct pressure *pressure = &collector->sets.pressure;
	const struct sampler_sets *sets = &collector->config.sets[false];
	if ((sets->nr < 2 && !collector->events.any_paced) || collector->stopping ||
	    collector->pausing)
		return;
	const struct look look = look_at_rings(collector);
	const uint64_t now_ns = clock_now_ns();
	const bool is_full = look.fill * 100 > WAITING_PERCENT;
	/* Who fills the rings is to be cheaper: one event that we pace, or all others. */
	const uint32_t percent = look.is_paced || !sets->nr
					 ? collector->config.sets[true].items[0].crowded_percent
					 : sets->items[set_together(collector)].crowded_percent;
	const bool crowded = look.fill * 100 > (collector->waiting ? WAITING_PERCENT : percent);
	/* What lies there right after a switch is still of the set before. */
	const bool settles = pressure->settles;
	const bool matters = crowded || look.has_lost;
	for (size_t i = 0; i < nr_events(&collector->events); i++)
		if (is_paced(&collector->events, i))
			look_at_pace(collector, i,
				     matters && !settles && look.is_paced && i == look.paced_most
					     ? (look.has_lost ? 1 : look.fill)
					     : 0,
				     now_ns);
	pressure->looked_ns = now_ns;
	if (!crowded) {
		pressure->settles = false;
		pressure->bytes = 0;
		memset(pressure->paced_bytes, 0, sizeof(pressure->paced_bytes));
	}
	if (look.arrived > pressure->most_arrived)
		pressure->most_arrived = look.arrived;
	if (sets->nr < 2 || (settles && !is_full))
		return;
	if (!matters)
		want_dearer(collector, now_ns);
	else if (!look.is_paced)
		want_cheaper(collector, look.fill, now_ns);
}
