/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>

enum { TICK_MS = 100 };
enum { EXIT_OWN_FAILURE = 125 };

int run_block_signals(int *fd)
{
	sigset_t ends;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error */
	if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0)
		return -errno;
	*fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

/* How many signals came since it was asked last. */
static int nr_signals(int fd)
{
	struct signalfd_siginfo info;
	int nr = 0;
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		nr++;
	return nr;
}

static int remaining_ms(uint64_t until_ns)
{
	uint64_t now = clock_now_ns();
	if (!until_ns || until_ns >= now + TICK_MS * NS_PER_MS)
		return TICK_MS;
	return until_ns <= now ? 0 : (int)((until_ns - now) / NS_PER_MS) + 1;
}

int run_session(struct session *session, const struct options *options, int signal_fd,
		const struct run_ticker *ticker, struct error *error)
{
	session_watch(session, signal_fd);
	int result = 0;
	uint64_t start_ns = clock_now_ns(), ticked_ns = start_ns;
	uint64_t until_ns = 0;
	if (options->duration_seconds > 0)
		until_ns = start_ns + (uint64_t)(options->duration_seconds * (double)NS_PER_SECOND);
	enum session_state state = SESSION_RUNNING;
	int nr_ends = 0;
	while (!result && state != SESSION_DRAINED && nr_ends < 2) {
		result = session_step(session, remaining_ms(until_ns), &state, error);
		uint64_t now = clock_now_ns();
		nr_ends += nr_signals(signal_fd);
		if (nr_ends || (until_ns && now >= until_ns)) {
			session_stop(session);
			until_ns = 0;
		}
		if (!result && now - ticked_ns >= TICK_MS * NS_PER_MS) {
			ticked_ns = now;
			result = ticker->tick(ticker->context, error);
		}
	}
	return result ? result : ticker->tick(ticker->context, error);
}

int run_failed(const struct options *options, int result, struct error *error)
{
	bool unset = !error->exit_code || error->exit_code == ERROR_EXIT_FAILED;
	if (options->argv && unset)
		error->exit_code = EXIT_OWN_FAILURE;
	return result;
}

int run_exit_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}
