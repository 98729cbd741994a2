/* SPDX-License-Identifier: MIT */
/* The process that opens files: what it gives, and that its end is nobody else's. */
#include <ctop/files/opener.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct taken {
	unsigned nr, nr_given;
	int error;	/* of the last */
	char first[16]; /* of the last file */
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
	RUN(many_are_answered_in_their_order);
	RUN(who_asked_and_has_gone_is_told_nothing);
	RUN(one_that_was_killed_is_replaced);
	RUN(one_that_hangs_costs_its_own_request_alone);
	RUN(what_is_too_long_is_not_asked);
	return test_done();
}
