/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>

/*
 * A clock event interrupts the target: below some period the target does nothing
 * else. The guard measures, on ctop's own thread, what one sample costs, and keeps the
 * period so long that sampling takes at most --max-overhead percent of the target's time.
 */

/* Without a measurement. */
static const uint64_t FLOOR_NS = 200000;
/* The kernel's timer goes no faster, but calls each sample's period what was asked for. */
static const uint64_t KERNEL_FLOOR_NS = 10000;
/* The calibration: slices of work without and with an event of this period, 40 ms in all. */
static const uint64_t CALIBRATION_PERIOD_NS = 50000;
static const uint64_t SLICE_NS = 2 * NS_PER_MS;
enum { NR_PAIRS = 10, THIRD_BEST = 2 };
/* For a budget, to which a tenth more or less is no matter: 16 ms. */
enum { NR_PAIRS_ROUGHLY = 4 };
/* No sample costs more, so that nothing has to be measured where the period leaves that much for one. */
static const uint64_t MOST_COST_NS = 100000;
/* Our loop has nothing in the caches that a sample could displace; a target has. */
static const double MORE_FOR_THE_TARGET = 1.2;
/* Below this a measurement is noise. */
static const uint64_t LEAST_COST_NS = 1000;
/* A frame for the dump to copy, as deep as dumps go. */
enum { FRAME_BYTES = 65536 };
/*
 * The ring: large enough that its memory is not near the CPU, as that of the rings to come won't be; small
 * where locked memory is scarce.
 */
enum { RING_PAGES = 512, SMALL_RING_PAGES = 32 };

/* ---- what one sample costs ---- */

/* Interrupts count in it, others who use the CPU don't. */
static uint64_t thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* Units of work done in a slice of our own CPU time. */
static uint64_t work_in_slice(void)
{
	uint64_t until_ns = thread_cpu_ns() + SLICE_NS, units = 0;
	while (thread_cpu_ns() < until_ns)
		units++;
	return units;
}

static int compare_falling(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;
	return (*left < *right) - (*left > *right);
}

/*
 * Slices alternate, so that a change of the CPU's speed meets both kinds. Of each kind the third best
 * counts: the others may have met a neighbour who uses the same caches, the best was lucky.
 */
static uint64_t cost_with(int fd, size_t nr_pairs)
{
	uint64_t units_without[NR_PAIRS], units_with[NR_PAIRS];
	for (size_t i = 0; i < nr_pairs; i++) {
		units_without[i] = work_in_slice();
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return 0;
		units_with[i] = work_in_slice();
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	qsort(units_without, nr_pairs, sizeof(*units_without), compare_falling);
	qsort(units_with, nr_pairs, sizeof(*units_with), compare_falling);
	uint64_t without = units_without[THIRD_BEST], with = units_with[THIRD_BEST];
	if (!without || with >= without)
		return LEAST_COST_NS;
	double fraction = (double)(without - with) / (double)without;
	uint64_t cost_ns =
		(uint64_t)(fraction * (double)CALIBRATION_PERIOD_NS * MORE_FOR_THE_TARGET);
	return cost_ns > LEAST_COST_NS ? cost_ns : LEAST_COST_NS;
}

/* What one sample costs here, dump included; 0 when it cannot be measured. */
static __attribute__((noinline)) uint64_t calibrate(struct perf_event_attr attr, size_t nr_pairs)
{
	volatile char frame[FRAME_BYTES];
	for (size_t i = 0; i < sizeof(frame); i += 4096)
		frame[i] = 1;
	attr.sample_period = CALIBRATION_PERIOD_NS;
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	attr.exclude_idle = 0;
	int fd = perf_open(&attr, 0, -1);
	if (fd < 0)
		return 0;
	/* Read-only: the kernel overwrites, so that the ring never runs full. */
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (RING_PAGES + 1) * page;
	struct privilege_before before = privilege_raise(PRIVILEGE_LOCK);
	void *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		bytes = (SMALL_RING_PAGES + 1) * page;
		ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	}
	privilege_restore(&before);
	uint64_t cost_ns = ring == MAP_FAILED ? 0 : cost_with(fd, nr_pairs);
	if (ring != MAP_FAILED)
		munmap(ring, bytes);
	close(fd);
	(void)frame[0];
	return cost_ns;
}

/* ---- the periods ---- */

int guard_ask_periods(struct sampler *sampler, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	long most = machine_sysctl("kernel/perf_event_max_sample_rate", 100000);
	if (most < 1)
		most = 1;
	uint64_t fastest = 0;
	for (size_t i = 0; i < options->nr_events; i++)
		if (!sampler_asked_count(sampler, i) && sampler_asked_hz(sampler, i) > fastest)
			fastest = sampler_asked_hz(sampler, i);
	if (fastest > (uint64_t)most) {
		int failed = sampler_note_fallback(
			sampler, error,
			"%ld samples per second instead of %llu: the kernel allows no more "
			"(kernel.perf_event_max_sample_rate, which it lowers when sampling takes "
			"too long)",
			most, (unsigned long long)fastest);
		if (failed)
			return failed;
	}
	for (size_t i = 0; i < options->nr_events; i++) {
		struct sampler_opened *opened = &sampler->opened[i];
		bool assumed;
		const char *source;
		const uint64_t count = sampler_asked_count(sampler, i);
		const uint64_t hz = sampler_asked_hz(sampler, i);
		opened->period = count;
		opened->frequency_hz = count ? 0 : hz < (uint64_t)most ? hz : (uint64_t)most;
		if (sampler->events[i].clock && !count) {
			/* The clocks' frequency is a period: nothing has to be found out by trying. */
			opened->period = NS_PER_SECOND / opened->frequency_hz;
			opened->frequency_hz = 0;
		} else if (sampler->stands_in[i] && count) {
			opened->period = event_cycles_to_ns(count, &assumed, &source);
		}
	}
	return 0;
}

/* What was asked for, for a fallback's sentence: "1000.0 us", "40 ns", "1000 cycles (0.33 us by cpufreq)". */
static void describe_asked(const struct sampler *sampler, size_t index, char *text, size_t size)
{
	uint64_t count = sampler_asked_count(sampler, index);
	if (!count || !sampler->stands_in[index]) {
		uint64_t period_ns = sampler->opened[index].period;
		if (period_ns < 1000)
			snprintf(text, size, "%llu ns", (unsigned long long)period_ns);
		else
			snprintf(text, size, "%.1f us", (double)period_ns / 1e3);
		return;
	}
	bool assumed;
	const char *source;
	uint64_t ns = event_cycles_to_ns(count, &assumed, &source);
	snprintf(text, size, "%llu cycles (%.2f us by %s)", (unsigned long long)count,
		 (double)ns / 1e3, source);
}

/* Raises a clock's period to what the guard and the kernel allow. */
static int limit_clock(struct sampler *sampler, size_t index, uint64_t cost_ns, uint32_t percent,
		       struct error *error)
{
	uint64_t *period = &sampler->opened[index].period;
	uint64_t least_ns = !percent ? 0 : cost_ns ? cost_ns * 100 / percent : FLOOR_NS;
	char asked[128];
	describe_asked(sampler, index, asked, sizeof(asked));
	if (*period < least_ns && least_ns >= KERNEL_FLOOR_NS) {
		*period = least_ns;
		if (!cost_ns)
			return sampler_note_event_fallback(
				sampler, index, error,
				"a sample each %.1f us instead of %s: what one "
				"costs here could not be measured",
				(double)least_ns / 1e3, asked);
		return sampler_note_event_fallback(
			sampler, index, error,
			"a sample each %.1f us instead of %s: one costs %.1f us, "
			"and --max-overhead leaves %u %% of the time",
			(double)least_ns / 1e3, asked, (double)cost_ns / 1e3, percent);
	}
	if (*period < KERNEL_FLOOR_NS) {
		*period = KERNEL_FLOOR_NS;
		return sampler_note_event_fallback(
			sampler, index, error,
			"a sample each %.1f us instead of %s: the kernel's timer "
			"goes no faster",
			(double)KERNEL_FLOOR_NS / 1e3, asked);
	}
	if (sampler_asked_count(sampler, index) && sampler->stands_in[index])
		return sampler_note_event_fallback(sampler, index, error,
						   "a sample each %.1f us of time for %s",
						   (double)*period / 1e3, asked);
	return 0;
}

static uint64_t shortest_ns(const struct sampler *sampler)
{
	uint64_t shortest = UINT64_MAX / 100;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		if (sampler->events[i].clock && sampler->opened[i].period < shortest)
			shortest = sampler->opened[i].period;
	return shortest;
}

int guard_limit_periods(struct sampler *sampler, struct error *error)
{
	size_t nr = sampler->options.nr_events;
	uint32_t nr_clocks = 0, percent = sampler->options.max_overhead_percent;
	size_t clock = nr;
	for (size_t i = 0; i < nr; i++) {
		if (!sampler->events[i].clock)
			continue;
		nr_clocks++;
		clock = i;
	}
	if (!nr_clocks)
		return 0;
	/* The clocks share the allowance; one sample costs the same for each. */
	uint32_t share = percent && percent < nr_clocks ? 1 : percent / nr_clocks;
	if (share && shortest_ns(sampler) * share / 100 >= MOST_COST_NS)
		share = 0;
	uint64_t cost_ns = share ? calibrate(sampler->attrs[clock], NR_PAIRS) : 0;
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++)
		if (sampler->events[i].clock)
			result = limit_clock(sampler, i, cost_ns, share, error);
	return result;
}

/* ---- what a budget is spent on ---- */

/* The samples of whatever event cost as those of a clock. */
static uint64_t cost_with_copies(const struct sampler *sampler, uint32_t bytes)
{
	struct perf_event_attr attr = sampler->attrs[0];
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.config1 = attr.config2 = 0;
	attr.bp_type = 0;
	attr.precise_ip = 0;
	attr.freq = 0;
	attr.exclude_user = 0;
	if (attr.sample_stack_user)
		attr.sample_stack_user = bytes;
	return calibrate(attr, NR_PAIRS_ROUGHLY);
}

int guard_measure_costs(struct sampler *sampler, uint32_t small_bytes, struct error *error)
{
	if (!(sampler->options.budget_share > 0))
		return 0;
	sampler->cost_ns = cost_with_copies(sampler, sampler->dump_bytes);
	const bool differ = small_bytes != sampler->dump_bytes && sampler->cost_ns;
	sampler->small_cost_ns = differ ? cost_with_copies(sampler, small_bytes) : sampler->cost_ns;
	/* Two measurements, each with its error. */
	if (sampler->small_cost_ns > sampler->cost_ns)
		sampler->small_cost_ns = sampler->cost_ns;
	if (sampler->small_cost_ns)
		return 0;
	sampler->cost_ns = sampler->small_cost_ns = MOST_COST_NS;
	return sampler_note_fallback(sampler, error,
				     "what a sample costs could not be measured: of --budget each "
				     "takes %.0f us",
				     (double)MOST_COST_NS / 1e3);
}

/* ---- what ctop may keep the rate of itself ---- */

/* These tracepoints count time: one hit is many events, of each of which there would be a sample. */
static bool counts_time(const struct event *event)
{
	static const char sched_stat[] = "sched:sched_stat_";
	return strncmp(event->asked, sched_stat, sizeof(sched_stat) - 1) == 0;
}

/* What hits, and has no clock or counter that the kernel could set to a rate. A group is switched as a whole. */
bool guard_may_pace(const struct sampler *sampler, size_t index)
{
	const struct event *event = &sampler->options.events[index];
	const bool hits = event->type == PERF_TYPE_SOFTWARE ||
			  event->type == PERF_TYPE_TRACEPOINT ||
			  event->type == PERF_TYPE_BREAKPOINT || event->probe[0];
	return sampler->options.adapts && !sampler_asked_count(sampler, index) && hits &&
	       !event->clock && !event->group && !counts_time(event);
}
