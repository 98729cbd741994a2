/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/clock.h>

/*
 * A clock event interrupts the target: below some period the target does nothing
 * else. The guard measures, on ctop's own thread, what one sample costs, and keeps the
 * period so long that sampling takes at most --max-overhead percent of the target's time.
 */

/* Without a measurement. */
static const uint64_t FLOOR_NS = 200000;
/* The calibration: slices of work with and without an event of this period. */
static const uint64_t CALIBRATION_PERIOD_NS = 100000;
static const uint64_t SLICE_NS = 3 * NS_PER_MS;
enum { NR_SLICES = 5 };
/* Below this a measurement is noise. */
static const uint64_t LEAST_COST_NS = 1000;
/* A frame for the dump to copy, as deep as dumps go. */
enum { FRAME_BYTES = 65536, RING_PAGES = 32 };

/* Units of work done in a slice of our own CPU time. */
static uint64_t work_in_slice(void)
{
	uint64_t until_ns = clock_now_ns() + SLICE_NS, units = 0;
	while (clock_now_ns() < until_ns)
		units++;
	return units;
}

/* The most work that any of the slices got done: the others shared the CPU with somebody. */
static uint64_t most_work(int fd)
{
	uint64_t most = 0;
	if (fd >= 0)
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < NR_SLICES; i++) {
		uint64_t units = work_in_slice();
		if (units > most)
			most = units;
	}
	if (fd >= 0)
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return most;
}

static uint64_t cost_with(int fd)
{
	uint64_t without = most_work(-1), with = most_work(fd);
	if (!without || with >= without)
		return LEAST_COST_NS;
	double fraction = (double)(without - with) / (double)without;
	uint64_t cost_ns = (uint64_t)(fraction * (double)CALIBRATION_PERIOD_NS);
	return cost_ns > LEAST_COST_NS ? cost_ns : LEAST_COST_NS;
}

/* What one sample costs here, dump included; 0 when it cannot be measured. At most 50 ms. */
static __attribute__((noinline)) uint64_t calibrate(const struct sampler *sampler, size_t index)
{
	volatile char frame[FRAME_BYTES];
	for (size_t i = 0; i < sizeof(frame); i += 4096)
		frame[i] = 1;
	struct perf_event_attr attr = sampler->attrs[index];
	attr.freq = 0;
	attr.sample_period = CALIBRATION_PERIOD_NS;
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	attr.exclude_idle = 0;
	int fd = perf_open(&attr, 0, -1);
	if (fd < 0)
		return 0;
	size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	/* Read-only: the kernel overwrites, so that the ring never runs full. */
	void *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	uint64_t cost_ns = ring == MAP_FAILED ? 0 : cost_with(fd);
	if (ring != MAP_FAILED)
		munmap(ring, bytes);
	close(fd);
	(void)frame[0];
	return cost_ns;
}

/* The shortest period of a clock event that the guard allows; 0: any. */
static uint64_t shortest_ns(const struct sampler *sampler, size_t index, bool *measured)
{
	uint32_t percent = sampler->options.max_overhead_percent;
	*measured = false;
	if (!percent)
		return 0;
	uint64_t cost_ns = calibrate(sampler, index);
	*measured = cost_ns != 0;
	return cost_ns ? cost_ns * 100 / percent : FLOOR_NS;
}

static int choose_clock_period(struct sampler *sampler, size_t index, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	struct sampler_opened *opened = &sampler->opened[index];
	uint64_t asked_ns = options->count ? options->count : NS_PER_SECOND / options->frequency_hz;
	char asked[128];
	snprintf(asked, sizeof(asked), "%.1f us", (double)asked_ns / 1e3);
	if (options->count && sampler->stands_in[index]) {
		bool assumed;
		const char *source;
		asked_ns = event_cycles_to_ns(options->count, &assumed, &source);
		snprintf(asked, sizeof(asked), "%llu cycles, %.2f us by %s",
			 (unsigned long long)options->count, (double)asked_ns / 1e3, source);
	}
	bool measured;
	opened->period = asked_ns;
	ladder_fill_attr(sampler, index);
	uint64_t least_ns = shortest_ns(sampler, index, &measured);
	int result = 0;
	if (asked_ns < least_ns) {
		opened->period = least_ns;
		result = sampler_note_step(
			sampler, error,
			"a sample each %.1f us instead of %s: one costs %s%.1f us, and "
			"--max-overhead is %u %%",
			(double)least_ns / 1e3, asked, measured ? "" : "an assumed ",
			(double)least_ns * options->max_overhead_percent / 1e5,
			options->max_overhead_percent);
	} else if (options->count && sampler->stands_in[index]) {
		result = sampler_note_step(sampler, error, "a sample each %.1f us of time for %s",
					   (double)asked_ns / 1e3, asked);
	}
	return result;
}

static int check_frequency(const struct sampler *sampler, struct error *error)
{
	long most = machine_sysctl("kernel/perf_event_max_sample_rate", 100000);
	if (sampler->options.count || sampler->options.frequency_hz <= (uint64_t)most)
		return 0;
	error_set(error, -EINVAL, "the kernel allows at most %ld samples a second, not %llu", most,
		  (unsigned long long)sampler->options.frequency_hz);
	error_remedy(error,
		     "ask for less with -F, or: sudo sysctl kernel.perf_event_max_sample_rate=%llu "
		     "(the kernel lowers it when sampling takes too long)",
		     (unsigned long long)sampler->options.frequency_hz);
	return -EINVAL;
}

int guard_choose_periods(struct sampler *sampler, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	int result = check_frequency(sampler, error);
	for (size_t i = 0; !result && i < options->nr_events; i++) {
		struct sampler_opened *opened = &sampler->opened[i];
		if (sampler->events[i].clock) {
			result = choose_clock_period(sampler, i, error);
		} else {
			opened->period = options->count;
			opened->frequency_hz = options->count ? 0 : options->frequency_hz;
		}
		ladder_fill_attr(sampler, i);
	}
	return result;
}
