/* SPDX-License-Identifier: MIT */
/*
 * A process with children, all of which end with it.
 *
 *     family working N       N children work (family_child) as "kid0" to "kidN-1"; the parent waits
 *     family waiting N       N children that wait, and share the parent's memory to be cheap; says "ready PID HOW-MANY"
 *     family deep N          a chain of N generations; the last works (family_child) as "kidN-1"
 *     family racing N        begins N children, one a millisecond, which wait; meanwhile the parent touches pages
 *                            (family_pilot). On SIGUSR1, or when told before, once all are there: each child touches
 *                            PAGES pages (family_touch) under its name; "done N" is said when all have
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

enum { PAGES = 64, READY_AT = 10, STACK_BYTES = 4096, PAUSE_US = 1000 };

static long page_bytes;
static volatile sig_atomic_t told;

static void be_told(int signal)
{
	(void)signal;
	told = 1;
}

static void be_called(int number)
{
	char name[16];
	snprintf(name, sizeof(name), "kid%d", number);
	prctl(PR_SET_NAME, name);
}

static FRAME _Noreturn void family_child(void)
{
	for (;;)
		work(10);
}

static pid_t begin_child(void)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		exit(1);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

static _Noreturn void wait_for_end(void)
{
	for (;;)
		pause();
}

static _Noreturn void run_working(int nr)
{
	/* They have their names from the first, whoever runs first. */
	for (int i = 0; i < nr; i++) {
		be_called(i);
		if (!begin_child())
			family_child();
	}
	prctl(PR_SET_NAME, "family");
	workload_ready();
	wait_for_end();
}

static int wait_as_child(void *unused)
{
	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	wait_for_end();
}

static _Noreturn void run_waiting(int nr)
{
	char *stacks = mmap(NULL, (size_t)nr * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int made = 0;
	while (stacks != MAP_FAILED && made < nr &&
	       clone(wait_as_child, stacks + (size_t)(made + 1) * STACK_BYTES, CLONE_VM | SIGCHLD,
		     NULL) > 0)
		made++;
	printf("ready %d %d\n", (int)getpid(), made);
	fflush(stdout);
	wait_for_end();
}

static _Noreturn void run_deep(int nr)
{
	int pipe_fds[2];
	char byte;
	if (pipe(pipe_fds))
		exit(1);
	for (int i = 0; i < nr; i++) {
		if (begin_child()) {
			if (i == 0 && read(pipe_fds[0], &byte, 1) == 1)
				workload_ready();
			wait_for_end();
		}
		be_called(i);
	}
	if (write(pipe_fds[1], "", 1) != 1)
		_exit(1);
	family_child();
}

static char *map_pages(void)
{
	size_t size = PAGES * (size_t)page_bytes;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		exit(1);
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

static FRAME void family_touch(void)
{
	volatile char *pages = map_pages();
	for (long page = 0; page < PAGES; page++)
		pages[page * page_bytes] = 1;
}

static FRAME void family_pilot(void)
{
	volatile char *pages = map_pages();
	pages[0] = 1;
	munmap((void *)(uintptr_t)pages, PAGES * (size_t)page_bytes);
}

static int run_racing(int nr)
{
	int go[2];
	char byte;
	if (pipe(go))
		return 1;
	signal(SIGUSR1, be_told);
	for (int i = 0; i < nr; i++) {
		if (begin_child() == 0) {
			close(go[1]);
			be_called(i);
			while (read(go[0], &byte, 1) != 0)
				;
			family_touch();
			_exit(0);
		}
		if (i + 1 == READY_AT)
			workload_ready();
		family_pilot();
		usleep(PAUSE_US);
	}
	while (!told) {
		family_pilot();
		usleep(PAUSE_US);
	}
	close(go[1]);
	while (wait(NULL) > 0)
		;
	printf("done %d\n", nr);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int nr = argc > 2 ? atoi(argv[2]) : 1;
	page_bytes = sysconf(_SC_PAGESIZE);
	if (!strcmp(what, "working"))
		run_working(nr);
	if (!strcmp(what, "waiting"))
		run_waiting(nr);
	if (!strcmp(what, "deep"))
		run_deep(nr);
	return strcmp(what, "racing") ? 2 : run_racing(nr);
}
