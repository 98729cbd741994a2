/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_LOST_PAGES_H
#define CTOP_BASE_LOST_PAGES_H

/*
 * For a process that maps files which others may cut: what is no longer in a file reads as zeros, and is counted. A page that was
 * read as zeros once stays so. Jailed children.
 */

#include <stdint.h>

/* From now on. Installs a handler of SIGBUS. 0 or -errno. */
int lost_pages_survive(void);
/* How many pages have been met that were gone, of whatever mapping. */
uint64_t lost_pages_count(void);

#endif
