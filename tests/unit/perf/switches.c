/* SPDX-License-Identifier: MIT */
/* Records of switches, as main reads them: all of a thread's, in the order of time, and what a full ring has hidden. */
#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

#include "told_child.h"

enum { ROUNDS = 200, MANY_ROUNDS = 40000 };

static void pass(int from, int to, int rounds)
{
	char byte = 'x';
	for (int i = 0; i < rounds; i++)
		if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
			_exit(1);
}

static void echo(int from, int to)
{
	char byte;
	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	_exit(0);
}

/* For each byte gives and takes a byte so many times with another process. */
static void switch_when_told(int told, int says)
{
	int there[2], back[2];
	char byte;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus); /* so that each has to wait for the other */
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pipe(there) || pipe(back))
		_exit(1);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		echo(there[0], back[1]);
	}
	do {
		if (write(says, "r", 1) != 1 || read(told, &byte, 1) != 1)
			_exit(1);
		pass(back[0], there[1], byte == 'm' ? MANY_ROUNDS : ROUNDS);
	} while (true);
}

struct seen {
	int32_t pid;
	uint64_t last_ns, nr_in, nr_out, nr_wrong, nr_lost;
	uint32_t cpu; /* of the last */
	bool out;
};

static void see(void *context, const struct record *record, uint64_t before_ns)
{
	struct seen *seen = context;
	seen->nr_wrong += record->time_ns < seen->last_ns || before_ns > record->time_ns;
	seen->last_ns = record->time_ns;
	seen->nr_lost += record->type == PERF_RECORD_LOST;
	if (record->type != PERF_RECORD_SWITCH || record->tid != seen->pid)
		return;
	/* In and out by turns, unless some are missing. */
	seen->nr_wrong +=
		!seen->nr_lost && seen->nr_in + seen->nr_out && seen->out == record->switched.out;
	seen->out = record->switched.out;
	seen->cpu = record->cpu;
	seen->nr_in += !record->switched.out;
	seen->nr_out += record->switched.out;
}

static void every_switch_in_order(void)
{
	require_root();
	const struct told_child switcher = told_child_start(switch_when_told);
	const struct sampler_options options = options_for(&switcher.pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	CHECK_EQ(sampler_nr_switches(sampler), sampler_nr_rings(sampler));
	struct seen seen = {.pid = switcher.pid};
	told_child_tell(&switcher, 'f');
	const uint64_t now_ns = clock_now_ns();
	while (sampler_read_switches(sampler, now_ns, 100, see, &seen))
		;
	CHECK_EQ(seen.nr_lost, 0);
	CHECK_EQ(seen.nr_wrong, 0);
	CHECK(seen.nr_out >= ROUNDS && seen.nr_in >= ROUNDS);
	cpu_set_t cpus;
	CHECK_EQ(sched_getaffinity(switcher.pid, sizeof(cpus), &cpus), 0);
	CHECK(seen.cpu < CPU_SETSIZE && CPU_ISSET(seen.cpu, &cpus));
	CHECK(seen.last_ns < now_ns);
	CHECK_EQ(sampler_switches_known_until(sampler), UINT64_MAX);
	/* None that is younger than asked for, none once they have been ended. */
	const struct seen before = seen;
	sampler_end_switches(sampler);
	told_child_tell(&switcher, 'f');
	sampler_read_switches(sampler, now_ns, SIZE_MAX, see, &seen);
	CHECK_EQ(seen.nr_in + seen.nr_out, before.nr_in + before.nr_out);
	sampler_read_switches(sampler, UINT64_MAX, SIZE_MAX, see, &seen);
	CHECK(seen.nr_in + seen.nr_out < before.nr_in + before.nr_out + ROUNDS);
	sampler_free(sampler);
	told_child_end(&switcher);
}

static void a_full_ring_hides_its_last_losses(void)
{
	require_root();
	const struct told_child switcher = told_child_start(switch_when_told);
	const struct sampler_options options = options_for(&switcher.pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	struct seen seen = {.pid = switcher.pid};
	const uint64_t before_ns = clock_now_ns();
	told_child_tell(&switcher, 'm');
	sampler_end_switches(sampler);
	sampler_read_switches(sampler, UINT64_MAX, SIZE_MAX, see, &seen);
	CHECK(seen.nr_in + seen.nr_out < 2 * MANY_ROUNDS);
	/* Nobody was there to tell of it by a record. */
	CHECK_EQ(seen.nr_lost, 0);
	const uint64_t known_ns = sampler_switches_known_until(sampler);
	CHECK(known_ns > before_ns && known_ns <= seen.last_ns);
	sampler_free(sampler);
	told_child_end(&switcher);
}

struct woken {
	int32_t waker, tid;
	uint64_t last_ns, nr, nr_ours, nr_foreign, nr_wrong;
};

static void see_wakings(void *context, const struct record *record, uint64_t before_ns)
{
	struct woken *woken = context;
	woken->nr_wrong += record->time_ns < woken->last_ns || before_ns > record->time_ns;
	woken->last_ns = record->time_ns;
	if (record->type != RECORD_WAKING)
		return;
	woken->nr += record->waking.tid == woken->tid;
	woken->nr_ours += record->waking.tid == woken->tid && record->tid == getpid();
	woken->nr_foreign += record->waking.tid != woken->tid;
}

/* It waits to be told. */
static void await_sleep(int32_t pid)
{
	struct stat_line line;
	do
		CHECK(proc_stat_line(pid, pid, &line));
	while (line.state != 'S');
}

static void who_is_woken_by_whom(void)
{
	require_root();
	const struct told_child switcher = told_child_start(switch_when_told);
	const struct sampler_options options = options_for(&switcher.pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	int32_t tids[100] = {switcher.pid};
	struct sampler_threads threads = {tids, 1, INT32_MAX - 1};
	const int result = sampler_follow_wakings(sampler, &threads);
	if (result)
		SKIP("no records of wakings here");
	CHECK(sampler_wakings_cover(sampler, switcher.pid) && !sampler_wakings_cover(sampler, 1));
	CHECK_EQ(sampler_nr_switch_fds(sampler), 2 * sampler_nr_rings(sampler));
	struct woken woken = {.tid = switcher.pid};
	await_sleep(switcher.pid);
	told_child_tell(&switcher, 'f');
	sampler_read_switches(sampler, UINT64_MAX, SIZE_MAX, see_wakings, &woken);
	/* We told it to begin. The other process is nobody of whom it was asked. */
	CHECK(woken.nr >= 1 && woken.nr_ours == 1);
	CHECK(woken.nr_foreign == 0 && woken.nr_wrong == 0);
	/* Of others from now on: as few ranges as tell them apart from most. */
	for (int i = 0; i < 100; i++)
		tids[i] = 10 * i + (i >= 50 ? 100000 : 1000);
	threads = (struct sampler_threads){tids, 100, 200000};
	CHECK_EQ(sampler_follow_wakings(sampler, &threads), 0);
	for (int i = 0; i < 100; i++)
		CHECK(sampler_wakings_cover(sampler, 10 * i + (i >= 50 ? 100000 : 1000)));
	CHECK(!sampler_wakings_cover(sampler, 999) && !sampler_wakings_cover(sampler, 50000));
	CHECK(sampler_wakings_cover(sampler, 200001));
	sampler_end_wakings(sampler);
	CHECK_EQ(sampler_wakings_lost(sampler), 0);
	sampler_free(sampler);
	told_child_end(&switcher);
}

struct sampled {
	int32_t tid;
	bool is_next; /* the sampled wait is to begin */
	uint64_t last_ns;
	uint64_t nr, nr_outs, nr_wrong;
};

static void see_samples(void *context, const struct record *record, uint64_t before_ns)
{
	struct sampled *sampled = context;
	(void)before_ns;
	if (record->tid != sampled->tid)
		return;
	if (record->type == RECORD_SWITCHED_OUT) {
		const struct record_sample *sample = &record->sample;
		/* Behind a change of the period the first one may come twice (Linux 6.18). */
		const bool is_twice = record->time_ns == sampled->last_ns;
		sampled->nr_wrong += (sampled->is_next && !is_twice) || !sample->nr_chain ||
				     !sample->stack_bytes ||
				     sample->regs_abi != PERF_SAMPLE_REGS_ABI_64;
		sampled->nr += !is_twice;
		sampled->last_ns = record->time_ns;
		sampled->is_next = true;
	}
	if (record->type != PERF_RECORD_SWITCH || !record->switched.out)
		return;
	/* Who is woken while it is being switched out is told as preempted. */
	sampled->nr_outs += !record->switched.preempted || sampled->is_next;
	sampled->is_next = false;
}

/* Until it has waited so often. */
static void switch_and_see(const struct told_child *switcher, struct sampler *sampler,
			   struct sampled *sampled, uint64_t nr_outs)
{
	do {
		told_child_tell(switcher, 'f');
		sampler_read_switches(sampler, UINT64_MAX, SIZE_MAX, see_samples, sampled);
	} while (sampled->nr_outs < nr_outs);
}

static void waits_are_sampled_as_they_begin(void)
{
	enum { PERIOD = 21 };
	require_root();
	const struct told_child switcher = told_child_start(switch_when_told);
	const struct sampler_options options = options_for(&switcher.pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	int32_t tids[] = {switcher.pid};
	const struct sampler_threads threads = {tids, 1, INT32_MAX - 1};
	struct sampled sampled = {.tid = switcher.pid};
	CHECK_EQ(sampler_switch_out_period(sampler), 0);
	await_sleep(switcher.pid);
	if (sampler_follow_switch_outs(sampler, &threads, 1))
		SKIP("no samples of waits here");
	switch_and_see(&switcher, sampler, &sampled, 1);
	/* What does not fit in is lost, and nothing else: each wait is one or the other. */
	const uint64_t lost = sampler_switch_outs_lost(sampler);
	CHECK(sampled.nr + lost >= sampled.nr_outs && sampled.nr <= sampled.nr_outs);
	CHECK(sampled.nr > 0);
	CHECK_EQ(sampled.nr_wrong, 0);
	CHECK_EQ(sampler_switches_known_until(sampler), UINT64_MAX);
	/* Each so many, and the first one on each CPU. */
	sampler_set_switch_out_period(sampler, PERIOD);
	CHECK_EQ(sampler_switch_out_period(sampler), PERIOD);
	sampled = (struct sampled){.tid = switcher.pid};
	switch_and_see(&switcher, sampler, &sampled, 4 * PERIOD);
	CHECK_EQ(sampler_switch_outs_lost(sampler), lost);
	CHECK(sampled.nr + sampler_nr_rings(sampler) >= sampled.nr_outs / PERIOD);
	CHECK(sampled.nr <= sampled.nr_outs / PERIOD + 2 * sampler_nr_rings(sampler));
	CHECK_EQ(sampled.nr_wrong, 0);
	sampler_end_switch_outs(sampler);
	const uint64_t nr = sampled.nr;
	switch_and_see(&switcher, sampler, &sampled, 0);
	CHECK_EQ(sampled.nr, nr);
	sampler_free(sampler);
	told_child_end(&switcher);
}

int main(void)
{
	RUN(every_switch_in_order);
	RUN(a_full_ring_hides_its_last_losses);
	RUN(who_is_woken_by_whom);
	RUN(waits_are_sampled_as_they_begin);
	return test_done();
}
