/* SPDX-License-Identifier: MIT */
#include <ctop/session/loop.h>

#include <errno.h>
#include <unistd.h>

#include <ctop/base/clock.h>

int loop_block_signals(const sigset_t *watched, int *fd)
{
	/* Blocked, not ignored: a command of ours unblocks it, but would inherit that it is ignored. */
	sigset_t blocked = *watched;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
		return -errno;
	*fd = signalfd(-1, watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

/* Until something is due, or a second. */
static int timeout_ms(const struct loop *loop)
{
	const uint64_t course_ns = loop->session ? course_due_ns(&loop->course) : UINT64_MAX;
	const uint64_t now = clock_now_ns();
	uint64_t due_ns = course_ns < loop->due_ns ? course_ns : loop->due_ns;
	if (due_ns > now + NS_PER_SECOND)
		due_ns = now + NS_PER_SECOND;
	return due_ns <= now ? 0 : (int)((due_ns - now) / NS_PER_MS) + 1;
}

static int read_signals(struct loop *loop, struct error *error)
{
	struct signalfd_siginfo info;
	int result = 0;
	while (!result && !loop->leaves_signals &&
	       read(loop->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			course_toggle(&loop->course);
		else
			result = loop->front->signal(loop->context, &info, error);
	}
	return result;
}

int loop_run(struct loop *loop, struct error *error)
{
	int result = 0;
	while (!result && !loop->is_over) {
		enum course_change change = COURSE_SAME;
		result = loop->front->serve(loop->context, timeout_ms(loop), error);
		const int read = read_signals(loop, error);
		if (!result)
			result = read;
		if (!result && loop->session)
			result = course_keep(&loop->course, loop->session, &change, error);
		if (!result)
			result = loop->front->turn(loop->context, change, error);
	}
	return result;
}
