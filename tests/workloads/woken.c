/* SPDX-License-Identifier: MIT */
/*
 * A thread that is woken, and has to wait for the CPU of the one who wakes it:
 *
 *     waker > compute          ROUNDS times: wakes "woken", then 5 ms of CPU time
 *     woken > read             as often, then 0.2 ms of CPU time
 *
 *     woken [SECONDS [ROUNDS]]
 *
 * Both have one CPU, and "woken" is a batch task, which takes it from nobody. At its end each prints "NAME TID QUEUED" in ms: how long it
 * wanted a CPU and had none, by its own /proc/thread-self/schedstat.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "workload.h"

static int rounds = 60;
static int wakes[2];
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static void end(const char *name)
{
	unsigned long long queued_ns = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");
	if (!file || fscanf(file, "%*u %llu", &queued_ns) != 1)
		exit(1);
	fclose(file);
	pthread_mutex_lock(&printing);
	printf("%s %ld %.3f\n", name, (long)syscall(SYS_gettid), (double)queued_ns / 1e6);
	fflush(stdout);
	pthread_mutex_unlock(&printing);
}

static FRAME void compute(double ms)
{
	work_until(cpu_ms() + ms);
}

static FRAME void *waker(void *unused)
{
	pthread_setname_np(pthread_self(), "waker");
	for (int i = 0; i < rounds; i++) {
		if (write(wakes[1], "x", 1) != 1)
			exit(1);
		compute(5);
	}
	end("waker");
	return unused;
}

static FRAME void *woken(void *unused)
{
	const struct sched_param none = {0};
	char byte;
	pthread_setname_np(pthread_self(), "woken");
	sched_setscheduler(0, SCHED_BATCH, &none);
	for (int i = 0; i < rounds; i++) {
		if (read(wakes[0], &byte, 1) != 1)
			exit(1);
		compute(0.2);
	}
	end("woken");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	cpu_set_t cpus;
	workload_start(argc, argv);
	rounds = argc > 2 ? atoi(argv[2]) : rounds;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || pipe(wakes))
		return 1;
	pthread_create(&threads[0], NULL, woken, NULL);
	pthread_create(&threads[1], NULL, waker, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
