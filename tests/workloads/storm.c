/* SPDX-License-Identifier: MIT */
/*
 * Threads that are hard to attach to: each makes the next, and another that touches a page and ends
 * (fault_once), until the first round.
 *
 *     storm PAGES    each SIGUSR1 begins a round: every thread touches PAGES fresh pages (fault_pages); main
 *                    then prints "touched PAGES threads THREADS"
 *
 * In round R a thread is named "rR-INDEX". Main touches a page (fault_tick) every 10 ms, to show that it is
 * sampled. Pages are touched one by one, whatever the machine's habits with huge ones.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

#include <linux/futex.h>

#include "pages.h"

enum {
	THREADS_FIRST = 50,
	THREADS_MAX = 1500,
	STACK_BYTES = 64 * 1024,
	TICK_US = 10000,
	PAUSE_US = 300
};

static size_t nr_pages;
static _Atomic uint32_t round_nr; /* a futex: threads wait for the next */
static _Atomic uint32_t nr_made, nr_living, nr_ready, nr_done;
static _Atomic long nr_touched;
static _Atomic bool is_storm;
static volatile sig_atomic_t nr_signals;

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static FRAME void fault_pages(char *pages)
{
	for (size_t i = 0; i < nr_pages; i++)
		((volatile char *)pages)[i * page_bytes] = 1;
}

static FRAME void fault_once(void)
{
	char *page = pages_map(1);
	*(volatile char *)page = 1;
	munmap(page, page_bytes);
}

static FRAME void fault_tick(char *page)
{
	madvise(page, page_bytes, MADV_DONTNEED);
	*(volatile char *)page = 1;
}

static void start_thread_of(void *(*run)(void *))
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, run, NULL))
		_exit(1);
	pthread_attr_destroy(&attr);
}

static void *passing(void *unused)
{
	fault_once();
	return unused;
}

static void *living(void *unused);

/* The storm: each thread makes the next, so that one inherits what another has meanwhile been given. */
static void make_next(void)
{
	uint32_t nr = atomic_load(&nr_made);
	while (atomic_load(&is_storm) && nr < THREADS_MAX) {
		if (!atomic_compare_exchange_weak(&nr_made, &nr, nr + 1))
			continue;
		start_thread_of(passing);
		usleep(PAUSE_US);
		start_thread_of(living);
		return;
	}
}

/* Each round, so many faults of its own. */
static void *living(void *unused)
{
	uint32_t index = atomic_fetch_add(&nr_living, 1);
	make_next();
	atomic_fetch_add(&nr_ready, 1);
	for (uint32_t seen = 0;; seen++) {
		char name[16];
		while (atomic_load(&round_nr) == seen)
			futex(&round_nr, FUTEX_WAIT, seen);
		snprintf(name, sizeof(name), "r%u-%u", (seen + 1) % 1000, index % 10000);
		pthread_setname_np(pthread_self(), name);
		char *pages = pages_map(nr_pages);
		fault_pages(pages);
		atomic_fetch_add(&nr_touched, (long)nr_pages);
		munmap(pages, nr_pages * page_bytes);
		atomic_fetch_add(&nr_done, 1);
	}
	return unused;
}

static void count_signal(int signal)
{
	(void)signal;
	nr_signals++;
}

static void wait_for(const _Atomic uint32_t *number, uint32_t wanted)
{
	while (atomic_load(number) < wanted)
		usleep(1000);
}

static void one_round(void)
{
	atomic_store(&is_storm, false);
	uint32_t nr;
	do {
		nr = atomic_load(&nr_made);
		wait_for(&nr_ready, nr);
	} while (nr != atomic_load(&nr_made));
	atomic_store(&nr_done, 0);
	atomic_store(&nr_touched, 0);
	atomic_fetch_add(&round_nr, 1);
	futex(&round_nr, FUTEX_WAKE, INT32_MAX);
	wait_for(&nr_done, nr);
	printf("touched %ld threads %u\n", nr_touched, nr);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	nr_pages = argc > 1 ? (size_t)atol(argv[1]) : 20;
	pages_start();
	char *tick = pages_map(1);
	signal(SIGUSR1, count_signal);
	atomic_store(&is_storm, true);
	atomic_store(&nr_made, 2);
	for (int i = 0; i < 2; i++)
		start_thread_of(living);
	wait_for(&nr_living, THREADS_FIRST);
	workload_ready();
	for (int nr_rounds = 0;;) {
		fault_tick(tick);
		if (nr_rounds < nr_signals) {
			nr_rounds++;
			one_round();
		} else {
			usleep(TICK_US);
		}
	}
}
