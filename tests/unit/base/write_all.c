/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/write_all.h>

enum { PIPED = 1 << 20 }; /* many times what a pipe holds */

static void interrupt(int number)
{
	(void)number;
}

/* Takes everything out of the pipe, in odd pieces. 0 when it is as written. */
static int read_slowly(int fd)
{
	unsigned char bytes[777];
	size_t at = 0;
	ssize_t got;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < got; i++, at++)
			if (bytes[i] != (unsigned char)(at * 7))
				return 1;
	return at == PIPED ? 0 : 2;
}

/* A pipe takes a part at a time, and signals arrive in between. */
static void pieces_and_signals(void)
{
	static unsigned char bytes[PIPED];
	const struct sigaction no_restart = {.sa_handler = interrupt};
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
	int fds[2], status;
	for (size_t i = 0; i < PIPED; i++)
		bytes[i] = (unsigned char)(i * 7);
	CHECK_EQ(pipe(fds), 0);
	pid_t reader = fork();
	if (reader == 0) {
		close(fds[1]);
		_exit(read_slowly(fds[0]));
	}
	close(fds[0]);
	CHECK_EQ(sigaction(SIGALRM, &no_restart, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	int result = write_all(fds[1], bytes, sizeof(bytes));
	setitimer(ITIMER_REAL, &never, NULL);
	close(fds[1]);
	CHECK_EQ(waitpid(reader, &status, 0), reader);
	CHECK_EQ(result, 0);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void errors_are_told(void)
{
	int fds[2];
	CHECK_EQ(write_all(-1, "x", 1), -EBADF);
	CHECK_EQ(write_all(-1, "x", 0), 0);
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe(fds), 0);
	close(fds[0]);
	CHECK_EQ(write_all(fds[1], "x", 1), -EPIPE);
	close(fds[1]);
}

int main(void)
{
	RUN(pieces_and_signals);
	RUN(errors_are_told);
	return test_done();
}
