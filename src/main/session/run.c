/* SPDX-License-Identifier: MIT */
#include <ctop/session/run.h>

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include <ctop/base/clock.h>
#include <ctop/output/say.h>
#include <ctop/session/loop.h>

/* A tick goes along with what wakes main anyhow, but not more often than this; where nothing does, it comes after the other. */
enum { TICK_LEAST_MS = 50, TICK_MOST_MS = 150 };
/* Who tells a whole process group to end tells the command and us: it may take a moment longer. */
enum { MOMENT_MS = 500 };
/* A command that goes on so long after ^C is reported. */
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
	sigset_t watched;
	list_ends(&watched);
	sigaddset(&watched, SIGUSR1);
	return loop_block_signals(&watched, fd);
}

int run_block_usr2(int *fd)
{
	sigset_t watched;
	list_ends(&watched);
	sigaddset(&watched, SIGUSR1);
	sigaddset(&watched, SIGUSR2);
	return loop_block_signals(&watched, fd);
}

void run_unblock_signals(void)
{
	const struct timespec at_once = {0};
	sigset_t watched;
	list_ends(&watched);
	sigaddset(&watched, SIGUSR1);
	sigaddset(&watched, SIGPIPE);
	while (sigtimedwait(&watched, NULL, &at_once) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &watched, NULL);
}

struct run {
	struct loop loop;
	const struct options *options;
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

static int serve(void *context, int timeout_ms, struct error *error)
{
	struct run *run = context;
	enum session_state state;
	int result = session_step(run->loop.session, timeout_ms, &state, error);
	run->loop.is_over = state == SESSION_DRAINED;
	return result;
}

/* The first that asks for the end is the last one read: whoever waits for something sees a second. */
static int take_signal(void *context, const struct signalfd_siginfo *info, struct error *error)
{
	struct run *run = context;
	(void)error;
	if (info->ssi_signo == SIGUSR2) {
		run->ticker->usr2(run->ticker->context);
	} else if (is_for_command(run, info)) {
		run->is_interrupted = true;
		run->tell_ns = clock_now_ns() + SLOW_MS * NS_PER_MS;
	} else {
		run->is_ending = run->loop.leaves_signals = true;
		course_stop(&run->loop.course);
		watch_ends_only(run->loop.signal_fd);
	}
	return 0;
}

static bool is_hurried(const struct run *run)
{
	struct pollfd poll_fd = {.fd = run->loop.signal_fd, .events = POLLIN};
	return run->is_ending && poll(&poll_fd, 1, 0) == 1;
}

static void tell_of_command(struct run *run, uint64_t now)
{
	struct session *session = run->loop.session;
	if (!run->tell_ns || now < run->tell_ns)
		return;
	run->tell_ns = 0;
	if (run->is_ending || session_target_ended(session))
		return;
	make_way(run);
	say("%s still runs after ^C, and is profiled to its end; a second ^C ends the profile",
	    session_target(session));
}

static int take_turn(void *context, enum course_change change, struct error *error)
{
	struct run *run = context;
	const uint64_t now = clock_now_ns();
	if (change == COURSE_SWITCHED && !run->options->quiet) {
		make_way(run);
		say("sampling is %s", session_is_on(run->loop.session) ? "on" : "off");
	}
	tell_of_command(run, now);
	run->loop.is_over |= is_hurried(run);
	if (now < run->loop.due_ns - (TICK_MOST_MS - TICK_LEAST_MS) * NS_PER_MS)
		return 0;
	run->loop.due_ns = now + TICK_MOST_MS * NS_PER_MS;
	return run->ticker->tick(run->ticker->context, error);
}

int run_session(struct session *session, const struct options *options, int signal_fd,
		const struct run_ticker *ticker, struct error *error)
{
	static const struct front_end front = {serve, take_signal, take_turn};
	struct run run = {
		.loop = {.front = &front,
			 .context = &run,
			 .session = session,
			 .signal_fd = signal_fd,
			 .due_ns = clock_now_ns() + TICK_MOST_MS * NS_PER_MS},
		.options = options,
		.ticker = ticker,
	};
	session_watch(session, signal_fd);
	course_begin(&run.loop.course, session, options);
	int result = loop_run(&run.loop, error);
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
	say("%s still runs: ^C again leaves it running", session_target(session));
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
