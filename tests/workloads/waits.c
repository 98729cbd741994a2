/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for known times, and measure them:
 *
 *     sleeper > sleep_once > clock_nanosleep   ROUNDS sleeps of 20 ms
 *     blocked > take_lock > pthread_mutex_lock while "holder" sleeps with the lock, ROUNDS times 20 ms
 *     ping, pong > pass_on > read              10 * ROUNDS bytes, to and fro
 *     worker > compute                         ROUNDS times 10 ms of CPU time
 *
 *     waits [SECONDS [ROUNDS]]
 *
 * At its end each prints "NAME TID WALL CPU WAITED" in ms: from its first instruction to its last, and in calls that wait.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "workload.h"

enum { NR_THREADS = 6 };
static int rounds = 20;
static pthread_barrier_t all_there;
static pthread_barrier_t taken, given; /* the lock, by holder */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;
static int to_pong[2], to_ping[2];

struct measured {
	const char *name;
	double began_ms, waited_ms;
};

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

#define waiting(measured, call)                                                                    \
	do {                                                                                       \
		const double before_ms = now_ms();                                                 \
		call;                                                                              \
		(measured)->waited_ms += now_ms() - before_ms;                                     \
	} while (0)

static void begin(struct measured *measured, const char *name)
{
	*measured = (struct measured){.name = name, .began_ms = now_ms()};
	pthread_setname_np(pthread_self(), name);
	waiting(measured, pthread_barrier_wait(&all_there));
}

static void end(const struct measured *measured)
{
	const double wall_ms = now_ms() - measured->began_ms, used_ms = cpu_ms();
	pthread_mutex_lock(&printing);
	printf("%s %ld %.3f %.3f %.3f\n", measured->name, (long)syscall(SYS_gettid), wall_ms,
	       used_ms, measured->waited_ms);
	fflush(stdout);
	pthread_mutex_unlock(&printing);
}

static FRAME void sleep_once(void)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static FRAME void *sleeper(void *unused)
{
	struct measured measured;
	begin(&measured, "sleeper");
	for (int i = 0; i < rounds; i++)
		waiting(&measured, sleep_once());
	end(&measured);
	return unused;
}

static FRAME void *holder(void *unused)
{
	struct measured measured;
	begin(&measured, "holder");
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		waiting(&measured, pthread_barrier_wait(&taken));
		waiting(&measured, sleep_once());
		pthread_mutex_unlock(&lock);
		waiting(&measured, pthread_barrier_wait(&given));
	}
	end(&measured);
	return unused;
}

static FRAME void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static FRAME void *blocked(void *unused)
{
	struct measured measured;
	begin(&measured, "blocked");
	for (int i = 0; i < rounds; i++) {
		waiting(&measured, pthread_barrier_wait(&taken));
		waiting(&measured, take_lock());
		pthread_mutex_unlock(&lock);
		waiting(&measured, pthread_barrier_wait(&given));
	}
	end(&measured);
	return unused;
}

static FRAME void pass_on(struct measured *measured, int from, int to)
{
	char byte;
	waiting(measured, if (read(from, &byte, 1) != 1) exit(1));
	waiting(measured, if (write(to, "x", 1) != 1) exit(1));
}

static FRAME void *ping(void *unused)
{
	struct measured measured;
	begin(&measured, "ping");
	if (write(to_pong[1], "x", 1) != 1)
		exit(1);
	for (int i = 0; i < 10 * rounds; i++)
		pass_on(&measured, to_ping[0], to_pong[1]);
	end(&measured);
	return unused;
}

static FRAME void *pong(void *unused)
{
	struct measured measured;
	begin(&measured, "pong");
	for (int i = 0; i < 10 * rounds; i++)
		pass_on(&measured, to_pong[0], to_ping[1]);
	end(&measured);
	return unused;
}

static FRAME void compute(int round)
{
	work_until(10.0 * (round + 1));
}

static FRAME void *worker(void *unused)
{
	struct measured measured;
	begin(&measured, "worker");
	for (int i = 0; i < rounds; i++)
		compute(i);
	end(&measured);
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[NR_THREADS])(void *) = {sleeper, holder, blocked,
							    ping,    pong,   worker};
	pthread_t threads[NR_THREADS];
	rounds = argc > 2 ? atoi(argv[2]) : rounds;
	if (pipe(to_pong) || pipe(to_ping))
		return 1;
	pthread_barrier_init(&all_there, NULL, NR_THREADS);
	pthread_barrier_init(&taken, NULL, 2);
	pthread_barrier_init(&given, NULL, 2);
	workload_start(argc, argv);
	workload_ready();
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&threads[i], NULL, bodies[i], NULL))
			return 1;
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
