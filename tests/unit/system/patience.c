/* SPDX-License-Identifier: MIT */
/* What counts as a process's own time, and what the machine's other work takes it does not. */
#include <ctop/system/patience.h>

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/sched_stat.h>

#include "test.h"

#define LIMIT_NS (NS_PER_SECOND / 10)

/* What one that waits for others' CPU has to compute: they leave it hundredths. */
enum { WORK_MS = 2 };

static uint64_t own_cpu_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

/* A child on that CPU that computes for so long, and sleeps then. */
static pid_t child(int cpu, int policy, uint64_t compute_ns)
{
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, policy, &(struct sched_param){0});
	while (own_cpu_ns() < compute_ns)
		;
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static uint64_t passed_ns(const struct patience *patience)
{
	return clock_now_ns() - patience->since_ns;
}

static void check_ends(uint64_t compute_ns)
{
	pid_t pid = child(sched_getcpu(), SCHED_OTHER, compute_ns);
	const struct patience patience = patience_with(pid, LIMIT_NS);
	int timeout_ms;
	while ((timeout_ms = patience_timeout_ms(&patience, pid)))
		poll(NULL, 0, timeout_ms);
	CHECK(patience_is_over(&patience, pid));
	CHECK(passed_ns(&patience) >= LIMIT_NS);
	end(pid);
}

static void one_that_sleeps(void)
{
	check_ends(0);
}

static void one_that_computes(void)
{
	check_ends(UINT64_MAX);
}

static void one_that_has_ended(void)
{
	pid_t pid = child(sched_getcpu(), SCHED_OTHER, 0);
	const struct patience patience = patience_with(pid, LIMIT_NS);
	end(pid);
	while (passed_ns(&patience) < LIMIT_NS)
		poll(NULL, 0, 1);
	CHECK(patience_is_over(&patience, pid));
}

/* Whatever it had to wait, it may sleep as long as any other behind that. */
static void one_that_others_keep_from_its_cpu(void)
{
	const int cpu = sched_getcpu();
	pid_t others[] = {child(cpu, SCHED_OTHER, UINT64_MAX), child(cpu, SCHED_OTHER, UINT64_MAX)};
	pid_t pid = child(cpu, SCHED_IDLE, WORK_MS * NS_PER_MS);
	const struct patience patience = patience_with(pid, LIMIT_NS);
	struct stat_line line = {0};
	struct sched_stat stat;
	unsigned nr_kept = 0;
	bool is_known = true, is_right = true, sleeps = false;
	/* On a machine full of others it would come to sleep late. */
	while (is_known && is_right && !sleeps && passed_ns(&patience) < 100 * LIMIT_NS) {
		is_known = proc_stat_line(pid, pid, &line) && sched_stat_read(pid, pid, &stat);
		sleeps = line.state == 'S';
		const bool is_over = patience_is_over(&patience, pid);
		if (is_over && passed_ns(&patience) < LIMIT_NS + stat.queue_ns)
			is_right = false;
		nr_kept += !is_over && passed_ns(&patience) >= LIMIT_NS;
		poll(NULL, 0, 10);
	}
	end(pid);
	end(others[0]);
	end(others[1]);
	CHECK(is_right);
	if (!is_known)
		SKIP("no schedstat here");
	if (!nr_kept)
		SKIP("it was not kept from its CPU for so long");
}

int main(void)
{
	RUN(one_that_sleeps);
	RUN(one_that_computes);
	RUN(one_that_has_ended);
	RUN(one_that_others_keep_from_its_cpu);
	return test_done();
}
