/* SPDX-License-Identifier: MIT */
#include "interact_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/report/load.h>
#include <ctop/session/run.h>

enum {
	REFRESH_MS = 500,
	/* Sooner while the first samples and their names come. */
	FIRST_REFRESH_MS = 100,
	FIRST_MS = 1000,
	/* A refresh that takes long comes less often: at most this share of the time is spent on it. */
	REFRESH_SHARE = 5,
	/* Between refreshes some of the next one's work is done. */
	ADVANCE_MS = 100,
};

bool interact_wanted(const struct options *options)
{
	return !options->stdio && !options->quiet && terminal_is_usable();
}

int interact_block_signals(int *fd)
{
	static const int watched[] = {SIGINT,  SIGTERM,	 SIGHUP,  SIGUSR1,
				      SIGTSTP, SIGWINCH, SIGCONT, SIGTTOU};
	sigset_t signals, blocked;
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&signals, watched[i]);
	blocked = signals;
	sigaddset(&blocked, SIGPIPE);
	if (sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
		return -errno;
	*fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

/* ---- refreshing and drawing ---- */

static void set_timer(const struct interact *interact, uint64_t ns)
{
	const struct itimerspec time = {.it_value = {.tv_sec = (time_t)(ns / NS_PER_SECOND),
						     .tv_nsec = (long)(ns % NS_PER_SECOND)}};
	timerfd_settime(interact->timer_fd, 0, &time, NULL);
}

static void wait_for_refresh(struct interact *interact)
{
	uint64_t now_ns = clock_now_ns(), due_ns = interact->refresh_ns;
	uint64_t left_ns = due_ns > now_ns ? due_ns - now_ns : 1;
	set_timer(interact, left_ns < ADVANCE_MS * NS_PER_MS ? left_ns : ADVANCE_MS * NS_PER_MS);
}

static int refresh(struct interact *interact, struct error *error)
{
	uint64_t begin_ns = clock_now_ns();
	if (ui_refresh(interact->ui, begin_ns))
		return error_set(error, -ENOMEM, "out of memory");
	terminal_draw(interact->terminal, ui_draw(interact->ui));
	bool first = begin_ns - interact->begun_ns < FIRST_MS * NS_PER_MS;
	uint64_t now_ns = clock_now_ns(), cost_ns = now_ns - begin_ns;
	uint64_t next_ns = (first ? FIRST_REFRESH_MS : REFRESH_MS) * NS_PER_MS;
	if (cost_ns * REFRESH_SHARE > next_ns)
		next_ns = cost_ns * REFRESH_SHARE;
	interact->refresh_ns = now_ns + next_ns;
	wait_for_refresh(interact);
	return 0;
}

static int do_timer(struct interact *interact, struct error *error)
{
	if (clock_now_ns() >= interact->refresh_ns)
		return refresh(interact, error);
	ui_advance(interact->ui);
	wait_for_refresh(interact);
	return 0;
}

static int fit(struct interact *interact, struct error *error)
{
	int rows, cols;
	terminal_size(interact->terminal, &rows, &cols);
	return ui_resize(interact->ui, rows, cols) ? error_set(error, -ENOMEM, "out of memory") : 0;
}

static int suspend(struct interact *interact, struct error *error)
{
	terminal_suspend(interact->terminal);
	return fit(interact, error);
}

/* ---- what comes in ---- */

static int do_signal(struct interact *interact, const struct signalfd_siginfo *info,
		     struct error *error)
{
	switch ((int)info->ssi_signo) {
	case SIGWINCH:
		return fit(interact, error);
	case SIGTSTP:
		return suspend(interact, error);
	case SIGCONT:
		terminal_resume(interact->terminal);
		return fit(interact, error);
	case SIGUSR1:
		course_toggle(&interact->course);
		break;
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
		interact->leaving = true;
		interact->interrupted = run_is_terminals(info);
		break;
	default:
		break;
	}
	return 0;
}

static int read_signals(struct interact *interact, struct error *error)
{
	struct signalfd_siginfo info;
	int result = 0;
	while (!result && read(interact->signal_fd, &info, sizeof(info)) == sizeof(info))
		result = do_signal(interact, &info, error);
	return result;
}

static void copy(struct interact *interact)
{
	int result = terminal_copy(interact->terminal, ui_copied(interact->ui));
	if (result)
		ui_tell(interact->ui,
			result == -E2BIG    ? "not copied: it is more than a terminal takes"
			: result == -ENOMEM ? "out of memory!"
					    : "not copied: the terminal does not take it");
}

static int do_wish(struct interact *interact, enum ui_wish wish, struct error *error)
{
	switch (wish) {
	case UI_WISH_QUIT:
		interact->leaving = true;
		break;
	case UI_WISH_SUSPEND:
		return suspend(interact, error);
	case UI_WISH_REPAINT:
		terminal_repaint(interact->terminal);
		return fit(interact, error);
	case UI_WISH_MOUSE:
		terminal_set_mouse(interact->terminal, ui_mouse(interact->ui));
		break;
	case UI_WISH_COPY:
		copy(interact);
		break;
	case UI_WISH_PROFILE:
		interact->picked_pid = ui_picked(interact->ui);
		interact->leaving = true;
		break;
	case UI_WISH_NONE:
		break;
	}
	return 0;
}

static int read_keys(struct interact *interact, struct error *error)
{
	int key, result = 0;
	while (!result && !interact->leaving && (key = terminal_key(interact->terminal)) != 0) {
		if (key < 0)
			interact->leaving = true;
		else
			result = do_wish(interact, ui_key(interact->ui, key), error);
	}
	return result;
}

static bool read_timer(const struct interact *interact)
{
	uint64_t expirations;
	return read(interact->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations);
}

/* ---- the course of a live run ---- */

static int keep_course(struct interact *interact, struct error *error)
{
	struct session *session = interact->source.session;
	enum course_change change;
	if (!session || interact->session_result)
		return 0;
	int result = course_keep(&interact->course, session, &change, error);
	if (change == COURSE_STOPPED)
		facts_set_stopped(&interact->facts);
	return result;
}

/* What was sampled stays to be seen when sampling can't go on; the cause is told now, and again at the end. */
static void give_up_session(struct interact *interact, const struct error *error)
{
	struct text message = {0};
	text_add_safe(&message, error->cause);
	ui_tell(interact->ui, text_string(&message));
	text_release(&message);
	facts_set_stopped(&interact->facts);
}

/* What is still to be drawn comes when nothing waits. */
static int wait_and_serve(struct interact *interact, struct error *error)
{
	int timeout_ms = ui_dirty(interact->ui) ? 0 : -1;
	enum session_state state;
	if (interact->source.session && !interact->session_result) {
		interact->session_result =
			session_step(interact->source.session, timeout_ms, &state, error);
		if (interact->session_result)
			give_up_session(interact, error);
		return 0;
	}
	if (interact->source.loading) {
		bool done;
		int result = load_step(interact->source.loading, timeout_ms, &done, error);
		if (done)
			interact->source.loading = NULL;
		return result;
	}
	struct pollfd poll_fd = {.fd = interact->watch_fd, .events = POLLIN};
	return poll(&poll_fd, 1, timeout_ms) < 0 && errno != EINTR
		       ? error_set(error, -errno, "cannot wait: %s", strerror(errno))
		       : 0;
}

static int loop(struct interact *interact, struct error *error)
{
	int result = fit(interact, error);
	if (!result)
		result = refresh(interact, error);
	while (!result && !interact->leaving) {
		result = wait_and_serve(interact, error);
		if (!result)
			result = read_signals(interact, error);
		if (!result)
			result = read_keys(interact, error);
		bool due = read_timer(interact);
		if (!result)
			result = keep_course(interact, error);
		if (!result && due)
			result = do_timer(interact, error);
		if (!result && ui_dirty(interact->ui))
			terminal_draw(interact->terminal, ui_draw(interact->ui));
	}
	return result;
}

/* ---- life ---- */

static int watch(const struct interact *interact, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(interact->watch_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_wakers(struct interact *interact)
{
	interact->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	interact->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (interact->timer_fd < 0 || interact->watch_fd < 0)
		return -errno;
	int result = watch(interact, interact->signal_fd);
	if (!result)
		result = watch(interact, interact->timer_fd);
	return result ? result : watch(interact, STDIN_FILENO);
}

struct interact *interact_open(const struct options *options, int signal_fd, struct error *error)
{
	struct interact *interact = calloc(1, sizeof(*interact));
	if (!interact) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	*interact = (struct interact){
		.options = options, .signal_fd = signal_fd, .timer_fd = -1, .watch_fd = -1};
	int result = open_wakers(interact);
	if (result)
		error_set(error, result, "cannot watch the terminal: %s", strerror(-result));
	else
		interact->terminal = terminal_open(options->theme, error);
	if (interact->terminal)
		return interact;
	interact_close(interact);
	return NULL;
}

void interact_close(struct interact *interact)
{
	if (!interact)
		return;
	terminal_close(interact->terminal);
	ui_free(interact->picker);
	processes_release(&interact->processes);
	if (interact->timer_fd >= 0)
		close(interact->timer_fd);
	if (interact->watch_fd >= 0)
		close(interact->watch_fd);
	free(interact);
}

static struct ui *new_ui(struct interact *interact, enum view_kind view,
			 const struct refusal *refusal)
{
	const struct options *options = interact->options;
	const struct ui_host host = interact_host(interact);
	const struct ui_options ui_options = {
		.ascii = options->ascii || !terminal_speaks_utf8(),
		.least_percent = options->min_percent,
		.event = options->event,
		.since_start = !interact->source.session,
		.view = view,
		.refusal = refusal,
	};
	return ui_new(&ui_options, &host, interact->source.history);
}

int interact_show_refusal(struct interact *interact, const struct refusal *refusal,
			  struct error *error)
{
	interact->source = (struct interact_source){0};
	interact->leaving = false;
	interact->ui = new_ui(interact, VIEW_REFUSAL, refusal);
	int result =
		interact->ui ? loop(interact, error) : error_set(error, -ENOMEM, "out of memory");
	ui_free(interact->ui);
	interact->ui = NULL;
	return result;
}

int interact_pick(struct interact *interact, int32_t *pid, struct error *error)
{
	interact->source = (struct interact_source){0};
	interact->leaving = false;
	interact->picked_pid = 0;
	if (!interact->picker)
		interact->picker = new_ui(interact, VIEW_PICKER, NULL);
	interact->ui = interact->picker;
	int result =
		interact->ui ? loop(interact, error) : error_set(error, -ENOMEM, "out of memory");
	*pid = interact->picked_pid;
	return result;
}

void interact_tell_refusal(struct interact *interact, const struct error *error)
{
	struct text message = {0};
	text_add_safe(&message, error->cause);
	text_add(&message, "\n");
	text_add_safe(&message, error->remedy);
	text_addf(&message, "\nctop doctor -p %d checks all that it takes", interact->picked_pid);
	ui_tell(interact->picker, text_string(&message));
	text_release(&message);
}

bool interact_was_interrupted(const struct interact *interact)
{
	return interact->interrupted;
}

int interact_run(struct interact *interact, const struct interact_source *source,
		 struct error *error)
{
	const struct options *options = interact->options;
	struct session *watched = source->loading ? source->loading->session : source->session;
	interact->source = *source;
	interact->leaving = false;
	interact->begun_ns = clock_now_ns();
	interact->course = (struct course){0};
	if (source->session)
		course_begin(&interact->course, source->session, options);
	interact->ui = new_ui(interact, options->tree ? VIEW_TREE : VIEW_TOP, NULL);
	if (!interact->ui)
		return error_set(error, -ENOMEM, "out of memory");
	if (watched)
		session_watch(watched, interact->watch_fd);
	int result = loop(interact, error);
	if (watched)
		session_watch(watched, -1);
	ui_free(interact->ui);
	facts_release(&interact->facts);
	return result ? result : interact->session_result;
}
