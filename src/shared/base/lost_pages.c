/* SPDX-License-Identifier: MIT */
#include <ctop/base/lost_pages.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* A handler has no other way to tell. */
static atomic_uint_least64_t nr_lost;

/* Only what async-signal-safe functions do, and mmap(2), which is a system call and no more. */
static void replace_page(int number, siginfo_t *info, void *context)
{
	(void)context;
	const int saved = errno;
	const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % page_bytes;
	/*
	 * Read-only: where the page was one to be written to (shared memory, and no memory left),
	 * going on would lose what is written; the next fault ends the process.
	 */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    MAP_FAILED)
		signal(number, SIG_DFL);
	else
		atomic_fetch_add_explicit(&nr_lost, 1, memory_order_relaxed);
	errno = saved;
}

int lost_pages_survive(void)
{
	struct sigaction action = {.sa_sigaction = replace_page, .sa_flags = SA_SIGINFO};
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

uint64_t lost_pages_count(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	return atomic_load_explicit(&nr_lost, memory_order_relaxed);
}
