/* SPDX-License-Identifier: MIT */
#include "facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/diagnose/idle.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/perf/sampler.h>
#include <ctop/report/load.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/trace_refusal.h>

/* So soon after a command was let run its exec is the one that it begins with. */
#define FIRST_EXEC_NS (200 * NS_PER_MS)
/* Of less CPU time than this no rate can be told. */
enum { LEAST_CPU_PERCENT = 5 };
/* How often runtimes without names are looked for. */
#define RUNTIMES_EVERY_NS (2 * NS_PER_SECOND)
enum { RUNTIMES_PAUSE_TIMES = 100 };

void facts_set_stopped(struct facts *facts)
{
	facts->stopped = true;
}

static void describe_call_graph(struct facts *facts, const char *mode, uint64_t dump_bytes)
{
	if (dump_bytes)
		snprintf(facts->call_graph, sizeof(facts->call_graph), "%.24s %" PRIu64 "k", mode,
			 (dump_bytes + 1023) / 1024);
	else
		snprintf(facts->call_graph, sizeof(facts->call_graph), "%.24s", mode);
}

static void describe_ending(struct facts *facts, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		snprintf(facts->ending, sizeof(facts->ending), "signal %d", WTERMSIG(wait_status));
	else
		snprintf(facts->ending, sizeof(facts->ending), "status %d",
			 WEXITSTATUS(wait_status));
}

static double per_second(uint64_t difference, uint64_t ns)
{
	return ns ? (double)difference * (double)NS_PER_SECOND / (double)ns : 0;
}

/* Of clocks people know the rate, not the nanoseconds between two samples. */
static void describe_rate(struct ui_facts *out)
{
	if (out->unit != WEIGHT_NS || !out->period)
		return;
	out->frequency_hz = (NS_PER_SECOND + out->period / 2) / out->period;
	out->period = 0;
}

/*
 * The target's CPU time. A clock of threads counts just that; that of a whole CPU also counts while nothing
 * runs, so that there its samples have to do; where the event is no clock, /proc knows it of one process.
 */
static uint64_t target_cpu_ns(const struct session_stats *stats, const struct sampler *sampler,
			      int32_t only_pid, const struct ui_facts *out)
{
	if (sampler_opened(sampler, 0)->unit == WEIGHT_NS)
		return out->nr_cpus ? stats->events_sampled : stats->events_counted;
	return only_pid ? proc_cpu_ns(only_pid) : 0;
}

/* What the CPUs did. ctop's own part of it is shown elsewhere. */
static void add_cpus(const struct facts_moment *before, const struct facts_moment *now,
		     struct ui_facts *out)
{
	const struct cpu_times times = cpu_times_between(before->cpus, now->cpus);
	const uint64_t sum_ns = cpu_times_sum(&times), own_ns = now->cpu_ns - before->cpu_ns;
	if (!sum_ns)
		return;
	out->knows_cpus = true;
	out->stolen_percent = 100.0 * (double)times.stolen_ns / (double)sum_ns;
	out->idle_percent = 100.0 * (double)times.idle_ns / (double)sum_ns;
	if (out->nr_cpus)
		out->cpu_percent = 100.0 * (double)out->nr_cpus *
				   (double)(times.busy_ns > own_ns ? times.busy_ns - own_ns : 0) /
				   (double)sum_ns;
}

static double share_percent(uint64_t before_ns, uint64_t now_ns, uint64_t of_ns)
{
	return now_ns > before_ns ? 100.0 * (double)(now_ns - before_ns) / (double)of_ns : 0;
}

#define DEADLOCK_FROM_NS (3 * NS_PER_SECOND)

/* What the threads did. Who ended since, and was only looked at, leaves a gap: it is unknown. */
static void add_times(const struct thread_times *before, const struct thread_times *now,
		      struct ui_facts *out)
{
	if (now->observed_ns <= before->observed_ns)
		return;
	const uint64_t of_ns = now->observed_ns - before->observed_ns;
	out->running_percent =
		share_percent(before->ns[TIME_RUNNING], now->ns[TIME_RUNNING], of_ns);
	out->runnable_percent =
		share_percent(before->ns[TIME_RUNNABLE], now->ns[TIME_RUNNABLE], of_ns);
	out->waiting_percent =
		share_percent(before->ns[TIME_WAITING], now->ns[TIME_WAITING], of_ns);
}

/* Not before it has been so for a while: most locks are given back. */
static void look_for_deadlock(struct facts *facts, const struct session *session, uint64_t now_ns,
			      struct ui_facts *out)
{
	_Static_assert((int)UI_DEADLOCK_MOST >= (int)SESSION_DEADLOCK_MOST, "all have room");
	const size_t nr = session_find_deadlock(session, out->deadlock);
	if (!nr || out->deadlock[0] != facts->deadlock_tid)
		facts->deadlock_since_ns = nr ? now_ns : 0;
	facts->deadlock_tid = nr ? out->deadlock[0] : 0;
	const bool is_told = nr && now_ns - facts->deadlock_since_ns > DEADLOCK_FROM_NS;
	out->nr_deadlock = is_told ? (unsigned)nr : 0;
}

/* Threads of a pool that have nothing to do look like that, too. */
static void look_for_locks(struct facts *facts, const struct facts_moment *before,
			   const struct facts_moment *now, bool all_locked, struct ui_facts *out)
{
	/* Looks are rare: whoever ran between two of them has left its time. */
	if (!all_locked || now->times.observed_ns == before->times.observed_ns ||
	    now->times.ns[TIME_RUNNING] != before->times.ns[TIME_RUNNING])
		facts->locked_since_ns = 0;
	else if (!facts->locked_since_ns)
		facts->locked_since_ns = before->ns;
	out->all_wait_for_locks =
		facts->locked_since_ns && now->ns - facts->locked_since_ns > DEADLOCK_FROM_NS;
}

/* Rates over the last few refreshes. */
static void add_rates(struct facts *facts, const struct interact_source *source,
		      const struct session_stats *stats, uint32_t event, struct ui_facts *out)
{
	const struct history *history = source->history;
	struct facts_moment now = {
		.ns = clock_now_ns(),
		.samples = stats->samples - stats->waits,
		.first_samples = history_nr_events(history) ? history_event_samples(history, 0) : 0,
		.target_cpu_ns =
			target_cpu_ns(stats, session_sampler(source->session), source->pid, out),
		.cpus = stats->cpus,
		.times = stats->times,
	};
	for (size_t i = 0; i < sizeof(stats->cpu_ns) / sizeof(*stats->cpu_ns); i++)
		now.cpu_ns += stats->cpu_ns[i];
	unsigned nr = facts->nr_moments;
	const struct facts_moment *before =
		&facts->moments[nr < FACTS_MOMENTS ? 0 : nr % FACTS_MOMENTS];
	out->own_cpu_percent = out->cpu_percent = -1;
	if (nr) {
		uint64_t ns = now.ns - before->ns;
		out->rate_hz = per_second(now.samples - before->samples, ns);
		out->own_cpu_percent =
			100 * per_second(now.cpu_ns - before->cpu_ns, ns) / (double)NS_PER_SECOND;
		uint64_t used_ns = now.target_cpu_ns - before->target_cpu_ns;
		if (now.target_cpu_ns >= before->target_cpu_ns && now.target_cpu_ns)
			out->cpu_percent = 100 * per_second(used_ns, ns) / (double)NS_PER_SECOND;
		/* Of whole CPUs only the clock's time has no more in it than the samples: ctop's own is left out. */
		bool is_theirs = !out->nr_cpus || out->unit == WEIGHT_NS;
		if (event == 0 && is_theirs && out->cpu_percent > LEAST_CPU_PERCENT)
			out->reached_hz =
				per_second(now.first_samples - before->first_samples, used_ns);
		add_cpus(before, &now, out);
		add_times(&before->times, &now.times, out);
		look_for_locks(facts, before, &now, stats->all_locked, out);
		look_for_deadlock(facts, source->session, now.ns, out);
	}
	facts->moments[nr % FACTS_MOMENTS] = now;
	facts->nr_moments++;
}

static enum ui_state state_of(const struct facts *facts, const struct session *session,
			      const struct session_stats *stats)
{
	if (stats->target_exited)
		return UI_EXITED;
	if (facts->stopped)
		return UI_STOPPED;
	return session_is_on(session) ? UI_LIVE : UI_OFF;
}

/* The program may change under us: whose profile it is, is said again. */
static void follow_exec(struct facts *facts, const struct interact_source *source,
			const struct session_stats *stats, struct ui_facts *out)
{
	int32_t only_pid = source->pid;
	struct proc_program program, own;
	uint64_t now_ns = clock_now_ns();
	bool runs = out->state != UI_EXITED && proc_program(only_pid, &program);
	/* A command that was only just let go. */
	if (runs && !facts->knows_program && proc_program(getpid(), &own) &&
	    proc_is_same_program(&program, &own))
		return;
	bool is_other =
		runs && facts->knows_program && !proc_is_same_program(&program, &facts->program);
	/* The same file all over again shows in the kernel's records only. */
	bool is_restarted =
		runs && facts->knows_program && stats->target_exec_ns > facts->known_exec_ns;
	if (is_other || is_restarted) {
		facts->known_exec_ns = now_ns;
		char name[64];
		proc_line(only_pid, "comm", name, sizeof(name));
		snprintf(facts->target, sizeof(facts->target), "%.64s[%d]", name, only_pid);
		facts->execs++;
	}
	if (runs && !facts->knows_program &&
	    !strcmp(session_target_kind(source->session), "command"))
		facts->known_exec_ns = stats->released_ns + FIRST_EXEC_NS;
	if (runs) {
		facts->program = program;
		facts->knows_program = true;
	}
	if (facts->execs)
		out->target = facts->target;
	out->execs = facts->execs;
}

/* Of the first it is known before any sample has come. */
static void describe_event(const struct history *history, uint32_t event, struct ui_facts *out)
{
	if (event == 0 || event >= history_nr_events(history))
		return;
	out->event = history_event_name(history, event);
	out->unit = history_event_unit(history, event);
	out->frequency_hz = history_event_frequency_hz(history, event);
	out->period = history_event_period(history, event);
}

/* What went wrong, and what it costs: of a session so far, of a recording in all. */
static void describe_counts(struct facts *facts, const struct run_facts *run, uint32_t event,
			    struct ui_facts *out)
{
	out->lost = run->stats.lost;
	out->counted_share = run_facts_event(run, event)->counted_share;
	out->throttled = run->stats.throttled;
	out->late = run->stats.late;
	out->dropped = run_facts_dropped(run);
	out->restarts = run->stats.restarts;
	out->own_bytes = run->stats.peak_rss_bytes;
	facts->waits_refused_by = run->stats.waits_refused_by;
	facts->waits_silent = run->stats.waits_silent;
}

/* The header has what is worth a warning: the clock that stands in for cycles is named there anyhow, and info says why. */
static void add_fallback(const char *fallback, struct ui_facts *out)
{
	if (!strncmp(fallback, SAMPLER_NO_COUNTER, strlen(SAMPLER_NO_COUNTER)))
		return;
	if (!out->nr_fallbacks++)
		out->fallback = fallback;
}

/* All its threads are looked at: of very many less often, so that it takes a 200th of a CPU. */
static void describe_idle(struct facts *facts, int32_t pid, struct ui_facts *out)
{
	enum { PAUSE_TIMES = 200 };
	if (clock_now_ns() >= facts->idle_due_ns) {
		const uint64_t before_ns = clock_cpu_ns();
		text_clear(&facts->idle);
		idle_describe(pid, &facts->idle);
		facts->idle_due_ns = clock_now_ns() + PAUSE_TIMES * (clock_cpu_ns() - before_ns);
	}
	if (facts->idle.size)
		out->idle = text_string(&facts->idle);
}

static void read_live(struct facts *facts, const struct interact_source *source, uint32_t event,
		      struct ui_facts *out)
{
	struct session *session = source->session;
	int32_t only_pid = source->pid;
	const struct session_stats stats = session_stats(session);
	struct run_facts counts;
	const struct sampler *sampler = session_sampler(session);
	const struct sampler_opened *opened = sampler_opened(sampler, 0);
	const char *mode = history_info(source->history, "call_graph");
	describe_call_graph(facts, mode ? mode : "",
			    sampler_sets(sampler, opened->paced)
				    ->items[sampler_set_in_use(sampler, 0)]
				    .dump_bytes);
	*out = (struct ui_facts){
		.state = state_of(facts, session, &stats),
		.target = session_target(session),
		.event = opened->name,
		.unit = opened->unit,
		.call_graph = facts->call_graph,
		.frequency_hz = opened->frequency_hz,
		.period = opened->period,
	};
	run_facts_of_session(&stats, &counts);
	describe_counts(facts, &counts, event, out);
	for (size_t i = 0; i < session_nr_fallbacks(session); i++)
		add_fallback(session_fallback(session, i), out);
	const char *kind = session_target_kind(session);
	if (stats.target_exited && (!strcmp(kind, "command") || !strcmp(kind, "system"))) {
		describe_ending(facts, stats.target_status);
		out->ending = facts->ending;
	} else if (stats.target_exited && !strcmp(kind, "cgroup")) {
		out->ending = "cgroup removed";
	}
	if (!strcmp(session_target_kind(session), "system"))
		out->nr_cpus = sampler_nr_rings(sampler);
	describe_event(source->history, event, out);
	describe_rate(out);
	add_rates(facts, source, &stats, event, out);
	if (only_pid)
		follow_exec(facts, source, &stats, out);
	if (only_pid && out->state == UI_LIVE && out->rate_hz <= 0)
		describe_idle(facts, only_pid, out);
	else
		facts->idle_due_ns = 0;
}

/* When, for how long, where: the machine's own time. */
static void describe_recording(struct facts *facts, const struct interact_source *source,
			       const struct run_facts *run)
{
	const char *other = source->compared_with;
	const time_t start = (time_t)(run->start_wall_ns / NS_PER_SECOND);
	struct tm parts;
	char date[32] = "", length[32] = "";
	if (run->start_wall_ns && localtime_r(&start, &parts))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &parts);
	if (run->duration_ns)
		snprintf(length, sizeof(length), "%.1f s",
			 (double)run->duration_ns / (double)NS_PER_SECOND);
	snprintf(facts->recorded, sizeof(facts->recorded), "%s%.40s%s%s%s%s%s%.64s",
		 other ? "against " : "", other ? other : "",
		 other && (date[0] || length[0] || run->hostname) ? ", " : "", date,
		 date[0] && length[0] ? ", " : "", length,
		 run->hostname && (date[0] || length[0]) ? ", " : "",
		 run->hostname ? run->hostname : "");
}

static void read_file(struct facts *facts, const struct interact_source *source, uint32_t event,
		      struct ui_facts *out)
{
	const struct history *history = source->history;
	struct run_facts run = {0};
	run_facts_read(history, FACT_RECORDED, &run);
	describe_call_graph(facts, run.call_graph ? run.call_graph : "", run.dump_bytes);
	describe_recording(facts, source, &run);
	*out = (struct ui_facts){
		.state = UI_FILE,
		.target = run.target,
		.recorded = facts->recorded,
		.event = run.event.opened,
		.unit = history_event_unit(history, event),
		.call_graph = facts->call_graph,
		.frequency_hz = run.event.frequency_hz,
		.period = run.event.period,
		.hides_losses = !run_facts_know(&run, &run.stats.lost),
		.own_cpu_percent = -1,
		.cpu_percent = -1,
		.rate_hz = per_second(run.stats.samples, run.duration_ns),
		.nr_cpus = run.sampled_cpus,
	};
	describe_counts(facts, &run, event, out);
	for (size_t i = 0; i < run.fallbacks.nr; i++)
		add_fallback(run.fallbacks.items[i], out);
	if (run.duration_ns)
		out->own_cpu_percent = 100.0 * (double)run.cpu_ns / (double)run.duration_ns;
	describe_event(history, event, out);
	describe_rate(out);
	uint64_t used_ns = run.sampled_cpus ? run.stats.events_sampled : run.stats.events_counted;
	if (run.duration_ns && used_ns && history_event_unit(history, 0) == WEIGHT_NS)
		out->cpu_percent = 100.0 * (double)used_ns / (double)run.duration_ns;
	const struct facts_moment none = {0}, all = {.cpu_ns = run.cpu_ns, .cpus = run.stats.cpus};
	add_cpus(&none, &all, out);
	add_times(&none.times, &run.stats.times, out);
}

static void add_notice(struct text *notices, const char *notice)
{
	if (!notice[0])
		return;
	text_add_safe(notices, notice);
	text_add(notices, "\n");
}

void facts_add_notices(const struct interact_source *source, struct text *notices)
{
	const struct session *session = source->session;
	if (!session && source->load && !source->loading)
		load_add_damage(source->load, notices);
	if (!session)
		session = source->load ? source->load->session : NULL;
	for (size_t i = 0; session && i < session_nr_news(session); i++)
		add_notice(notices, session_news(session, i));
	if (source->session)
		add_notice(notices, session_notice(source->session));
}

/* All stacks are looked at: seldom, and the more seldom the longer it takes. */
static void look_for_runtimes(struct facts *facts, const struct interact_source *source)
{
	const uint64_t begin_ns = clock_now_ns();
	if (begin_ns < facts->runtimes_due_ns || source->loading)
		return;
	facts->nr_runtimes = runtime_notes(source->history, source->pid, facts->runtimes);
	facts->has_go = history_has_go(source->history);
	const uint64_t end_ns = clock_now_ns();
	const uint64_t pause_ns = RUNTIMES_PAUSE_TIMES * (end_ns - begin_ns);
	facts->runtimes_due_ns =
		end_ns + (pause_ns > RUNTIMES_EVERY_NS ? pause_ns : RUNTIMES_EVERY_NS);
}

static void add_refusal(const struct facts *facts, struct text *notices)
{
	const char *words = trace_refusal_words(facts->waits_refused_by);
	if (words)
		text_addf(notices, "where threads wait is not seen: %s\n", words);
	if (facts->waits_silent)
		text_addf(notices,
			  "memory that does not answer: where %" PRIu64 " thread%s not looked at\n",
			  facts->waits_silent,
			  facts->waits_silent == 1 ? " waits is" : "s wait is");
}

static void add_runtimes(const struct facts *facts, struct text *notices)
{
	for (size_t i = 0; i < facts->nr_runtimes; i++)
		text_addf(notices, "%s: %s\n", facts->runtimes[i].finding,
			  facts->runtimes[i].remedy);
}

void facts_release(struct facts *facts)
{
	text_release(&facts->idle);
	text_release(&facts->notices);
	text_release(&facts->fetching);
}

void facts_read(struct facts *facts, const struct interact_source *source, uint32_t event,
		struct ui_facts *out)
{
	if (!source->history)
		*out = (struct ui_facts){0};
	else if (source->session)
		read_live(facts, source, event, out);
	else
		read_file(facts, source, event, out);
	text_clear(&facts->notices);
	facts_add_notices(source, &facts->notices);
	if (source->history)
		look_for_runtimes(facts, source);
	out->has_go = facts->has_go;
	add_runtimes(facts, &facts->notices);
	add_refusal(facts, &facts->notices);
	out->notices = text_string(&facts->notices);
	text_clear(&facts->fetching);
	if (source->session && session_is_fetching(source->session, &facts->fetching))
		out->fetching = text_string(&facts->fetching);
	if (source->loading) {
		out->state = UI_LOADING;
		out->loaded = session_source_share(source->loading->session);
	}
}
