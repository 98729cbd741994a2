/* SPDX-License-Identifier: MIT */
/*
 * Threads that are created, preempted and migrated for known times:
 *
 *     maker > pthread_create           creates the others, and is created by the first thread
 *     mover > go_to                    goes from one CPU to another, MOVES times
 *     rival, loser > compete           take 50 ms of the same CPU's time each
 *
 *     moved [SECONDS [MOVES]]
 *
 * At its end each prints "NAME TID BEFORE AFTER PREEMPTED MIGRATED": the ns of CLOCK_MONOTONIC between which it was created, and the kernel's own counts (-1:
 * it has none).
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "workload.h"

static int moves = 40;
static int cpus[2];
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

struct made {
	const char *name;
	void (*what)(void);
	pthread_t thread;
	uint64_t before_ns, after_ns;
	pthread_barrier_t is_made;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static long nr_migrations(void)
{
	char path[64], line[256];
	long nr = -1;
	snprintf(path, sizeof(path), "/proc/self/task/%ld/sched", (long)syscall(SYS_gettid));
	FILE *sched = fopen(path, "r");
	while (sched && fgets(line, sizeof(line), sched))
		if (strstr(line, "nr_migrations"))
			nr = atol(strchr(line, ':') + 1);
	if (sched)
		fclose(sched);
	return nr;
}

static void *run(void *context)
{
	struct made *made = context;
	struct rusage usage;
	pthread_setname_np(pthread_self(), made->name);
	pthread_barrier_wait(&made->is_made);
	made->what();
	getrusage(RUSAGE_THREAD, &usage);
	const long migrated = nr_migrations();
	pthread_mutex_lock(&printing);
	printf("%s %ld %llu %llu %ld %ld\n", made->name, (long)syscall(SYS_gettid),
	       (unsigned long long)made->before_ns, (unsigned long long)made->after_ns,
	       usage.ru_nivcsw, migrated);
	fflush(stdout);
	pthread_mutex_unlock(&printing);
	return NULL;
}

static void make(struct made *made)
{
	pthread_barrier_init(&made->is_made, NULL, 2);
	made->before_ns = now_ns();
	if (pthread_create(&made->thread, NULL, run, made))
		exit(1);
	made->after_ns = now_ns();
	pthread_barrier_wait(&made->is_made);
}

static FRAME void go_to(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
}

static void move(void)
{
	go_to(cpus[0]);
	for (int i = 1; i <= moves; i++) {
		go_to(cpus[i % 2]);
		work(10);
	}
}

static FRAME void compete(void)
{
	go_to(cpus[0]);
	work_until(50.0);
}

static void make_all(void)
{
	static struct made all[] = {
		{.name = "mover", .what = move},
		{.name = "rival", .what = compete},
		{.name = "loser", .what = compete},
	};
	for (int i = 0; i < 3; i++)
		make(&all[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(all[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static struct made maker = {.name = "maker", .what = make_all};
	cpu_set_t allowed;
	int nr = 0;
	workload_start(argc, argv);
	workload_ready();
	moves = argc > 2 ? atoi(argv[2]) : moves;
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[nr++] = cpu;
	/* With one CPU it goes nowhere. */
	if (nr < 2)
		cpus[1] = cpus[0];
	printf("cpus %d %d\n", cpus[0], cpus[1]);
	fflush(stdout);
	make(&maker);
	pthread_join(maker.thread, NULL);
	return 0;
}
