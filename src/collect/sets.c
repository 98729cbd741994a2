/* SPDX-License-Identifier: MIT */
/*
 * Which set of the events the rings have room for. Whoever reads them sees first that they fill, and says so to
 * main, who has the events; and it knows what came since its last look, which would be more by the other set's copies and rate.
 *
 * While main switches, an event is in both sets for a moment: what is sampled of the old one behind the new one's first
 * sample is counted already. So is, until it is switched off once more, that of a task forked in between.
 */
#include "internal.h"

#include <unistd.h>

#include <ctop/base/clock.h>

/* Who waits for main's answers leaves his records where they are: that is no want of room yet. */
enum { WAITING_PERCENT = 75 };
/* What stays below for so long, and longer each time that it did not hold, may become dearer. */
#define CALM_NS	     (2 * NS_PER_SECOND)
#define CALM_MOST_NS (64 * NS_PER_SECOND)
#define RELAPSE_NS   (10 * NS_PER_SECOND)
/* A sample beside its copy. */
enum { HEAD_BYTES = 512 };

void sets_begin(struct collector *collector)
{
	struct pressure *pressure = &collector->pressure;
	*pressure = (struct pressure){.calm_ns = CALM_NS, .nr_switches = 1};
	pressure->set =
		collector->config.set < collector->config.nr_sets ? collector->config.set : 0;
}

static uint64_t nr_lost(const struct collector *collector)
{
	return atomic_load_explicit(&collector->status->lost, memory_order_relaxed) +
	       collector->counts.lost;
}

void sets_use(struct collector *collector, const struct message_set *message)
{
	struct pressure *pressure = &collector->pressure;
	const uint64_t now_ns = clock_now_ns();
	const uint32_t set = message->set;
	pressure->switching_since_ns = message->since_ns;
	pressure->switching_until_ns = message->until_ns;
	if (set >= collector->config.nr_sets || set == pressure->set)
		return;
	if (set < pressure->set)
		pressure->dearer_since_ns = now_ns;
	pressure->set = set;
	pressure->nr_switches++;
	pressure->settles = true;
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
}

bool sets_are_switching(const struct collector *collector, uint64_t time_ns)
{
	const struct pressure *pressure = &collector->pressure;
	return time_ns >= pressure->switching_since_ns && time_ns < pressure->switching_until_ns;
}

bool sets_is_double(struct collector *collector, struct event_id *event)
{
	const struct pressure *pressure = &collector->pressure;
	if (collector->config.nr_sets < 2 || event->first >= collector->ids.nr)
		return false;
	struct event_id *first = &collector->ids.items[event->first];
	if (event->set == pressure->set)
		first->seen_switch = pressure->nr_switches;
	return event->set != pressure->set && first->seen_switch == pressure->nr_switches;
}

static void want(struct collector *collector, uint32_t set)
{
	static const uint64_t one = 1;
	atomic_store_explicit(&collector->status->wanted_set, set, memory_order_release);
	/* Full: main has not looked at the last one yet. */
	if (collector->to_main >= 0 && write(collector->to_main, &one, sizeof(one)) < 0)
		return;
}

/* How much more of a ring the set before would fill in the same time. */
static double growth(const struct message_config *config, uint32_t set)
{
	const struct sampler_set *dearer = &config->sets[set - 1], *now = &config->sets[set];
	const double more =
		(double)(dearer->dump_bytes + HEAD_BYTES) / (now->dump_bytes + HEAD_BYTES);
	return dearer->fewer ? more * now->fewer / dearer->fewer : more;
}

static void want_cheaper(struct collector *collector, double fill, uint64_t now_ns)
{
	struct pressure *pressure = &collector->pressure;
	const uint32_t last = collector->config.nr_sets - 1;
	if (pressure->dearer_since_ns && now_ns - pressure->dearer_since_ns < RELAPSE_NS &&
	    pressure->calm_ns < CALM_MOST_NS)
		pressure->calm_ns *= 2;
	pressure->dearer_since_ns = 0;
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
	if (pressure->set < last)
		want(collector, fill * 100 > WAITING_PERCENT ? last : pressure->set + 1);
}

static void want_dearer(struct collector *collector, uint64_t now_ns)
{
	struct pressure *pressure = &collector->pressure;
	const struct message_config *config = &collector->config;
	if (!pressure->calm_since_ns)
		pressure->calm_since_ns = now_ns;
	if (!pressure->set || now_ns - pressure->calm_since_ns < pressure->calm_ns)
		return;
	/* Half as much again: what was foreseen for the first set fills half of a ring by itself. */
	const double most = 1.5 * config->sets[pressure->set - 1].crowded_percent / 100;
	if (pressure->most_arrived * growth(config, pressure->set) < most)
		want(collector, pressure->set - 1);
	pressure->calm_since_ns = now_ns;
	pressure->most_arrived = 0;
}

void sets_look(struct collector *collector)
{
	struct pressure *pressure = &collector->pressure;
	const struct message_config *config = &collector->config;
	double fill = 0;
	if (config->nr_sets < 2 || collector->stopping || collector->pausing)
		return;
	for (size_t i = 0; i < collector->nr_rings; i++) {
		struct collector_ring *ring = &collector->rings[i];
		const double bytes = (double)ring->ring.data_bytes;
		const double arrived = (double)(ring->ring.head - ring->seen_head) / bytes;
		const double waits = (double)ring_waiting_bytes(&ring->ring) / bytes;
		ring->seen_head = ring->ring.head;
		fill = waits > fill ? waits : fill;
		if (arrived > pressure->most_arrived)
			pressure->most_arrived = arrived;
	}
	const uint64_t now_ns = clock_now_ns(), lost = nr_lost(collector);
	const bool has_lost = lost != pressure->lost;
	const uint32_t percent = config->sets[pressure->set].crowded_percent;
	const bool waits = collector->waiting && percent < WAITING_PERCENT;
	const bool crowded = fill * 100 > (waits ? WAITING_PERCENT : percent);
	pressure->lost = lost;
	/* What lies there right after a switch is still of the set before. */
	if (pressure->settles && crowded && fill * 100 <= WAITING_PERCENT)
		return;
	if (!crowded && pressure->settles)
		pressure->settles = false;
	else if (crowded || has_lost)
		want_cheaper(collector, fill, now_ns);
	else
		want_dearer(collector, now_ns);
}
