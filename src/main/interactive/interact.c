/* SPDX-License-Identifier: MIT */
#include "interact_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
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
	/* Between refreshes some of the next one's work is done, and it waits for that so long. */
	ADVANCE_MS = 100,
	LATE_MS = 200,
	/* How soon code that is being listed is looked for again. */
	CODE_MS = 10,
};

bool interact_wanted(const struct options *options)
{
	return !options->stdio && !options->quiet && terminal_is_usable();
}

int interact_block_signals(int *fd)
{
	static const int watched[] = {SIGINT,  SIGTERM,	 SIGHUP,  SIGUSR1,
				      SIGTSTP, SIGWINCH, SIGCONT, SIGTTOU};
	sigset_t signals;
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&signals, watched[i]);
	return loop_block_signals(&signals, fd);
}

/* ---- refreshing and drawing ---- */

static void draw(struct interact *interact)
{
	terminal_draw(interact->terminal, ui_draw(interact->ui));
}

static int refresh(struct interact *interact, struct error *error)
{
	uint64_t begin_ns = clock_now_ns();
	if (interact->source.session)
		session_tell_threads(interact->source.session);
	if (ui_refresh(interact->ui, begin_ns))
		return error_set(error, -ENOMEM, "out of memory");
	draw(interact);
	bool first = begin_ns - interact->begun_ns < FIRST_MS * NS_PER_MS;
	uint64_t now_ns = clock_now_ns(), cost_ns = now_ns - begin_ns;
	uint64_t next_ns = (first ? FIRST_REFRESH_MS : REFRESH_MS) * NS_PER_MS;
	if (cost_ns * REFRESH_SHARE > next_ns)
		next_ns = cost_ns * REFRESH_SHARE;
	interact->refresh_ns = now_ns + next_ns;
	return 0;
}

/* What time has brought. */
static int refresh_if_due(struct interact *interact, struct error *error)
{
	uint64_t now_ns = clock_now_ns();
	int result = 0;
	if (now_ns < interact->advance_ns)
		return 0;
	const bool is_due = now_ns >= interact->refresh_ns;
	const bool is_late = now_ns >= interact->refresh_ns + LATE_MS * NS_PER_MS;
	/*
	 * A refresh does in one go what is left, while keys wait: first what can be done by parts, what came last included. Keys are
	 * read between any two of them.
	 */
	if (is_due && (is_late || interact->is_ahead)) {
		interact->has_more = interact->is_ahead = interact->was_due = false;
		result = refresh(interact, error);
	} else {
		if (!interact->has_more)
			ui_tick(interact->ui);
		const bool more = ui_advance(interact->ui);
		interact->is_ahead = is_due && interact->was_due && !more;
		interact->was_due = is_due;
		interact->has_more = more || is_due;
	}
	now_ns = clock_now_ns();
	interact->advance_ns = now_ns + (interact->has_more ? 0 : ADVANCE_MS * NS_PER_MS);
	if (interact->refresh_ns < interact->advance_ns)
		interact->advance_ns = interact->refresh_ns;
	return result;
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

static int take_signal(void *context, const struct signalfd_siginfo *info, struct error *error)
{
	struct interact *interact = context;
	switch ((int)info->ssi_signo) {
	case SIGWINCH:
		return fit(interact, error);
	case SIGTSTP:
		return suspend(interact, error);
	case SIGCONT:
		terminal_resume(interact->terminal);
		return fit(interact, error);
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
		interact->loop.is_over = true;
		interact->interrupted = run_is_terminals(info);
		break;
	default:
		break;
	}
	return 0;
}

static void copy(struct interact *interact)
{
	int result = terminal_copy(interact->terminal, ui_copied(interact->ui));
	if (result)
		ui_tell(interact->ui, result == -E2BIG ? "not copied: too long for a terminal"
				      : result == -ENOMEM
					      ? "out of memory!"
					      : "not copied: the terminal does not accept it");
}

static int do_wish(struct interact *interact, enum ui_wish wish, struct error *error)
{
	switch (wish) {
	case UI_WISH_QUIT:
		interact->loop.is_over = true;
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
		interact->picked = ui_picked(interact->ui, &interact->nr_picked);
		interact->loop.is_over = true;
		break;
	case UI_WISH_NONE:
		break;
	}
	return 0;
}

static int read_keys(struct interact *interact, struct error *error)
{
	int key, result = 0;
	while (!result && !interact->loop.is_over &&
	       (key = terminal_key(interact->terminal)) != 0) {
		if (key < 0)
			interact->loop.is_over = true;
		else
			result = do_wish(interact, ui_key(interact->ui, key), error);
	}
	return result;
}

/* ---- the loop ---- */

/* What was sampled stays to be seen when sampling can't go on; the cause is shown now, and again at the end. */
static void give_up_session(struct interact *interact, const struct error *error)
{
	struct text message = {0};
	text_add_safe(&message, error->cause);
	ui_tell(interact->ui, text_string(&message));
	text_release(&message);
	facts_set_stopped(&interact->facts);
	interact->loop.session = NULL;
}

static int serve(void *context, int timeout_ms, struct error *error)
{
	struct interact *interact = context;
	enum session_state state;
	if (interact->loop.session) {
		interact->session_result =
			session_step(interact->loop.session, timeout_ms, &state, error);
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

static int take_turn(void *context, enum course_change change, struct error *error)
{
	struct interact *interact = context;
	if (change == COURSE_STOPPED)
		facts_set_stopped(&interact->facts);
	int result = read_keys(interact, error);
	if (!result)
		result = refresh_if_due(interact, error);
	if (shown_code_serve(&interact->code, interact->source.session))
		ui_code_came(interact->ui);
	if (!result && ui_dirty(interact->ui))
		draw(interact);
	/* What is still to be drawn comes when nothing waits. Work can only be done ahead when samples come, and these wake us. */
	interact->loop.due_ns =
		ui_dirty(interact->ui) || interact->has_more ? 0 : interact->refresh_ns;
	/* It comes from processes that wake nobody. */
	if (shown_code_is_awaited(&interact->code)) {
		const uint64_t soon_ns = clock_now_ns() + CODE_MS * NS_PER_MS;
		if (soon_ns < interact->loop.due_ns)
			interact->loop.due_ns = soon_ns;
	}
	return result;
}

/* The source, on the screen that was made for it, until the user leaves. */
static int show(struct interact *interact, struct error *error)
{
	static const struct front_end front = {serve, take_signal, take_turn};
	if (!interact->ui)
		return error_set(error, -ENOMEM, "out of memory");
	interact->loop = (struct loop){
		.front = &front,
		.context = interact,
		.session = interact->source.session,
		.signal_fd = interact->signal_fd,
	};
	if (interact->loop.session)
		course_begin(&interact->loop.course, interact->loop.session, interact->options);
	interact->begun_ns = clock_now_ns();
	interact->advance_ns = interact->refresh_ns = 0;
	int result = fit(interact, error);
	return result ? result : loop_run(&interact->loop, error);
}

/* ---- life ---- */

static int watch(const struct interact *interact, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	return epoll_ctl(interact->watch_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_wakers(struct interact *interact)
{
	interact->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (interact->watch_fd < 0)
		return -errno;
	int result = watch(interact, interact->signal_fd);
	return result ? result : watch(interact, STDIN_FILENO);
}

struct interact *interact_open(const struct options *options, int signal_fd, struct error *error)
{
	struct interact *interact = calloc(1, sizeof(*interact));
	if (!interact) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	*interact = (struct interact){.options = options, .signal_fd = signal_fd, .watch_fd = -1};
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
	threads_release(&interact->threads);
	thread_shares_release(&interact->shares);
	commands_release(&interact->commands);
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
		.grouping = options->grouping,
		.event = options->event,
		.time = options->time,
		.since_start = !interact->source.session,
		.view = view,
		.refusal = refusal,
		.wanted = interact->wanted,
	};
	return ui_new(&ui_options, &host, interact->source.history);
}

int interact_show_refusal(struct interact *interact, const struct refusal *refusal,
			  struct error *error)
{
	interact->source = (struct interact_source){0};
	interact->ui = new_ui(interact, VIEW_REFUSAL, refusal);
	int result = show(interact, error);
	ui_free(interact->ui);
	interact->ui = NULL;
	return result;
}

int interact_pick(struct interact *interact, const char *wanted, const int32_t **pids, size_t *nr,
		  struct error *error)
{
	interact->source = (struct interact_source){0};
	interact->nr_picked = 0;
	interact->wanted = wanted;
	if (!interact->picker)
		interact->picker = new_ui(interact, VIEW_PICKER, NULL);
	interact->ui = interact->picker;
	int result = show(interact, error);
	*pids = interact->picked;
	*nr = interact->nr_picked;
	return result;
}

void interact_tell_refusal(struct interact *interact, const struct error *error)
{
	struct text message = {0};
	text_add_safe(&message, error->cause);
	text_add(&message, "\n");
	text_add_safe(&message, error->remedy);
	text_addf(&message, "\nctop doctor -p %d checks everything that profiling needs",
		  interact->picked[0]);
	ui_tell(interact->picker, text_string(&message));
	text_release(&message);
}

bool interact_was_interrupted(const struct interact *interact)
{
	return interact->interrupted;
}

/* Of a whole machine the first question is who. */
static enum view_kind first_view(const struct interact *interact)
{
	const struct session *session = interact->source.session;
	if (interact->options->tree)
		return VIEW_TREE;
	if (interact->options->modules)
		return VIEW_MODULES;
	if (interact->options->timeline)
		return VIEW_TIMELINE;
	return session && !strcmp(session_target_kind(session), "system") ? VIEW_THREADS : VIEW_TOP;
}

int interact_run(struct interact *interact, const struct interact_source *source,
		 struct error *error)
{
	struct session *watched = source->loading ? source->loading->session : source->session;
	interact->source = *source;
	interact->ui = new_ui(interact, first_view(interact), NULL);
	if (watched)
		session_watch(watched, interact->watch_fd);
	int result = show(interact, error);
	if (watched)
		session_watch(watched, -1);
	ui_free(interact->ui);
	facts_release(&interact->facts);
	shown_code_release(&interact->code);
	return result ? result : interact->session_result;
}
