/* SPDX-License-Identifier: MIT */
/*
 * Events that come in bursts in one function, and one by one in another: samples tell little of how many there were.
 *
 *     weights [ROUNDS]    then exits
 *
 *     main > touch_pages                20,000 page faults a round
 *     main > touch_few                  20
 *     main > sleep_often > sleep_once   60 switches a round
 *     main > sleep_seldom > sleep_once  3
 *     main > call_often > called        3,000 calls of called() a round, each with a system call
 *     main > call_seldom > called       30
 *     main > spin_long, spin_short      10 : 1
 */
#include <sys/syscall.h>

#include "pages.h"

enum { PAGES = 20000, FEW_PAGES = 20, DEFAULT_ROUNDS = 6 };

static FRAME void touch_pages(volatile char *pages)
{
	for (size_t i = 0; i < PAGES; i++)
		pages[i * page_bytes] = 1;
}

static FRAME void touch_few(volatile char *pages)
{
	for (size_t i = 0; i < FEW_PAGES; i++) {
		work(5);
		pages[i * page_bytes] = 1;
	}
}

static FRAME void sleep_once(void)
{
	const struct timespec moment = {.tv_nsec = 1000};
	nanosleep(&moment, NULL);
}

static FRAME void sleep_often(void)
{
	for (int i = 0; i < 60; i++)
		sleep_once();
}

static FRAME void sleep_seldom(void)
{
	for (int i = 0; i < 3; i++)
		sleep_once();
}

FRAME void called(void);
void called(void)
{
	syscall(SYS_getppid);
}

static FRAME void call_often(void)
{
	for (int i = 0; i < 3000; i++)
		called();
}

static FRAME void call_seldom(void)
{
	for (int i = 0; i < 30; i++)
		called();
}

static FRAME void spin_long(void)
{
	work(2000);
}

static FRAME void spin_short(void)
{
	work(200);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : DEFAULT_ROUNDS;
	pages_start();
	workload_ready();
	for (; rounds > 0; rounds--) {
		char *pages = pages_map(PAGES), *few = pages_map(FEW_PAGES);
		touch_pages(pages);
		touch_few(few);
		munmap(pages, PAGES * page_bytes);
		munmap(few, FEW_PAGES * page_bytes);
		sleep_often();
		sleep_seldom();
		call_often();
		call_seldom();
		spin_long();
		spin_short();
	}
	return 0;
}
