/* SPDX-License-Identifier: MIT */
/*
 * Reads a mapped file page by page, each for the first time, and measures how long that takes:
 *
 *     main > touch_page
 *
 *     mapped FILE
 *
 * Prints "ready PID", and at its end "touched PAGES WAITED", in ms: what was longer than 1 ms.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

enum { PAGE_BYTES = 4096 };

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static FRAME char touch_page(const volatile char *page)
{
	return *page;
}

int main(int argc, char **argv)
{
	struct stat status;
	double waited_ms = 0;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0 || fstat(fd, &status) < 0)
		return 2;
	const char *pages = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pages == MAP_FAILED || madvise((void *)pages, (size_t)status.st_size, MADV_RANDOM))
		return 1;
	printf("ready %d\n", (int)getpid());
	for (off_t at = 0; at < status.st_size; at += PAGE_BYTES) {
		const double before_ms = now_ms();
		touch_page(pages + at);
		const double took_ms = now_ms() - before_ms;
		waited_ms += took_ms > 1 ? took_ms : 0;
	}
	printf("touched %d %.3f\n", (int)(status.st_size / PAGE_BYTES), waited_ms);
	return 0;
}
