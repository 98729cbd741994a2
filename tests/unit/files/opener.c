/* SPDX-License-Identifier: MIT */
/* The process that opens files: what it gives, and that its end is nobody else's. */
#include <ctop/files/opener.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct taken {
	unsigned nr, nr_given;
	int error;	/* of the last */
	char first[16]; /* of the last file */
	off_t size;
};

static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct taken *taken = context;
	taken->nr++;
	taken->error = answer->error;
	if (fd < 0)
		return;
	taken->nr_given++;
	CHECK(pread(fd, taken->first, sizeof(taken->first), 0) == (ssize_t)sizeof(taken->first));
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	taken->size = lseek(fd, 0, SEEK_END);
	close(fd);
}

static void serve_until(struct opener *opener, const struct taken *taken, unsigned nr)
{
	while (taken->nr < nr) {
		struct pollfd fd = {.fd = opener_fd(opener), .events = POLLIN};
		CHECK(opener_timeout_ms(opener) >= 0);
		poll(&fd, 1, opener_timeout_ms(opener));
		opener_serve(opener);
	}
}

static struct opener_request maps_of(int32_t pid)
{
	return (struct opener_request){.kind = OPENER_MAPS, .request = {.pid = pid}};
}

/* Words end in NULs; a process may call itself what it likes, as long as it likes: that is cut. */
static void command_lines_are_cut(void)
{
	static char longest[128 << 10];
	memset(longest, 'x', sizeof(longest) - 1);
	struct opener *opener = opener_new();
	for (int i = 0; i < 2; i++) {
		struct taken taken = {0};
		int ready[2];
		char byte;
		CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
		pid_t pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execl("/bin/sleep", i ? longest : "\x1b[2J an odd name\n", "600", NULL);
			_exit(1);
		}
		close(ready[1]);
		CHECK_EQ(read(ready[0], &byte, 1), 0); /* closed: it has become another program */
		close(ready[0]);
		const struct opener_request request = {.kind = OPENER_COMMAND,
						       .request = {.pid = pid}};
		CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
		serve_until(opener, &taken, 1);
		CHECK_EQ(taken.nr_given, 1);
		CHECK(!strncmp(taken.first, i ? longest : "\x1b[2J an odd name\n", 9));
		CHECK(taken.size < OPENER_COMMAND_MAX);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	opener_free(opener);
}

static void maps_are_a_sealed_copy(void)
{
	struct opener *opener = opener_new();
	struct taken taken = {0};
	const struct opener_request request = maps_of(getpid());
	CHECK_EQ(opener_fd(opener), -1);
	CHECK_EQ(opener_timeout_ms(opener), -1);
	CHECK_EQ(opener_pid(opener), 0);
	CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
	CHECK(opener_pid(opener) > 0);
	serve_until(opener, &taken, 1);
	CHECK_EQ(taken.nr_given, 1);
	CHECK(memchr(taken.first, '-', sizeof(taken.first)) != NULL);
	CHECK_EQ(opener_fd(opener), -1);
	opener_free(opener);
}

static void only_code_that_is_in_no_file_is_copied(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	uint8_t *memory = mmap(NULL, 4 * page, prot, flags, -1, 0);
	CHECK(memory != MAP_FAILED);
	memset(memory, 0x90, 4 * page);
	CHECK_EQ(mprotect(memory + page, 2 * page, PROT_READ | PROT_EXEC), 0);
	const uint64_t start = (uint64_t)(uintptr_t)memory;
	const struct {
		uint64_t first, pages;
		off_t given; /* 0: nothing */
	} cases[] = {{start + page, 1, (off_t)page},
		     {start + page, 3, (off_t)(2 * page)},
		     {start, 2, 0},
		     {start + 3 * page, 1, 0},
		     {(uint64_t)(uintptr_t)&cases & ~(page - 1), 1, 0},
		     {(uint64_t)(uintptr_t)opener_new & ~(page - 1), 1, 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct opener *opener = opener_new();
		struct taken taken = {0};
		const struct opener_request request = {
			.kind = OPENER_CODE,
			.request = {.pid = getpid(),
				    .start = cases[i].first,
				    .end = cases[i].first + cases[i].pages * page}};
		CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
		serve_until(opener, &taken, 1);
		CHECK_EQ(taken.nr_given, cases[i].given ? 1 : 0);
		CHECK_EQ(taken.size, cases[i].given);
		CHECK_EQ(taken.error, cases[i].given ? 0 : -EACCES);
		opener_free(opener);
	}
	munmap(memory, 4 * page);
}

static void many_are_answered_in_their_order(void)
{
	enum { NR = 100 };
	struct opener *opener = opener_new();
	struct taken taken = {0}, gone = {0};
	const struct opener_request there = maps_of(getpid()), nowhere = maps_of(-1);
	for (unsigned i = 0; i < NR; i++) {
		CHECK_EQ(opener_ask(opener, &there, take, &taken), 0);
		CHECK_EQ(opener_ask(opener, &nowhere, take, &gone), 0);
	}
	serve_until(opener, &taken, NR);
	CHECK(gone.nr >= NR - 1);
	serve_until(opener, &gone, NR);
	CHECK_EQ(taken.nr_given, NR);
	CHECK_EQ(gone.nr_given, 0);
	CHECK(gone.error < 0);
	opener_free(opener);
}

static void who_asked_and_has_gone_is_told_nothing(void)
{
	struct opener *opener = opener_new();
	struct taken forgotten = {0}, taken = {0};
	const struct opener_request request = maps_of(getpid());
	CHECK_EQ(opener_ask(opener, &request, take, &forgotten), 0);
	CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
	opener_forget(opener, &forgotten);
	serve_until(opener, &taken, 1);
	CHECK_EQ(forgotten.nr, 0);
	opener_free(opener);
}

static void one_that_was_killed_is_replaced(void)
{
	struct opener *opener = opener_new();
	struct taken taken = {0};
	const struct opener_request request = maps_of(getpid());
	CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
	serve_until(opener, &taken, 1);
	const pid_t first = opener_pid(opener);
	kill(first, SIGKILL);
	siginfo_t info;
	CHECK_EQ(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(opener_ask(opener, &request, take, &taken), 0);
	serve_until(opener, &taken, 2);
	CHECK_EQ(taken.nr_given, 2);
	CHECK(opener_pid(opener) != first);
	opener_free(opener);
	CHECK_EQ(waitpid(-1, NULL, 0), -1); /* none is left */
}

static void one_that_hangs_costs_its_own_request_alone(void)
{
	struct opener *opener = opener_new();
	struct taken first = {0}, second = {0};
	const struct opener_request request = maps_of(getpid());
	CHECK_EQ(opener_ask(opener, &request, take, &first), 0);
	serve_until(opener, &first, 1);
	/* Stopped, it stands for one that waits in the kernel. */
	kill(opener_pid(opener), SIGSTOP);
	CHECK_EQ(opener_ask(opener, &request, take, &first), 0);
	CHECK_EQ(opener_ask(opener, &request, take, &second), 0);
	serve_until(opener, &second, 1);
	CHECK_EQ(first.nr, 2);
	CHECK_EQ(first.nr_given, 1);
	CHECK_EQ(first.error, -ETIMEDOUT);
	CHECK_EQ(second.nr_given, 1);
	opener_free(opener);
}

static void what_is_too_long_is_not_asked(void)
{
	static char longest[10000];
	struct opener *opener = opener_new();
	struct taken taken = {0};
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	struct opener_request request = {.kind = OPENER_MODULE, .request = {.path = longest}};
	CHECK_EQ(opener_ask(opener, &request, take, &taken), -E2BIG);
	request.request.path = "/bin/true";
	request.debuglink = longest;
	CHECK_EQ(opener_ask(opener, &request, take, &taken), -E2BIG);
	CHECK_EQ(taken.nr, 0);
	opener_free(opener);
}

int main(void)
{
	RUN(maps_are_a_sealed_copy);
	RUN(only_code_that_is_in_no_file_is_copied);
	RUN(command_lines_are_cut);
	RUN(many_are_answered_in_their_order);
	RUN(who_asked_and_has_gone_is_told_nothing);
	RUN(one_that_was_killed_is_replaced);
	RUN(one_that_hangs_costs_its_own_request_alone);
	RUN(what_is_too_long_is_not_asked);
	return test_done();
}
