/* SPDX-License-Identifier: MIT */
/*
 * Page faults whose number is known: two threads map PAGES pages at a time, touch each, and unmap them.
 *
 *     faults [ROUNDS]    then exits, having said "touched PAGES"
 *
 *     main > rounds > touch            50 %
 *     (thread) > rounds > touch        50 %
 */
#include <pthread.h>

#include "pages.h"

enum { PAGES = 512, DEFAULT_ROUNDS = 20 };

static FRAME void touch(volatile char *page)
{
	*page = 1;
}

static FRAME void *rounds(void *nr)
{
	for (long i = *(const long *)nr; i > 0; i--) {
		char *pages = pages_map(PAGES);
		for (size_t page = 0; page < PAGES; page++)
			touch(pages + page * page_bytes);
		munmap(pages, PAGES * page_bytes);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : DEFAULT_ROUNDS;
	pthread_t thread;
	pages_start();
	workload_ready();
	if (pthread_create(&thread, NULL, rounds, &nr))
		return 1;
	rounds(&nr);
	pthread_join(thread, NULL);
	printf("touched %ld\n", 2 * nr * PAGES);
	return 0;
}
