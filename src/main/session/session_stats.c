/* SPDX-License-Identifier: MIT */
/* What a session has to tell of itself. */
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>

/* Of a counter in struct child_status: of all that read the source. No sum wraps around, whatever they say. */
static uint64_t total(struct session *session, size_t counter)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < session_nr_sources(session); i++) {
		const char *status = (const char *)session_source(session, i)->status;
		const uint64_t of_one =
			status ? atomic_load(
					 (const _Atomic uint64_t *)(const void *)(status + counter))
			       : 0;
		sum = of_one < UINT64_MAX - sum ? sum + of_one : UINT64_MAX;
	}
	return sum;
}

#define TOTAL(session, counter) total(session, offsetof(struct child_status, counter))

/* What the kernel counted and lost: its own count of losses where it has one, for the last records of loss may be lost too. */
static void read_events(struct session *session, struct session_stats *stats)
{
	uint64_t summed = 0;
	stats->lost = TOTAL(session, lost);
	for (size_t i = 0; session->sampler && i < session->sampling.nr_events; i++) {
		struct sampler_count count;
		struct session_event *event = &stats->events[i];
		event->counted_share = 1;
		stats->nr_events = i + 1;
		sampler_read(session->sampler, i, &count);
		event->counted = count.count;
		event->lost = count.lost;
		summed += count.lost;
		/* Times of tasks that begin and end meanwhile may come to more. */
		if (count.running_ns < count.enabled_ns) {
			double share = (double)count.running_ns / (double)count.enabled_ns;
			event->counted_share = share;
			if (share < stats->counted_share)
				stats->counted_share = share;
		}
	}
	stats->events_counted = stats->events[0].counted;
	stats->events_sampled = stats->events[0].sampled;
	if (summed > stats->lost)
		stats->lost = summed;
}

/* Without a number: the words stay, and are shown once. */
static void read_sideband_losses(struct session *session, struct session_stats *stats)
{
	if (!session->sampler)
		return;
	const struct sampler_sideband_losses losses = sampler_sideband_losses(session->sampler);
	stats->lost_sideband = losses.records;
	stats->unfollowed = losses.threads;
	if ((losses.records || losses.threads) && !session->notice[0])
		snprintf(session->notice, sizeof(session->notice),
			 "records of maps, forks and exits were lost: files of programs that ended "
			 "at once may have no names");
}

struct cpu_times session_cpu_times(const struct session *session)
{
	const size_t nr = session->sampler ? sampler_nr_rings(session->sampler) : 0;
	int *cpus = calloc(nr, sizeof(*cpus));
	for (size_t i = 0; cpus && i < nr; i++)
		cpus[i] = sampler_rings(session->sampler)[i].cpu;
	const struct cpu_times times = cpu_times_read(cpus, cpus ? nr : 0);
	free(cpus);
	return times;
}

struct session_used session_used(struct session *session)
{
	struct session_used used;
	if (!session_used_by_threads(session, &used))
		used = (struct session_used){session_cpu_times(session).busy_ns, clock_now_ns()};
	return used;
}

static void read_cpus(const struct session *session, struct session_stats *stats)
{
	const struct cpu_times end = stats->end_ns ? session->cpus_end
				     : session->on ? session_cpu_times(session)
						   : session->cpus_off;
	stats->cpus = cpu_times_between(session->cpus_from, end);
}

static void read_sets(const struct session *session, struct session_stats *stats)
{
	for (size_t i = 0; session->sampler && i < session->sampling.nr_events; i++) {
		struct session_event *event = &stats->events[i];
		const bool paced = sampler_opened(session->sampler, i)->paced;
		const struct sampler_sets *from = sampler_sets(session->sampler, paced);
		/* Those that are switched together have the same times. */
		struct session_set *sets = paced ? event->sets : stats->sets;
		*(paced ? &event->nr_sets : &stats->nr_sets) = from->nr;
		for (uint32_t at = 0; at < from->nr; at++)
			sets[at] =
				(struct session_set){from->items[at].dump_bytes,
						     from->items[at].fewer, session->set_ns[i][at]};
	}
	for (uint32_t i = 0; i < stats->nr_sets; i++)
		stats->fewer_ns += stats->sets[i].fewer > 1 ? stats->sets[i].ns : 0;
}

struct session_stats session_stats(struct session *session)
{
	struct session_stats stats = session->stats;
	const bool has_started = session_source(session, 0)->status != NULL;
	stats.counted_share = 1;
	stats.nr_fallbacks_before = session->sampler ? sampler_nr_fallbacks(session->sampler) : 0;
	stats.nr_late_fallbacks = session_nr_fallbacks(session) - stats.nr_fallbacks_before;
	for (size_t i = 0; i < stats.nr_late_fallbacks; i++)
		stats.late_fallbacks[i] = session_fallback(session, stats.nr_fallbacks_before + i);
	stats.unreadable = broker_unreadable(session->broker, &stats.nr_unreadable);
	stats.kernel_names = broker_kernel_names(session->broker);
	stats.cpu_ns[0] = clock_cpu_ns();
	for (size_t i = 0; i < session_nr_sources(session); i++)
		stats.cpu_ns[1] += worker_cpu_ns(session_source(session, i));
	stats.cpu_ns[2] = worker_cpu_ns(&session->symbolizer);
	read_cpus(session, &stats);
	if (!stats.end_ns)
		stats.end_ns = session->on ? clock_now_ns() : session->off_since_ns;
	if (session->sampler)
		stats.ring_bytes = (uint64_t)sampler_nr_rings(session->sampler) *
				   (sampler_ring_pages(session->sampler) + 1) *
				   (uint64_t)sysconf(_SC_PAGESIZE);
	read_sideband_losses(session, &stats);
	session_add_times(session, &stats);
	session_add_spending(session, &stats);
	if (!has_started)
		return stats;
	stats.undrained |= session_is_live(session) && session->phase != PHASE_DRAINED;
	read_events(session, &stats);
	read_sets(session, &stats);
	stats.target_exec_ns = TOTAL(session, exec_ns);
	stats.late = TOTAL(session, late);
	stats.hurried = TOTAL(session, hurried);
	stats.throttled = TOTAL(session, throttled);
	stats.dropped_crash = TOTAL(session, skipped);
	stats.dropped_damaged =
		TOTAL(session, damaged) + (session->parts ? session->parts->damaged : 0);
	stats.dropped_double = TOTAL(session, duplicates);
	stats.dropped_own = TOTAL(session, own);
	stats.dropped_foreign = TOTAL(session, foreign);
	stats.dropped_comm = TOTAL(session, comm);
	stats.dropped_uid = TOTAL(session, uid);
	stats.drained = TOTAL(session, drained);
	stats.frames = TOTAL(session, frames);
	stats.cache_hits = TOTAL(session, cache_hits);
	stats.cache_misses = TOTAL(session, cache_misses);
	return stats;
}

uint64_t session_asked_count(const struct session *session)
{
	const struct event *first = &session->sampling.events[0];
	return first->period ? first->period : first->frequency_hz ? 0 : session->sampling.count;
}

uint64_t session_asked_hz(const struct session *session)
{
	const struct event *first = &session->sampling.events[0];
	if (session_asked_count(session))
		return 0;
	return first->frequency_hz ? first->frequency_hz : session->sampling.frequency_hz;
}

bool session_is_perfdata(const struct session *session)
{
	return session->source.is_perfdata;
}

const char *session_source_note(const struct session *session)
{
	return session->source_note;
}

double session_source_share(const struct session *session)
{
	struct stat source;
	/* The child that reads moves the offset, which is of the open file and not of the descriptor. */
	off_t at = session->source.fd < 0 ? -1 : lseek(session->source.fd, 0, SEEK_CUR);
	if (at < 0 || fstat(session->source.fd, &source) < 0 || source.st_size <= 0)
		return 0;
	return at < source.st_size ? (double)at / (double)source.st_size : 1;
}

struct recording_read session_read(const struct session *session)
{
	return session->read;
}

size_t session_nr_fallbacks(const struct session *session)
{
	size_t nr = session->sampler ? sampler_nr_fallbacks(session->sampler) : 0;
	return nr + (session->set_fallback[0] != '\0') + (session->budget.fallback[0] != '\0') +
	       session->without_tables;
}

const char *session_fallback(const struct session *session, size_t i)
{
	size_t nr = session->sampler ? sampler_nr_fallbacks(session->sampler) : 0;
	if (i < nr)
		return sampler_fallback(session->sampler, i);
	if (session->set_fallback[0] && i == nr++)
		return session->set_fallback;
	return session->budget.fallback[0] && i == nr ? session->budget.fallback
						      : SESSION_WITHOUT_TABLES;
}

const char *session_notice(const struct session *session)
{
	return session->notice[0] ? session->notice : broker_notice(session->broker);
}

bool session_is_fetching(const struct session *session, struct text *out)
{
	return broker_is_fetching(session->broker, out);
}

const struct sampler *session_sampler(const struct session *session)
{
	return session->sampler;
}

const char *session_target(const struct session *session)
{
	return session_is_live(session) ? session->target.description : session->path;
}

const char *session_target_kind(const struct session *session)
{
	return session_is_live(session) ? session->target.kind : "file";
}

bool session_samples_cpus(const struct session *session)
{
	return session->sampling.system_wide || session->sampling.nr_cpus ||
	       (session->sampler && sampler_filters_pids(session->sampler));
}

int32_t session_only_pid(const struct session *session)
{
	const struct int32_list *pids = &session->target.pids;
	bool only = session_is_live(session) && pids->nr == 1 && session->sampling.nr_pids == 1 &&
		    strcmp(session->target.kind, "tid") != 0;
	return only ? pids->items[0] : 0;
}
