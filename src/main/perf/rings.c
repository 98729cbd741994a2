/* SPDX-License-Identifier: MIT */
#include "sampler_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

/*
 * 8 MiB per CPU: 100 ms of 64 KiB dumps at 1 kHz. Whole CPUs have everybody's samples from the first moment on, while
 * everybody's modules are still to be read, and of an event that nobody paces thousands may come in some ms: there it is four
 * times as much, as long as all rings together stay small.
 */
enum { DEFAULT_PAGES = 2048, WHOLE_CPU_PAGES = 8192, LEAST_PAGES = 8 };
#define WHOLE_CPUS_BYTES (UINT64_C(128) << 20)
/* The kernel tells of each quarter of a ring. */
enum { WATERMARKS = 4 };
/* A sample beside its dump: header, registers, the kernel's callchain. */
enum { SAMPLE_HEAD_BYTES = 512 };

static uint64_t pages_bytes(uint32_t pages)
{
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of a mapping: the page of heads and tails, then the data. */
static size_t ring_bytes(uint32_t pages)
{
	return (size_t)pages_bytes(pages + 1);
}

static uint64_t data_bytes(const struct sampler *sampler)
{
	return pages_bytes(sampler->ring_pages);
}

static void unmap_all(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		if (sampler->mappings[i])
			munmap(sampler->mappings[i], ring_bytes(sampler->ring_pages));
		sampler->mappings[i] = NULL;
	}
}

static void close_owners(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		if (sampler->rings[i].fd >= 0)
			close(sampler->rings[i].fd);
		sampler->rings[i].fd = -1;
	}
}

/* Opens and maps every ring at the size in sampler->ring_pages. 0 or -errno, then nothing is open; -EDQUOT: too large. */
static int try_size(struct sampler *sampler)
{
	int result = 0;
	for (size_t i = 0; !result && i < sampler->nr_rings; i++) {
		struct sampler_ring *ring = &sampler->rings[i];
		ring->fd = perf_open_ring_owner(
			ring->cpu, (uint32_t)(ring_bytes(sampler->ring_pages) / WATERMARKS));
		if (ring->fd < 0) {
			result = ring->fd;
			break;
		}
		struct privilege_before before = privilege_raise(PRIVILEGE_LOCK);
		void *memory = mmap(NULL, ring_bytes(sampler->ring_pages), PROT_READ | PROT_WRITE,
				    MAP_SHARED, ring->fd, 0);
		privilege_restore(&before);
		/* Too much locked memory is EPERM, as is what a filter says to an open. */
		if (memory == MAP_FAILED)
			result = errno == EPERM ? -EDQUOT : -errno;
		else
			sampler->mappings[i] = memory;
	}
	if (result) {
		unmap_all(sampler);
		close_owners(sampler);
	}
	return result;
}

static bool has_ring(const struct sampler *sampler, int32_t cpu)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->rings[i].cpu == cpu)
			return true;
	return false;
}

/* The list of CPUs to sample on, one ring each. */
static int list_cpus(struct sampler *sampler)
{
	int32_t *online = NULL;
	const int32_t *cpus = sampler->options.cpus;
	size_t nr = sampler->options.nr_cpus;
	if (!nr) {
		int result = machine_online_cpus(&online, &nr);
		if (result)
			return result;
		cpus = online;
	}
	sampler->rings = calloc(nr, sizeof(*sampler->rings));
	sampler->mappings = calloc(nr, sizeof(*sampler->mappings));
	for (size_t i = 0; sampler->rings && sampler->mappings && i < nr; i++)
		if (!has_ring(sampler, cpus[i]))
			sampler->rings[sampler->nr_rings++] =
				(struct sampler_ring){.cpu = cpus[i], .fd = -1};
	free(online);
	return sampler->nr_rings ? 0 : -ENOMEM;
}

/* -1: all were online just now. */
static int32_t first_offline(const struct sampler *sampler)
{
	int32_t *online, cpu = -1;
	size_t nr;
	if (machine_online_cpus(&online, &nr))
		return -1;
	for (size_t i = 0; cpu < 0 && i < sampler->nr_rings; i++) {
		size_t at = 0;
		while (at < nr && online[at] != sampler->rings[i].cpu)
			at++;
		if (at == nr)
			cpu = sampler->rings[i].cpu;
	}
	free(online);
	return cpu;
}

/* A counter of the CPU counts about once a cycle at most, and the kernel holds back what is too fast. */
static bool counts_on_cpu(const struct event *event)
{
	return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_RAW;
}

static bool knows_rate(const struct sampler *sampler, size_t event)
{
	const struct event *asked = &sampler->options.events[event];
	return !sampler_asked_count(sampler, event) || asked->clock || counts_on_cpu(asked);
}

uint64_t rings_hold(const struct sampler *sampler, uint32_t dump_bytes)
{
	return data_bytes(sampler) / (dump_bytes + SAMPLE_HEAD_BYTES);
}

bool rings_may_overflow(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		if (!knows_rate(sampler, i))
			return true;
	return false;
}

static uint32_t default_pages(const struct sampler *sampler)
{
	uint32_t pages = DEFAULT_PAGES;
	bool any = sampler->options.system_wide || rings_may_overflow(sampler);
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		any |= guard_may_pace(sampler, i);
	if (any && machine_may_lock())
		while (pages < WHOLE_CPU_PAGES &&
		       sampler->nr_rings * 2 * pages_bytes(pages) <= WHOLE_CPUS_BYTES)
			pages *= 2;
	return pages;
}

int rings_open(struct sampler *sampler, struct error *error)
{
	int result = list_cpus(sampler);
	if (result)
		return error_set(error, result, "cannot list the CPUs: %s", strerror(-result));
	const uint32_t asked =
		sampler->options.ring_pages ? sampler->options.ring_pages : default_pages(sampler);
	sampler->ring_pages = asked;
	while ((result = try_size(sampler)) == -EDQUOT && sampler->ring_pages > LEAST_PAGES)
		sampler->ring_pages /= 2;
	if (result == -EINVAL || result == -ENODEV) {
		const int32_t cpu = first_offline(sampler);
		if (cpu < 0)
			error_set(error, result, "one of the CPUs asked for is not online");
		else
			error_set(error, result, "CPU %d is not online", cpu);
		return error_remedy(error, "/sys/devices/system/cpu/online lists those that are");
	}
	if (result == -EDQUOT) {
		error_set(error, result, "RLIMIT_MEMLOCK reached");
		return error_remedy(error, "raise it (" PERMISSION_RAISE_LOCKED
					   "), or end other profilers");
	}
	if (result == -EACCES || result == -EPERM || result == -ENOSYS)
		return advise_ring(result, error);
	if (result) {
		error_set(error, result, "cannot create the kernel's rings: %s", strerror(-result));
		return error_remedy(error, "try smaller ones: -m 64");
	}
	/* While the rings are mapped: what they need of the locked memory stays theirs. */
	sideband_open(sampler);
	switches_open(sampler);
	/*
	 * A mapping of main's keeps the ring when the collector dies, and lets the collector, who is
	 * nobody and has no capability, map it at any size: the kernel checks the limit of locked
	 * memory at a ring's first mapping only (measured on 6.18: 40 rings of 8 MiB with RLIMIT_MEMLOCK
	 * 0; a first mapping by nobody gets 516 KiB per CPU, whoever opened the event). Further mappings are
	 * charged unchecked to who makes them, and given back, once, to who made the first. A user
	 * without CAP_IPC_LOCK would pay twice and get half of it back: he goes without.
	 */
	sampler->holds_rings = machine_may_lock();
	if (!sampler->holds_rings)
		unmap_all(sampler);
	if (!sampler_nr_sideband(sampler)) {
		result = sampler_note_fallback(
			sampler, error,
			"files of processes that end at once have no names: RLIMIT_MEMLOCK leaves "
			"no room for the records of them that ctop checks its own processes by");
		if (result)
			return result;
	}
	if (sampler->ring_pages == asked)
		return 0;
	return sampler_note_fallback(
		sampler, error, "rings of %u pages per CPU instead of %u: RLIMIT_MEMLOCK reached",
		sampler->ring_pages, asked);
}

void rings_close(struct sampler *sampler)
{
	if (sampler->mappings)
		unmap_all(sampler);
	close_owners(sampler);
	free(sampler->rings);
	free(sampler->mappings);
}

static double counter_rate_hz(uint64_t period)
{
	bool assumed;
	const char *source;
	double rate = 1e9 / (double)event_cycles_to_ns(period, &assumed, &source);
	double most = (double)machine_sysctl("kernel/perf_event_max_sample_rate", 100000);
	return rate < most ? rate : most;
}

/* Samples a second on one CPU, as asked for; 1 kHz where only the machine knows. */
static double asked_rate_hz(const struct sampler *sampler)
{
	double rate = 0;
	for (size_t i = 0; i < sampler->options.nr_events; i++) {
		const struct sampler_opened *opened = &sampler->opened[i];
		if (opened->frequency_hz)
			rate += (double)opened->frequency_hz;
		else if (opened->clock && opened->period)
			rate += 1e9 / (double)opened->period;
		else if (counts_on_cpu(&sampler->events[i]) && opened->period)
			rate += counter_rate_hz(opened->period);
		else
			rate += 1000;
	}
	return rate;
}

/*
 * The largest at which the ring holds 100 ms; 65528 is the kernel's limit (a u16, 8-aligned). What whole CPUs have more
 * is for more time.
 */
static uint32_t auto_dump_bytes(const struct sampler *sampler)
{
	static const uint32_t sizes[] = {65528, 32768, 16384};
	uint32_t pages = sampler->ring_pages;
	if (!sampler->options.ring_pages && pages > DEFAULT_PAGES)
		pages = DEFAULT_PAGES;
	double room = (double)pages_bytes(pages) / (asked_rate_hz(sampler) * 0.1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] + SAMPLE_HEAD_BYTES <= room)
			return sizes[i];
	return 8192;
}

uint32_t sampler_rest_ms(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->options.nr_events; i++) {
		const struct event *asked = &sampler->options.events[i];
		if (!asked->clock && !counts_on_cpu(asked))
			return 0;
	}
	const double ms = 1e3 * (double)rings_hold(sampler, sampler->dump_bytes) / WATERMARKS /
			  asked_rate_hz(sampler);
	return ms < 1000 ? (uint32_t)ms : 1000;
}

int rings_choose_dump_bytes(struct sampler *sampler, struct error *error)
{
	sampler->dump_bytes = 0;
	if (!ladder_dumps_stacks(sampler))
		return 0;
	uint32_t asked = sampler->options.dump_bytes ? sampler->options.dump_bytes
						     : auto_dump_bytes(sampler);
	/* A ring that does not hold two samples loses nearly all: the one is read while the next comes. */
	uint64_t most = data_bytes(sampler) / 2 - SAMPLE_HEAD_BYTES;
	sampler->dump_bytes = asked;
	if (asked <= most)
		return 0;
	sampler->dump_bytes = (uint32_t)most & ~7u;
	return sampler_note_fallback(
		sampler, error,
		"stack dumps of %u bytes instead of %u: rings of %u pages hold no "
		"larger ones",
		sampler->dump_bytes, asked, sampler->ring_pages);
}
