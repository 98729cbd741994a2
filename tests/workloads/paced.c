/* SPDX-License-Identifier: MIT */
/*
 * Page faults at rates that are known: each is one call of touch().
 *
 *     paced burst             20,000 at once, then 400, one a ms
 *     paced every US NUMBER   one each so many us
 *     paced always MS         as many as can be had
 *
 *     main > at_once > touch
 *     main > one_by_one > touch
 */
#include <string.h>

#include "pages.h"

enum { BURST = 20000, THEN = 400, AT_ONCE = 1000 };
static const uint64_t us = 1000;

FRAME void touch(volatile char *page);
void touch(volatile char *page)
{
	*page = 1;
}

static FRAME void at_once(char *pages, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		touch(pages + i * page_bytes);
}

static FRAME void one_by_one(char *pages, size_t nr, uint64_t each_ns)
{
	for (size_t i = 0; i < nr; i++) {
		const struct timespec pause = {(time_t)(each_ns / 1000000000),
					       (long)(each_ns % 1000000000)};
		nanosleep(&pause, NULL);
		touch(pages + i * page_bytes);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void always(uint64_t for_ns)
{
	const uint64_t until_ns = now_ns() + for_ns;
	char *pages = pages_map(AT_ONCE);
	while (now_ns() < until_ns) {
		at_once(pages, AT_ONCE);
		madvise(pages, AT_ONCE * page_bytes, MADV_DONTNEED);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const size_t number = argc > 3 ? (size_t)atol(argv[3]) : 0;
	pages_start();
	workload_ready();
	if (!strcmp(mode, "burst")) {
		at_once(pages_map(BURST), BURST);
		one_by_one(pages_map(THEN), THEN, 1000 * us);
	} else if (!strcmp(mode, "every") && number) {
		one_by_one(pages_map(number), number, (uint64_t)atol(argv[2]) * us);
	} else if (!strcmp(mode, "always") && argc > 2) {
		always((uint64_t)atol(argv[2]) * 1000 * us);
	} else {
		return 2;
	}
	return 0;
}
