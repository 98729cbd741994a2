/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in known functions, and measure how long:
 *
 *     naps > nap_long                        sleeps of 300 ms
 *     mixed > nap_short, nap_long            40 sleeps of 2 ms, one of 200 ms
 *     holder > nap_long                      sleeps of 150 ms with the lock, of 30 ms without
 *     wanter > take_lock                     waits for the lock, then computes 5 ms
 *     reader > read_byte                     a byte comes each 250 ms
 *     poller > poll_nothing                  400 ms
 *     parent > wait_for_child                children that sleep 300 ms
 *     idle > read_nothing                    for ever
 *
 *     waiters SECONDS
 *
 * Prints "ready PID", and at its end "NAME FUNCTION MS".
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

enum { SLOTS = 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int bytes[2], nothing[2];
static double end_ms;
static struct {
	const char *thread, *function;
	double ms;
} slots[SLOTS];
static atomic_int nr_slots;

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double *slot(const char *thread, const char *function)
{
	const int nr = atomic_fetch_add(&nr_slots, 1);
	slots[nr].thread = thread;
	slots[nr].function = function;
	return &slots[nr].ms;
}

#define measured(ms, call)                                                                         \
	do {                                                                                       \
		const double before_ms = now_ms();                                                 \
		call;                                                                              \
		*(ms) += now_ms() - before_ms;                                                     \
	} while (0)

static void sleep_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000 * 1000};
	nanosleep(&pause, NULL);
}

static FRAME void nap_long(long ms)
{
	sleep_ms(ms);
}

static FRAME void nap_short(long ms)
{
	sleep_ms(ms);
}

static FRAME void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static FRAME void read_byte(void)
{
	char byte;
	if (read(bytes[0], &byte, 1) < 0)
		_exit(1);
}

static FRAME void read_nothing(void)
{
	char byte;
	if (read(nothing[0], &byte, 1) < 0)
		_exit(1);
}

/* What it calls is far from where it begins. */
static FRAME void poll_nothing(void)
{
	struct pollfd fd = {.fd = nothing[0], .events = POLLIN};
	__asm__ volatile(".rept 300\n\tnop\n\t.endr");
	poll(&fd, 1, 400);
}

static FRAME void wait_for_child(pid_t child)
{
	waitpid(child, NULL, 0);
}

static FRAME void *naps(void *unused)
{
	double *ms = slot("naps", "nap_long");
	prctl(PR_SET_NAME, "naps");
	while (now_ms() < end_ms)
		measured(ms, nap_long(300));
	return unused;
}

static FRAME void *mixed(void *unused)
{
	double *shorts = slot("mixed", "nap_short"), *longs = slot("mixed", "nap_long");
	prctl(PR_SET_NAME, "mixed");
	while (now_ms() < end_ms) {
		for (int i = 0; i < 40; i++)
			measured(shorts, nap_short(2));
		measured(longs, nap_long(200));
	}
	return unused;
}

static FRAME void *holder(void *unused)
{
	double *ms = slot("holder", "nap_long");
	prctl(PR_SET_NAME, "holder");
	while (now_ms() < end_ms) {
		pthread_mutex_lock(&lock);
		measured(ms, nap_long(150));
		pthread_mutex_unlock(&lock);
		measured(ms, nap_long(30));
	}
	return unused;
}

static FRAME void *wanter(void *unused)
{
	double *ms = slot("wanter", "take_lock");
	prctl(PR_SET_NAME, "wanter");
	while (now_ms() < end_ms) {
		measured(ms, take_lock());
		work(500);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static FRAME void *reader(void *unused)
{
	double *ms = slot("reader", "read_byte");
	prctl(PR_SET_NAME, "reader");
	while (now_ms() < end_ms)
		measured(ms, read_byte());
	return unused;
}

static FRAME void *poller(void *unused)
{
	double *ms = slot("poller", "poll_nothing");
	prctl(PR_SET_NAME, "poller");
	while (now_ms() < end_ms)
		measured(ms, poll_nothing());
	return unused;
}

static FRAME void *parent(void *unused)
{
	double *ms = slot("parent", "wait_for_child");
	prctl(PR_SET_NAME, "parent");
	while (now_ms() < end_ms) {
		const pid_t child = fork();
		if (child == 0) {
			prctl(PR_SET_NAME, "child");
			sleep_ms(300);
			_exit(0);
		}
		measured(ms, wait_for_child(child));
	}
	return unused;
}

static FRAME void *idle(void *unused)
{
	prctl(PR_SET_NAME, "idle");
	read_nothing();
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const threads[])(void *) = {naps,   mixed,  holder, wanter,
						   reader, poller, parent};
	enum { NR_THREADS = sizeof(threads) / sizeof(*threads) };
	pthread_t ids[NR_THREADS], sleeper;
	const double seconds = argc > 1 ? atof(argv[1]) : 3600;
	if (pipe(bytes) || pipe(nothing))
		return 1;
	end_ms = now_ms() + seconds * 1e3;
	for (int i = 0; i < NR_THREADS; i++)
		if (pthread_create(&ids[i], NULL, threads[i], NULL))
			return 1;
	if (pthread_create(&sleeper, NULL, idle, NULL))
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (now_ms() < end_ms + 300) {
		sleep_ms(250);
		if (write(bytes[1], "x", 1) < 0)
			return 1;
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < atomic_load(&nr_slots); i++)
		printf("%s %s %.3f\n", slots[i].thread, slots[i].function, slots[i].ms);
	return 0;
}
