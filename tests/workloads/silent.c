/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for ever, with a page on their stacks that nobody ever answers for: whoever reads it waits, too, until he is killed
 * (userfaultfd(2); "refused: CAUSE" and exit code 77 where that is not to be had). They never touch it themselves. One more, "nap",
 * sleeps again and again on an ordinary stack.
 *
 *     silent [SECONDS [THREADS]]
 *
 * nap_long is in nap's stacks; wait_silently in those of the others, if anybody could see them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

enum { PAGE_BYTES = 4096 };

static int faults = -1;
static pthread_barrier_t all_wait;

static int refused(const char *what)
{
	printf("refused: %s: %s\n", what, strerror(errno));
	return 77;
}

static int open_faults(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	/* Not UFFD_USER_MODE_ONLY: the kernel is to wait, too. */
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return faults < 0 || ioctl(faults, UFFDIO_API, &api) ? -1 : 0;
}

/* The page that is whole in there; what it had is gone, and is never there again. */
static void silence(char *bytes)
{
	const uintptr_t page = ((uintptr_t)bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	struct uffdio_register registered = {.range = {page, PAGE_BYTES},
					     .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (ioctl(faults, UFFDIO_REGISTER, &registered) ||
	    madvise((void *)page, PAGE_BYTES, MADV_DONTNEED))
		exit(refused("UFFDIO_REGISTER"));
}

static FRAME void wait_silently(void)
{
	for (;;)
		pause();
}

static FRAME void *be_silent(void *unused)
{
	char bytes[2 * PAGE_BYTES];
	__asm__ volatile("" : : "r"(bytes) : "memory");
	pthread_setname_np(pthread_self(), "silent");
	silence(bytes);
	pthread_barrier_wait(&all_wait);
	wait_silently();
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return unused;
}

static FRAME void nap_long(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
}

static FRAME void *nap(void *unused)
{
	pthread_setname_np(pthread_self(), "nap");
	for (;;)
		nap_long();
	return unused;
}

int main(int argc, char **argv)
{
	const unsigned nr = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	pthread_t thread;
	if (open_faults())
		return refused("userfaultfd");
	pthread_barrier_init(&all_wait, NULL, nr + 1);
	for (unsigned i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, be_silent, NULL))
			return 1;
	pthread_barrier_wait(&all_wait);
	if (pthread_create(&thread, NULL, nap, NULL))
		return 1;
	workload_start(argc, argv);
	workload_ready();
	pthread_join(thread, NULL);
	return 1;
}
