/* SPDX-License-Identifier: MIT */
#ifndef CTOP_WORKLOAD_PAGES_H
#define CTOP_WORKLOAD_PAGES_H

/* Pages to touch one by one, whatever the machine's habits with huge ones: each first touch is one page fault. */

#include <stddef.h>
#include <sys/mman.h>

#include "workload.h"

static size_t page_bytes; /* set by pages_start() */

static inline void pages_start(void)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
}

static FRAME char *pages_map(size_t nr)
{
	char *pages = mmap(NULL, nr * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		_exit(1);
	madvise(pages, nr * page_bytes, MADV_NOHUGEPAGE);
	return pages;
}

#endif
