/* SPDX-License-Identifier: MIT */
/* What the target's threads do with their time: the kernel's records of switches, and looks at /proc, into the account. */
#include "session_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/sched_stat.h>

#include <ctop/time/wait_objects.h>
#include <ctop/time/wakers.h>

/* A record may become visible later than one of another CPU that is younger. */
#define AGE_NS (5 * NS_PER_MS)
/* How often records are read, where no ring fills. */
#define READ_EVERY_NS (50 * NS_PER_MS)
/* How long the collector has to make room for more waits. */
#define NEW_ROOM_NS (10 * NS_PER_MS)
/* Of one turn. */
enum { RECORDS_A_TURN = 16384, LOOKS_A_TURN = 256 };
/*
 * How often threads are looked at, about; of very many less often, so that it takes a 500th of a CPU. Not in time with anything that they may do: what is
 * seen stands for all that they wait for. Where few of them wait is worth a 200th.
 */
#define LOOK_EVERY_NS (100 * NS_PER_MS)
enum { LOOKS_SHARE = 500, PLACES_SHARE = 200, FEW_THREADS = 64 };
/* The guard looks at so much time, and does not mind a few records. */
#define WINDOW_NS (NS_PER_SECOND / 4)
enum { RECORDS_LEAST = 2500, RECORDS_LEAST_OF_BUDGET = 250 };
/* Of --budget, for records of switches and wakings. */
#define RECORDS_SHARE 0.25

enum { TOLD_MOST = 4096 };

/* ---- looks ---- */

static void look_again(struct session_time *time, struct thread_look *look)
{
	const uint64_t now_ns = clock_now_ns();
	look->state = 'S';
	look->call = NULL;
	time_account_look(time->account, look, now_ns);
	if (!time->ring.page)
		return;
	/* Its stack may have been lost meanwhile, or there was no time to look at it. */
	struct wait_look seen;
	const bool is_known = time_account_has_place(time->account, look->tid, &look->sched);
	struct stat_line line;
	if (!is_known && proc_stat_line(look->pid, look->tid, &line))
		look->state = line.state; /* it may be stopped */
	if (is_known || session_look_at_wait(time, look, &seen) != -EAGAIN)
		session_place_wait(time, look, is_known ? NULL : &seen, now_ns);
}

static void look_at(struct session_time *time, int32_t pid, int32_t tid)
{
	if (time->notes_goroutines)
		goroutines_note(time->goroutines, pid);
	struct stat_line line;
	struct wait_look seen;
	struct thread_look look = {.pid = pid, .tid = tid, .call = ""};
	sched_stat_read(pid, tid, &look.sched);
	if (time_account_still_waits(time->account, tid, &look.sched, &look.waits_for)) {
		look_again(time, &look);
		return;
	}
	const bool is_there = proc_stat_line(pid, tid, &line);
	const uint64_t now_ns = clock_now_ns();
	look.name = line.name;
	look.state = line.state;
	if (!is_there || look.state == 'Z' || look.state == 'X') {
		time_account_miss(time->account, tid, now_ns);
		return;
	}
	bool is_placed = false;
	if (look.state != 'R' && time->ring.page)
		is_placed = session_look_at_wait(time, &look, &seen) != -EAGAIN;
	else if (look.state != 'R')
		session_see_wait(time, &look);
	time_account_look(time->account, &look, now_ns);
	if (is_placed)
		session_place_wait(time, &look, &seen, now_ns);
}

static void look_at_process(struct session_time *time, int32_t pid)
{
	char path[48];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = proc_opendir(path);
	int32_t tid;
	while (threads && (tid = proc_next_pid(threads)) > 0)
		look_at(time, pid, tid);
	if (threads)
		closedir(threads);
}

/* The kernel's threads wait for ever, most of them; and ours are nobody's business, but for a command that we run. */
static bool is_left_out(const struct session *session, int32_t pid, const struct stat_line *line)
{
	return stat_line_is_kernel(line) || pid == getpid() ||
	       (line->parent == getpid() && pid != session->target.command_pid);
}

static void look_at_all_processes(struct session *session)
{
	struct session_time *time = &session->time;
	DIR *processes = proc_opendir("/proc");
	int32_t pid;
	time_account_take_all(time->account);
	while (processes && (pid = proc_next_pid(processes)) > 0) {
		struct stat_line line;
		if (!proc_stat_line(pid, pid, &line))
			continue;
		/* Without memory its waits are shown with the others'. */
		if (is_left_out(session, pid, &line))
			time_account_leave_out(time->account, pid);
		else
			look_at_process(time, pid);
	}
	if (processes)
		closedir(processes);
}

void session_list_time(struct session *session)
{
	struct session_time *time = &session->time;
	const struct sampler_options *sampling = &session->sampling;
	if (!time->account)
		return;
	if (sampling->follows_all)
		look_at_all_processes(session);
	for (size_t i = 0; i < sampler_nr_processes(session->sampler); i++)
		if (sampler_process(session->sampler, i))
			look_at_process(time, sampler_process(session->sampler, i));
	for (size_t i = 0; i < sampling->nr_tids; i++)
		look_at(time, proc_of_thread(sampling->tids[i]), sampling->tids[i]);
}

static void begin_pass(struct session_time *time, bool is_last)
{
	const size_t nr_live = time_account_nr_live(time->account);
	time->pass.nr = time->pass.at = 0;
	if (vec_reserve(&time->pass, nr_live) == 0)
		time->pass.nr =
			time_account_list(time->account, is_last, time->pass.items, nr_live);
}

static void go_on_with_pass(struct session_time *time, size_t most)
{
	for (; time->pass.at < time->pass.nr && most; time->pass.at++, most--) {
		/* A full ring is waited for, but not in the end. */
		if (time->ring.page && most != SIZE_MAX && !session_has_room_for_wait(time))
			return;
		look_at(time, time->pass.items[time->pass.at].pid,
			time->pass.items[time->pass.at].tid);
	}
}

static void look_at_all(struct session_time *time, bool is_last)
{
	begin_pass(time, is_last);
	go_on_with_pass(time, SIZE_MAX);
}

static bool uses_looks(const struct session_time *time)
{
	return !time_source_has_records(time->source);
}

/* Of few threads it is worth more to see where they wait, within --budget. */
static uint64_t least_between_passes(const struct session_time *time,
				     const struct spending *spending)
{
	const bool is_few = time->ring.page && time->pass.nr <= FEW_THREADS;
	const uint64_t share = is_few ? PLACES_SHARE : LOOKS_SHARE;
	return spending_pause_ns(spending, time->pass_cpu_ns, time->pass_cpu_ns * share);
}

static uint64_t cpu_ns(const struct session_time *time)
{
	return clock_cpu_ns() + looker_cpu_ns(time->looker);
}

/* One after the other, a part in each turn. */
static void serve_looks(struct session *session, uint64_t now_ns)
{
	struct session_time *time = &session->time;
	if (time->pass.at >= time->pass.nr) {
		if (now_ns < time->looks_due_ns)
			return;
		if (time->lists_again)
			look_at_all_processes(session);
		time->lists_again = false;
		begin_pass(time, false);
		time->pass_cpu_ns = 0;
	}
	const uint64_t before_ns = cpu_ns(time);
	go_on_with_pass(time, LOOKS_A_TURN);
	time->pass_cpu_ns += cpu_ns(time) - before_ns;
	const uint64_t least_ns = least_between_passes(time, &session->budget.spending);
	const uint64_t every_ns = least_ns > LOOK_EVERY_NS ? least_ns : LOOK_EVERY_NS;
	time->looks_due_ns = now_ns + every_ns / 2 + hash_u64(now_ns) % every_ns;
}

/* ---- records ---- */

static void take(void *context, const struct record *record, uint64_t before_ns)
{
	struct session *session = context;
	struct session_time *time = &session->time;
	const bool is_copy = record->type == RECORD_WAKING && session_is_waking_copy(record);
	const uint64_t weight = is_copy ? SESSION_RECORDS_A_COPY : 1;
	time->nr_read += weight;
	if (record->type == RECORD_SWITCHED_OUT) {
		session_note_switch_out(session, record);
		return;
	}
	if (record->type == RECORD_SYSTEM_CALL || record->type == RECORD_CALLS_LOST) {
		session_note_call(session, record);
		return;
	}
	/* Without memory a thread is missing: the account says less, nothing wrong. */
	if (record->type == RECORD_WAKING) {
		session_note_waking(time, record);
	} else {
		if (record->type == PERF_RECORD_SWITCH)
			session_note_untold_waking(time, record);
		time_account_take(time->account, record, before_ns);
		/* Who began meanwhile is not known. */
		time->lists_again |=
			record->type == PERF_RECORD_LOST && session->sampling.follows_all;
	}
	time->nr_records += weight;
	time->all_records += weight;
}

/* True: there are more. */
static bool read_records(struct session *session, uint64_t until_ns, size_t most)
{
	const uint64_t before_ns = clock_cpu_ns();
	const bool more = sampler_read_switches(session->sampler, until_ns, most, take, session);
	session->time.records_cpu_ns += clock_cpu_ns() - before_ns;
	if (!more && until_ns > session->time.read_until_ns)
		session->time.read_until_ns = until_ns;
	return more;
}

/* No more records are written: takes those there are, and what of the last ones is missing. */
static void end_records(struct session *session, uint64_t end_ns)
{
	sampler_end_switches(session->sampler);
	sampler_end_wakings(session->sampler);
	sampler_end_switch_outs(session->sampler);
	sampler_end_calls(session->sampler);
	read_records(session, end_ns, SIZE_MAX);
	const uint64_t known_ns = sampler_switches_known_until(session->sampler);
	const struct record lost = {.type = PERF_RECORD_LOST, .time_ns = end_ns};
	if (known_ns < end_ns)
		time_account_take(session->time.account, &lost, known_ns);
}

void session_tell_time(struct session *session, const struct record *record)
{
	const bool is_task = record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT;
	if (session->time.account && uses_looks(&session->time) && is_task)
		time_account_take(session->time.account, record, 0);
}

/* The guard's window: what the target's threads did in it. */
struct window {
	uint64_t ns, used_ns, queued_ns;
};

/* Of so many records what main took to read them; system calls and samples come the same way. */
static uint64_t reading_ns(const struct session_time *time, uint64_t nr_records)
{
	return time->nr_read ? time->records_cpu_ns * nr_records / time->nr_read : 0;
}

/* What goes on is summed up to now by the last record: the next one may say less. */
static uint64_t more_by(uint64_t ns, uint64_t before_ns)
{
	return ns > before_ns ? ns - before_ns : 0;
}

/* Of records main reads, too: so much of a budget they may take. */
static bool is_beyond_budget(const struct session *session, uint64_t nr_records, uint64_t ns)
{
	const struct spending *spending = &session->budget.spending;
	const uint64_t cost_ns =
		nr_records * SESSION_RECORD_COST_NS + reading_ns(&session->time, nr_records);
	return spending->share > 0 && nr_records > RECORDS_LEAST_OF_BUDGET &&
	       (double)cost_ns > RECORDS_SHARE * spending_allowed_ns(spending, ns);
}

/* Where threads want a CPU for longer than they have one, what main takes of the CPUs slows them, too. */
static bool costs_too_much(const struct session *session, uint64_t nr_records,
			   const struct window *window)
{
	const uint64_t percent = session->sampling.max_overhead_percent;
	uint64_t cost_ns = nr_records * SESSION_RECORD_COST_NS;
	if (is_beyond_budget(session, nr_records, window->ns))
		return true;
	if (window->queued_ns > window->used_ns)
		cost_ns += reading_ns(&session->time, nr_records);
	return percent && window->used_ns && nr_records > RECORDS_LEAST &&
	       cost_ns > window->used_ns / 100 * percent;
}

/*
 * No more than --max-overhead of the target's time, and a quarter of --budget: from then on it goes without wakings, whose records cost who wakes, or, where switches alone cost that much,
 * the scheduler's own counts do.
 */
static void guard(struct session *session, uint64_t now_ns)
{
	struct session_time *time = &session->time;
	if (now_ns - time->window_ns < WINDOW_NS || uses_looks(time))
		return;
	const struct thread_times sum = time_account_sum(time->account, now_ns);
	const struct window window = {
		.ns = now_ns - time->window_ns,
		.used_ns = more_by(sum.ns[TIME_RUNNING], time->running_ns),
		.queued_ns = more_by(sum.ns[TIME_RUNNABLE], time->runnable_ns),
	};
	const uint64_t nr_switches = time->nr_records - time->wakings.nr -
				     SESSION_RECORDS_A_COPY * time->wakeups.nr_copies;
	const bool is_too_much = costs_too_much(session, nr_switches, &window);
	session_pace_switch_outs(session, nr_switches, window.used_ns, window.ns);
	session_guard_wakings(session, costs_too_much(session, time->nr_records, &window));
	time->window_ns = now_ns;
	time->records_cpu_ns = time->nr_read = 0;
	time->nr_records = time->wakings.nr = time->wakings.nr_others = 0;
	time->wakeups.nr_copies = 0;
	time->running_ns = sum.ns[TIME_RUNNING];
	time->runnable_ns = sum.ns[TIME_RUNNABLE];
	if (session_knows_youngest(time)) {
		time->youngest.tid = sampler_youngest_thread();
		time->youngest.at_ns = clock_now_ns();
	}
	if (!is_too_much)
		return;
	end_records(session, now_ns);
	time->source = TIME_FROM_BOTH;
	time_account_use_looks(time->account);
	time->looks_due_ns = now_ns;
}

/* ---- its course ---- */

int session_begin_time(struct session *session)
{
	struct session_time *time = &session->time;
	time->looker = looker_new();
	if (!time->looker)
		return -ENOMEM;
	const struct sampler_options *sampling = &session->sampling;
	if ((sampling->system_wide && !sampling->follows_all) ||
	    sampler_filters_pids(session->sampler))
		return 0;
	time->account = time_account_new();
	if (!time->account)
		return -ENOMEM;
	if (!sampling->inherit && !sampling->follows_all)
		time_account_leave_children(time->account);
	time->source = sampler_nr_switches(session->sampler) ? TIME_FROM_SWITCHES : TIME_FROM_LOOKS;
	if (time->source == TIME_FROM_LOOKS)
		time_account_use_looks(time->account);
	const int result = session_begin_waits(session);
	if (result)
		return result;
	if (session_places_waits(session))
		time_account_place_waits(time->account);
	/* To find out which of a machine's programs are Go's each had to be opened. */
	time->notes_goroutines = time->goroutines && !sampling->follows_all;
	time->youngest.tid = sampler_youngest_thread();
	session_list_time(session);
	time->youngest.at_ns = clock_now_ns();
	session_begin_wakings(session);
	/* Of everybody's, whose numbers come and go, most would be for nothing. */
	if (!sampling->follows_all)
		session_begin_switch_outs(session);
	return 0;
}

void session_switch_time(struct session *session, bool on, uint64_t ns)
{
	struct session_time *time = &session->time;
	if (!time->account)
		return;
	read_records(session, ns, SIZE_MAX);
	time_account_switch(time->account, on, ns);
	if (time->goroutines && on)
		goroutines_begin(time->goroutines, ns);
	/* A command that was let go just now is to have begun. */
	time->looks_due_ns = ns + LOOK_EVERY_NS / 2;
	if (uses_looks(time))
		look_at_all(time, false);
}

/* Where it is told where threads wait, looks come when they are due; else whenever something wakes us. */
int session_time_rest_ms(const struct session *session)
{
	const struct session_time *time = &session->time;
	if (!session_places_waits(session) || session->phase != PHASE_RUNNING || !session->on)
		return -1;
	const uint64_t now_ns = clock_now_ns();
	const bool is_in_pass = time->pass.at < time->pass.nr;
	const uint64_t turn_ns = session_has_room_for_wait(time) ? NS_PER_MS : NEW_ROOM_NS;
	const uint64_t looks_ns = is_in_pass ? now_ns + turn_ns : time->looks_due_ns;
	const uint64_t others_ns = goroutines_due_ns(time->goroutines, now_ns);
	const uint64_t due_ns = looks_ns < others_ns ? looks_ns : others_ns;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

void session_serve_time(struct session *session, uint64_t now_ns)
{
	struct session_time *time = &session->time;
	const bool is_over = session->phase > PHASE_RUNNING;
	if (!time->account || is_over)
		return;
	const bool is_read = now_ns >= time->read_due_ns;
	if (is_read) {
		const bool more = read_records(session, now_ns - AGE_NS, RECORDS_A_TURN);
		time->read_due_ns = more ? now_ns : now_ns + READ_EVERY_NS;
		guard(session, now_ns);
		session_serve_wakeups(session, now_ns);
	}
	if (session_places_waits(session))
		session_tell_waits(time, clock_now_ns());
	if (is_read || session_places_waits(session))
		serve_looks(session, now_ns);
	if (time->goroutines && session->on)
		goroutines_serve(time->goroutines, &session->budget.spending, now_ns);
}

void session_end_time(struct session *session, uint64_t end_ns)
{
	struct session_time *time = &session->time;
	if (!time->account)
		return;
	if (time->goroutines && !time_account_is_on(time->account))
		goroutines_begin(time->goroutines, end_ns);
	end_records(session, end_ns);
	time_account_switch(time->account, false, end_ns);
	read_records(session, UINT64_MAX, SIZE_MAX);
	look_at_all(time, true);
	time_account_tell(time->account, end_ns, true);
	session_end_waits(session, end_ns);
}

void session_release_time(struct session *session)
{
	goroutines_free(session->time.goroutines);
	looker_free(session->time.looker);
	time_account_free(session->time.account);
	free(session->time.outs.chains);
	wait_ring_close(&session->time.ring);
	text_release(&session->time.call);
	wait_objects_free(session->time.objects);
	wakers_free(session->time.wakers);
	free(session->time.pass.items);
	free(session->time.told.items);
}

/* ---- told ---- */

/* What records will still tell is left until they do. */
static uint64_t told_until_ns(const struct session *session)
{
	const bool is_over = session->phase != PHASE_RUNNING;
	return is_over || uses_looks(&session->time) ? clock_now_ns() : session->time.read_until_ns;
}

void session_add_times(struct session *session, struct session_stats *stats)
{
	const struct session_time *time = &session->time;
	if (time->looker) {
		stats->waits_silent = looker_nr_silent(time->looker);
		stats->waits_unasked = looker_nr_unasked(time->looker);
		stats->cpu_ns[0] += looker_cpu_ns(time->looker);
	}
	if (!time->account)
		return;
	stats->times = time_account_sum(time->account, told_until_ns(session));
	stats->nr_timed = time_account_nr_threads(time->account);
	stats->untimed = time_account_nr_left_out(time->account);
	stats->all_locked = time_account_all_locked(time->account);
	stats->time_source = time->source;
	stats->switch_cost_ns = time_account_switch_cost_ns(time->account);
	stats->waits_estimated_ns = time_account_estimated_ns(time->account);
	stats->waits_refused = time->nr_refused;
	stats->waits_refused_by = time->refusal;
	stats->waits_untold_ns = time->untold_ns;
	stats->wakings_lost = sampler_wakings_lost(session->sampler);
	stats->wakings_untold = time->wakings.nr_untold;
	stats->switch_outs = time->outs.nr_all;
	stats->switch_outs_lost = sampler_switch_outs_lost(session->sampler);
	stats->switch_out_period = sampler_switch_out_period(session->sampler);
	stats->wakeups_unseen = time->wakeups.nr_unseen;
	stats->wakeups_untold_ns = time->wakeups.untold_ns;
	stats->wakeups_given_up = time->wakeups.was_given_up;
	stats->calls = time->calls.nr;
	stats->calls_lost = sampler_calls_lost(session->sampler);
	stats->calls_given_up = time->calls.was_given_up;
	if (time->goroutines)
		goroutines_add_counts(time->goroutines, stats);
}

bool session_follow_threads(struct session *session,
			    void (*follow)(void *context, const struct thread_stretch *stretch),
			    void *context)
{
	if (session->time.account)
		time_account_follow(session->time.account, follow, context);
	return session->time.account != NULL;
}

void session_tell_threads(struct session *session)
{
	/* Looks tell of what was up to them. */
	if (session->time.account && !uses_looks(&session->time))
		time_account_tell(session->time.account, session->time.read_until_ns, false);
}

struct looker *session_looker(const struct session *session)
{
	return session->time.looker;
}

enum time_source session_time_source(const struct session *session)
{
	return session->time.account ? session->time.source : TIME_FROM_NOTHING;
}

static struct session_long_wait long_wait_of(const struct thread_wait *found)
{
	struct session_long_wait wait = {.tid = found->tid, .kind = found->kind};
	snprintf(wait.name, sizeof(wait.name), "%s", found->name);
	return wait;
}

bool session_find_wait(const struct session *session, unsigned kinds, uint64_t least_ns,
		       uint64_t after_ns, uint64_t until_ns, struct session_long_wait *wait)
{
	struct thread_wait found;
	if (!session->time.account || !time_account_find_wait(session->time.account, kinds,
							      least_ns, after_ns, until_ns, &found))
		return false;
	*wait = long_wait_of(&found);
	return true;
}

bool session_wait_of(const struct session *session, int32_t tid, struct session_long_wait *wait)
{
	struct thread_wait found;
	if (!session->time.account || !time_account_wait_of(session->time.account, tid, &found))
		return false;
	*wait = long_wait_of(&found);
	return true;
}

bool session_used_by_threads(struct session *session, struct session_used *used)
{
	if (!session->time.account)
		return false;
	used->until_ns = told_until_ns(session);
	used->cpu_ns = time_account_sum(session->time.account, used->until_ns).ns[TIME_RUNNING];
	return true;
}

const struct thread_times *session_thread_times(struct session *session, size_t *nr)
{
	struct session_time *time = &session->time;
	*nr = 0;
	if (!time->account || vec_reserve(&time->told, TOLD_MOST + 1))
		return NULL;
	*nr = time_account_threads(time->account, told_until_ns(session), time->told.items,
				   TOLD_MOST);
	return time->told.items;
}

uint64_t session_waits_since(const struct session *session, int32_t tid)
{
	return session->time.account ? time_account_waits_since(session->time.account, tid) : 0;
}
