/* SPDX-License-Identifier: MIT */
/* What main itself reads of the target, and the account of what is missing of it. */
#include <pthread.h>
#include <sys/syscall.h>

#include "told_child.h"

/* Children by the round, until a ring of some 1100 records (with pages of 4 KiB) must be full. */
enum { CHILDREN_A_ROUND = 500, NR_THREADS = 30, SPARE_DESCRIPTORS = 8 };

/* For each byte forks ten times so many children, one after the other. */
static void fork_when_told(int told, int says)
{
	cpu_set_t cpus;
	char byte;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus); /* so that one ring gets it all */
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		_exit(1);
	do {
		if (write(says, "r", 1) != 1 || read(told, &byte, 1) != 1)
			_exit(1);
		for (int i = 0; i < byte * 10; i++) {
			pid_t pid = fork();
			if (pid == 0)
				_exit(0);
			waitpid(pid, NULL, 0);
		}
	} while (true);
}

/* nr: tens, at most a thousand. */
static void fork_children(const struct told_child *forker, int nr)
{
	told_child_tell(forker, (char)(nr / 10));
}

static void count(void *context, const struct record *record)
{
	uint64_t *nr = context;
	CHECK(record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT);
	(*nr)++;
}

static uint64_t read_all(struct sampler *sampler)
{
	uint64_t nr = 0;
	while (sampler_read_sideband(sampler, 100, count, &nr))
		;
	return nr;
}

static void records_that_are_lost_are_counted(void)
{
	require_root();
	const struct told_child forker = told_child_start(fork_when_told);
	const struct sampler_options options = options_for(&forker.pid, "cpu-clock");
	struct sampler *sampler = open_or_explain(&options);
	fork_children(&forker, 100);
	CHECK_EQ(read_all(sampler), 200);
	CHECK_EQ(sampler_sideband_losses(sampler).records, 0);
	const long nr_rounds = 3 * sysconf(_SC_PAGESIZE) / 4096;
	const uint64_t nr_made = 2 * CHILDREN_A_ROUND * (uint64_t)nr_rounds;
	for (int i = 0; i < nr_rounds; i++)
		fork_children(&forker, CHILDREN_A_ROUND);
	const uint64_t nr = read_all(sampler);
	CHECK(nr < nr_made);
	/* The next record tells of those before it; kernels before 6.0 tell no sooner. */
	fork_children(&forker, 10);
	CHECK_EQ(read_all(sampler), 20);
	CHECK_EQ(sampler_sideband_losses(sampler).records, nr_made - nr);
	CHECK_EQ(sampler_sideband_losses(sampler).threads, 0);
	sampler_free(sampler);
	told_child_end(&forker);
}

/* ---- too few descriptors ---- */

static void *wait_for_ever(void *context)
{
	while (true)
		pause();
	return context;
}

static int32_t start_threads(void)
{
	int says[2];
	char byte;
	CHECK_EQ(pipe(says), 0);
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1);
		for (int i = 1; i < NR_THREADS; i++) {
			pthread_t thread;
			if (pthread_create(&thread, NULL, wait_for_ever, NULL))
				_exit(1);
		}
		if (write(says[1], "r", 1) != 1)
			_exit(1);
		wait_for_ever(NULL);
	}
	close(says[1]);
	CHECK_EQ(read(says[0], &byte, 1), 1);
	close(says[0]);
	return pid;
}

/* The next free one is as high as there are open ones. */
static rlim_t nr_descriptors(void)
{
	const int fd = dup(STDOUT_FILENO);
	CHECK(fd >= 0);
	close(fd);
	return (rlim_t)fd;
}

static void follow_with_few_descriptors(void *context)
{
	const struct sampler_options *options = context;
	/* An owner of each of two rings, the event of each thread; hardly any are left for what main reads. */
	const rlim_t needed = 2 + NR_THREADS + SPARE_DESCRIPTORS;
	const struct rlimit few = {nr_descriptors() + needed, nr_descriptors() + needed};
	drop_capability(CAP_SYS_RESOURCE); /* else root raises the limit */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	struct sampler *sampler = open_or_explain(options);
	CHECK(!sampler_filters_pids(sampler));
	CHECK_EQ(sampler_nr_ids(sampler), NR_THREADS);
	const uint64_t nr = sampler_sideband_losses(sampler).threads;
	CHECK(nr >= NR_THREADS - SPARE_DESCRIPTORS && nr < NR_THREADS);
	CHECK_EQ(sampler_sideband_losses(sampler).records, 0);
	sampler_free(sampler);
}

static void threads_that_are_not_followed_are_counted(void)
{
	require_root();
	int32_t pid = start_threads(), cpu = sched_getcpu();
	struct sampler_options options = options_for(&pid, "cpu-clock");
	options.cpus = &cpu;
	options.nr_cpus = 1;
	in_child(follow_with_few_descriptors, &options);
	end_process(pid);
}

int main(void)
{
	RUN(records_that_are_lost_are_counted);
	RUN(threads_that_are_not_followed_are_counted);
	return test_done();
}
