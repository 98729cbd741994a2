/* SPDX-License-Identifier: MIT */
#include <ctop/session/run.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/output/say.h>

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

/* What a run is waiting for. Times of 0: not at all. */
struct course {
	const struct options *options;
	uint64_t switch_on_ns, stop_ns;
	bool is_ending; /* a signal has asked for it */
	uint64_t
		tell_ns; /* the command was interrupted, and its end is awaited: until then in silence */
	bool is_interrupted; /* the same */
	unsigned nr_toggles; /* signals that switch sampling on or off */
	const struct run_ticker *ticker;
};

static void make_way(const struct course *course)
{
	if (course->ticker->make_way)
		course->ticker->make_way(course->ticker->context);
}

static void watch_ends_only(int fd)
{
	sigset_t ends;
	list_ends(&ends);
	signalfd(fd, &ends, 0);
}

/* A terminal interrupts all that it runs: the command, too, whose end is then the profile's. */
static bool is_for_command(const struct course *course, const struct signalfd_siginfo *info)
{
	return course->options->argv && run_is_terminals(info) && !course->is_interrupted;
}

/* Up to the first that asks for the end. A second one stays unread: whoever waits for something sees it. */
static void read_signals(struct course *course, int fd)
{
	struct signalfd_siginfo info;
	while (!course->is_ending && read(fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1) {
			course->nr_toggles++;
		} else if (is_for_command(course, &info)) {
			course->is_interrupted = true;
			course->tell_ns = clock_now_ns() + SLOW_MS * NS_PER_MS;
		} else {
			course->is_ending = true;
			watch_ends_only(fd);
		}
	}
}

static bool is_hurried(const struct course *course, int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return course->is_ending && poll(&poll_fd, 1, 0) == 1;
}

static int remaining_ms(const struct course *course)
{
	uint64_t now = clock_now_ns(), until_ns = now + TICK_MS * NS_PER_MS;
	if (course->switch_on_ns && course->switch_on_ns < until_ns)
		until_ns = course->switch_on_ns;
	if (course->stop_ns && course->stop_ns < until_ns)
		until_ns = course->stop_ns;
	return until_ns <= now ? 0 : (int)((until_ns - now) / NS_PER_MS) + 1;
}

static int switch_sampling(struct session *session, struct course *course, uint64_t now,
			   struct error *error)
{
	bool due = course->switch_on_ns && now >= course->switch_on_ns;
	bool on = session_is_on(session);
	if (course->nr_toggles % 2)
		on = !on;
	on |= due;
	bool told = course->nr_toggles && !course->options->quiet;
	if (due || course->nr_toggles)
		course->switch_on_ns = 0; /* the user's word counts from now on */
	course->nr_toggles = 0;
	if (told) {
		make_way(course);
		say("sampling is %s", on ? "on" : "off");
	}
	return session_switch(session, on, error);
}

static void tell_of_command(struct session *session, struct course *course, uint64_t now)
{
	if (!course->tell_ns || now < course->tell_ns)
		return;
	course->tell_ns = 0;
	if (course->is_ending || session_target_ended(session))
		return;
	make_way(course);
	say("%s goes on after ^C, and is profiled to its end; a second ^C ends the profile",
	    session_target(session));
}

static uint64_t add_seconds(uint64_t ns, double seconds)
{
	return ns + (uint64_t)(seconds * (double)NS_PER_SECOND);
}

/*
 * Where thousands of events were to be enabled on busy CPUs, the first have sampled for seconds by now: that counts, but
 * all are to be there for half of the time at least.
 */
static uint64_t end_of_sampling(struct session *session, const struct options *options,
				uint64_t start_ns)
{
	const uint64_t latest_ns = add_seconds(start_ns, options->duration_seconds);
	const uint64_t least_ns = add_seconds(start_ns, options->duration_seconds / 2);
	if (!session_is_on(session) || options->argv || options->delay_seconds > 0)
		return latest_ns;
	const struct session_stats stats = session_stats(session);
	const uint64_t end_ns = add_seconds(stats.start_ns, options->duration_seconds);
	return end_ns > latest_ns ? latest_ns : end_ns > least_ns ? end_ns : least_ns;
}

int run_session(struct session *session, const struct options *options, int signal_fd,
		const struct run_ticker *ticker, struct error *error)
{
	session_watch(session, signal_fd);
	int result = 0;
	uint64_t start_ns = clock_now_ns(), ticked_ns = start_ns;
	struct course course = {.options = options, .ticker = ticker};
	if (options->delay_seconds > 0)
		start_ns = course.switch_on_ns = add_seconds(start_ns, options->delay_seconds);
	if (options->duration_seconds > 0)
		course.stop_ns = end_of_sampling(session, options, start_ns);
	enum session_state state = SESSION_RUNNING;
	while (!result && state != SESSION_DRAINED && !is_hurried(&course, signal_fd)) {
		result = session_step(session, remaining_ms(&course), &state, error);
		uint64_t now = clock_now_ns();
		read_signals(&course, signal_fd);
		if (!result)
			result = switch_sampling(session, &course, now, error);
		if (course.is_ending || (course.stop_ns && now >= course.stop_ns)) {
			session_stop(session);
			course.stop_ns = course.switch_on_ns = 0;
		}
		tell_of_command(session, &course, now);
		if (!result && now - ticked_ns >= TICK_MS * NS_PER_MS) {
			ticked_ns = now;
			result = ticker->tick(ticker->context, error);
		}
	}
	if (course.is_ending && options->argv)
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

int run_no_processes(int result, struct error *error)
{
	error_set(error, result, "cannot start ctop's own processes: %s", strerror(-result));
	struct rlimit limit;
	if (result == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		error_remedy(error, "raise the limit: ulimit -n %llu",
			     (unsigned long long)limit.rlim_cur + 1024);
	else if (result == -EAGAIN)
		error_remedy(error, "this user has as many processes as he may: ulimit -u");
	return result;
}
