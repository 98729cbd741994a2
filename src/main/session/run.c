/* SPDX-License-Identifier: MIT */
#include <ctop/session/run.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/output/say.h>
#include <ctop/session/course.h>

enum { TICK_MS = 100 };
/* Who tells a whole process group to end tells the command and us: it may take a moment longer. */
enum { MOMENT_MS = 500 };
/* A command that goes on so long after ^C is told of. */
enum { SLOW_MS = 1000 };
enum { EXIT_OWN_FAILURE = 125 };

static void list_ends(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	/* nohup(1) has it ignored, and means it. */
	struct sigaction hang_up;
	if (sigaction(SIGHUP, NULL, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN)
		sigaddset(signals, SIGHUP);
}

int run_block_signals(int *fd)
{
	sigset_t watched, blocked;
	list_ends(&watched);
	sigaddset(&watched, SIGUSR1);
	/*
	 * A reader that went away is a write error. Blocked, not ignored: a command of ours
	 * unblocks it, but would inherit that it is ignored.
	 */
	blocked = watched;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
		return -errno;
	*fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

struct run {
	const struct options *options;
	struct course course;
	bool is_ending; /* a signal has asked for it */
	uint64_t
		tell_ns; /* the command was interrupted, and its end is awaited: until then in silence */
	bool is_interrupted; /* the same */
	const struct run_ticker *ticker;
};

static void make_way(const struct run *run)
{
	if (run->ticker->make_way)
		run->ticker->make_way(run->ticker->context);
}

static void watch_ends_only(int fd)
{
	sigset_t ends;
	list_ends(&ends);
	signalfd(fd, &ends, 0);
}

/* A terminal interrupts all that it runs: the command, too, whose end is then the profile's. */
static bool is_for_command(const struct run *run, const struct signalfd_siginfo *info)
{
	return run->options->argv && run_is_terminals(info) && !run->is_interrupted;
}

/* Up to the first that asks for the end. A second one stays unread: whoever waits for something sees it. */
static void read_signals(struct run *run, int fd)
{
	struct signalfd_siginfo info;
	while (!run->is_ending && read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			course_toggle(&run->course);
		} else if (is_for_command(run, &info)) {
			run->is_interrupted = true;
			run->tell_ns = clock_now_ns() + SLOW_MS * NS_PER_MS;
		} else {
			run->is_ending = true;
			course_stop(&run->course);
			watch_ends_only(fd);
		}
	}
}

static bool is_hurried(const struct run *run, int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return run->is_ending && poll(&poll_fd, 1, 0) == 1;
}

static int remaining_ms(const struct run *run)
{
	uint64_t now = clock_now_ns(), until_ns = now + TICK_MS * NS_PER_MS;
	const uint64_t due_ns = course_due_ns(&run->course);
	if (due_ns < until_ns)
		until_ns = due_ns;
	return until_ns <= now ? 0 : (int)((until_ns - now) / NS_PER_MS) + 1;
}

static int keep_course(struct run *run, struct session *session, struct error *error)
{
	enum course_change change;
	int result = course_keep(&run->course, session, &change, error);
	if (change == COURSE_SWITCHED && !run->options->quiet) {
		make_way(run);
		say("sampling is %s", session_is_on(session) ? "on" : "off");
	}
	return result;
}

static void tell_of_command(struct session *session, struct run *run, uint64_t now)
{
	if (!run->tell_ns || now < run->tell_ns)
		return;
	run->tell_ns = 0;
	if (run->is_ending || session_target_ended(session))
		return;
	make_way(run);
	say("%s goes on after ^C, and is profiled to its end; a second ^C ends the profile",
	    session_target(session));
}

int run_session(struct session *session, const struct options *options, int signal_fd,
		const struct run_ticker *ticker, struct error *error)
{
	struct run run = {.options = options, .ticker = ticker};
	uint64_t ticked_ns = clock_now_ns();
	int result = 0;
	session_watch(session, signal_fd);
	course_begin(&run.course, session, options);
	enum session_state state = SESSION_RUNNING;
	while (!result && state != SESSION_DRAINED && !is_hurried(&run, signal_fd)) {
		result = session_step(session, remaining_ms(&run), &state, error);
		read_signals(&run, signal_fd);
		if (!result)
			result = keep_course(&run, session, error);
		const uint64_t now = clock_now_ns();
		tell_of_command(session, &run, now);
		if (!result && now - ticked_ns >= TICK_MS * NS_PER_MS) {
			ticked_ns = now;
			result = ticker->tick(ticker->context, error);
		}
	}
	if (run.is_ending && options->argv)
		session_await_target(session, signal_fd, MOMENT_MS);
	watch_ends_only(signal_fd); /* nothing is left to be switched on or off */
	return result ? result : ticker->tick(ticker->context, error);
}

bool run_is_terminals(const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGINT && info->ssi_code == SI_KERNEL;
}

void run_await_command(struct session *session, int signal_fd)
{
	session_stop(session);
	watch_ends_only(signal_fd);
	if (session_await_target(session, signal_fd, SLOW_MS))
		return;
	say("%s goes on: ^C again leaves it to itself", session_target(session));
	session_await_target(session, signal_fd, -1);
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
