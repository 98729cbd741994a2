/* SPDX-License-Identifier: MIT */
#include <ctop/serve/serve.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>
#include <ctop/base/write_all.h>
#include <ctop/flight/recorders.h>
#include <ctop/ipc/channel.h>
#include <ctop/jail/jail.h>
#include <ctop/output/say.h>
#include <ctop/session/run.h>

#include "allowance.h"
#include "capture.h"
#include "exposition.h"
#include "listener.h"
#include "pusher.h"
#include "seal.h"
#include "targets.h"

/* The child may die so often in so long before it is given up. */
enum { DEATHS_MOST = 3 };
#define DEATHS_NS (10 * NS_PER_SECOND)
/* Messages of the child's that are read before main looks around. */
enum { ASKS_A_TURN = 64 };

struct serve {
	const struct options *options;
	struct listener listener;
	struct http_rules rules;
	struct targets targets;
	struct capture capture;
	uint64_t capture_id; /* 0: it is to be pushed */
	struct pusher pusher;
	uint64_t push_due_ns;
	int64_t push_from_s;
	struct jail_child child; /* pid 0: it does not run */
	bool is_ready, was_ready;
	uint64_t deaths_ns[DEATHS_MOST];
	size_t nr_deaths;
	struct serve_counts counts;
	struct allowance allowance;
	int signal_fd;
};

/* ---- the child ---- */

static int start_child(struct serve *serve, struct error *error)
{
	serve->is_ready = false;
	int result = jail_spawn("http", &serve->child);
	if (!result)
		result = channel_send(serve->child.channel, &serve->rules, sizeof(serve->rules),
				      serve->listener.fd);
	if (result)
		error_set(error, result, "cannot start the process that speaks HTTP: %s",
			  strerror(-result));
	return result;
}

/* It has died, or was ended for what it said: another goes on, and whoever was connected is not any more. */
static int replace_child(struct serve *serve, struct error *error)
{
	const uint64_t now = clock_now_ns();
	uint64_t *oldest = &serve->deaths_ns[serve->nr_deaths++ % DEATHS_MOST];
	const bool too_often = serve->nr_deaths >= DEATHS_MOST &&
			       (now - *oldest < DEATHS_NS || fault_counts_all_deaths());
	*oldest = now;
	jail_end(&serve->child);
	serve->capture.forgotten = serve->capture_id != 0;
	serve->counts.restarts++;
	if (!too_often && serve->was_ready)
		return start_child(serve, error);
	error_set(error, -ECHILD, "the process that speaks HTTP %s",
		  serve->was_ready ? "died 3 times in 10 s" : "did not start");
	return error_remedy(error, "look for its words above, and with ctop doctor at what the "
				   "jail needs");
}

static int take_ready(struct serve *serve, int result, struct error *error)
{
	serve->is_ready = serve->was_ready = true;
	if (result == -ENOSYS) {
		error_set(error, result, "libmicrohttpd, which speaks HTTP, is not installed");
		return error_remedy(error, "install it: apt-get install libmicrohttpd12");
	}
	if (result)
		return error_set(error, result, "libmicrohttpd cannot listen: %s",
				 strerror(-result));
	return 0;
}

/* ---- what all of it may cost ---- */

static uint64_t spent_ns(const struct serve *serve)
{
	const struct exposition_cpu used = exposition_cpu_seconds(serve->child.pid);
	return (uint64_t)((used.main + used.http + used.ended) * (double)NS_PER_SECOND) +
	       serve->counts.kernel_ns;
}

/* Until the next capture may begin, when what runs has ended. */
static uint64_t budget_wait_ns(struct serve *serve)
{
	if (!(serve->allowance.share > 0))
		return 0;
	allowance_look(&serve->allowance, clock_now_ns(), spent_ns(serve), serve->capture.pid != 0);
	return allowance_wait_ns(&serve->allowance);
}

static uint32_t budget_wait_s(struct serve *serve)
{
	const uint64_t s = (budget_wait_ns(serve) + NS_PER_SECOND - 1) / NS_PER_SECOND;
	return s < UINT32_MAX ? (uint32_t)s : UINT32_MAX;
}

static int answer(struct serve *serve, uint64_t id, unsigned status, const char *text, int fd)
{
	struct http_answer message = {.id = id, .status = status};
	if (status == 429)
		message.retry_after_s =
			serve->capture.pid ? capture_left_s(&serve->capture) : budget_wait_s(serve);
	snprintf(message.text, sizeof(message.text), "%s", text);
	return channel_send(serve->child.channel, &message, sizeof(message), fd);
}

/* ---- what is asked for ---- */

static int answer_metrics(struct serve *serve, const struct http_ask *ask)
{
	budget_wait_ns(serve); /* as of now */
	const struct exposition exposition = {
		.counts = &serve->counts,
		.pushes = serve->pusher.url ? &serve->pusher.counts : NULL,
		.nr_waiting = serve->pusher.nr,
		.ask = ask,
		.child = serve->child.pid,
		.capture = serve->capture.pid,
		.has_pids = serve->options->pids.nr > 0,
		.nr_targets = serve->options->pids.nr,
		.nr_running = targets_nr_running(&serve->targets),
		.allowance = serve->allowance.share > 0 ? &serve->allowance : NULL,
	};
	struct text text = {0};
	exposition_add(&text, &exposition);
	const int fd = memfd_create("metrics", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = text.failed ? -ENOMEM : fd < 0 ? -errno : 0;
	if (!result)
		result = write_all(fd, text.bytes, text.size);
	if (!result)
		result = seal_written(fd);
	text_release(&text);
	result = result ? answer(serve, ask->id, 500, strerror(-result), -1)
			: answer(serve, ask->id, 200, "", fd);
	if (fd >= 0)
		close(fd);
	return result;
}

/* The user who runs ctop asks, or root, and either may ask the recorder without ctop, too. */
static int answer_dump(struct serve *serve, const struct http_ask *ask)
{
	struct error error = {0};
	char text[HTTP_TEXT_MAX];
	int32_t pid = ask->pid;
	if (serve->listener.address.is_tcp)
		return -EPROTO;
	int result = pid ? 0 : recorder_choose(&pid, &error);
	if (!result)
		result = recorder_ask(pid, &error);
	serve->counts.dumps += !result;
	if (!result)
		snprintf(text, sizeof(text),
			 "asked process %" PRId32 ", which says where it writes", pid);
	else
		snprintf(text, sizeof(text), "%.500s; %.500s", error.cause, error.remedy);
	return answer(serve, ask->id,
		      !result		  ? 200
		      : result == -ESRCH  ? 404
		      : result == -EINVAL ? 409
					  : 403,
		      text, -1);
}

/* NULL: it can be captured. Else why not, with *status and how it is counted. */
static const char *why_not(struct serve *serve, const struct http_ask *ask, unsigned *status,
			   enum capture_outcome *outcome)
{
	*outcome = CAPTURE_REFUSED;
	*status = 400;
	if (ask->pid && !serve->options->pids.nr)
		return "pid: no processes were named when ctop serve began, with -p";
	if (http_endpoints[ask->endpoint].waits && !serve->options->pids.nr &&
	    !options_follow_all(serve->options))
		return "of some of all processes waiting threads are not known: start ctop serve "
		       "with -p or -a alone";
	const int result = targets_choose(&serve->targets, ask->pid);
	if (result == -ENOENT)
		return "pid: none of those that were named when ctop serve began";
	*status = 404;
	if (result)
		return ask->pid ? "pid: this process has ended" : "all processes have ended";
	*status = 429;
	*outcome = CAPTURE_BUSY;
	if (serve->capture.pid)
		return "another capture runs";
	*outcome = CAPTURE_UNPAID;
	return budget_wait_ns(serve)
		       ? "the last captures took what --budget allows: Retry-After says "
			 "when there is enough again"
		       : NULL;
}

static int take_capture(struct serve *serve, const struct http_ask *ask)
{
	unsigned status;
	enum capture_outcome outcome;
	const char *why = why_not(serve, ask, &status, &outcome);
	if (!why) {
		serve->capture_id = ask->id;
		const int result = capture_begin(&serve->capture, ask, &serve->targets.chosen);
		if (!result)
			return 0;
		why = strerror(-result);
		status = 500;
		outcome = CAPTURE_FAILED;
	}
	serve->counts.captures[ask->endpoint][outcome]++;
	return answer(serve, ask->id, status, why, -1);
}

static int take_ask(struct serve *serve, const struct http_ask *ask, struct error *error)
{
	switch (ask->kind) {
	case HTTP_ASK_READY:
		return serve->is_ready ? -EPROTO : take_ready(serve, ask->error, error);
	case HTTP_ASK_GONE:
		if (serve->capture.pid && ask->id && ask->id == serve->capture_id)
			serve->capture.forgotten = true;
		return 0;
	default:
		return ask->endpoint == HTTP_METRICS ? answer_metrics(serve, ask)
		       : ask->endpoint == HTTP_DUMP  ? answer_dump(serve, ask)
						     : take_capture(serve, ask);
	}
}

/* 0, or -errno with the cause: ctop cannot go on. A child that talks nonsense is replaced. */
static int hear(struct serve *serve, struct error *error)
{
	for (size_t i = 0; i < ASKS_A_TURN; i++) {
		struct http_ask ask;
		int fd = -1;
		const ssize_t got = channel_receive(serve->child.channel, &ask, sizeof(ask), &fd);
		if (got == -EAGAIN)
			return 0;
		if (got <= 0 || !http_ask_is_sane(&ask, (size_t)got))
			return replace_child(serve, error);
		const int result = take_ask(serve, &ask, error);
		if (result && error->cause[0])
			return result;
		if (result)
			return replace_child(serve, error);
	}
	return 0;
}

static int64_t wall_s(void)
{
	return clock_wall_ns() / (int64_t)NS_PER_SECOND;
}

/* It is time for a profile to be pushed, and no capture runs. A request's comes first, and then this one at once. */
static void begin_push(struct serve *serve)
{
	enum { PUSHED_MS = 10000 };
	const uint64_t every_ms = serve->options->push_every_ns / NS_PER_MS, now = clock_now_ns();
	if (!serve->pusher.url || serve->capture.pid || now < serve->push_due_ns)
		return;
	const uint64_t wait_ns = budget_wait_ns(serve);
	serve->push_due_ns = now + (wait_ns ? wait_ns : every_ms * NS_PER_MS);
	if (wait_ns) {
		serve->counts.captures[HTTP_PROFILE][CAPTURE_UNPAID]++;
		return;
	}
	const struct http_ask ask = {
		.endpoint = HTTP_PROFILE,
		.duration_ms = every_ms < 2 * PUSHED_MS ? (uint32_t)every_ms / 2 : PUSHED_MS,
		.hz = HTTP_DEFAULT_HZ,
	};
	serve->capture_id = 0;
	serve->push_from_s = wall_s();
	if (targets_choose(&serve->targets, 0) ||
	    capture_begin(&serve->capture, &ask, &serve->targets.chosen))
		serve->counts.captures[HTTP_PROFILE][CAPTURE_FAILED]++;
}

static void finish_push(struct serve *serve, const struct capture_result *result)
{
	if (result->output_fd >= 0)
		pusher_add(&serve->pusher, result->output_fd, serve->push_from_s, wall_s());
	else if (!serve->options->quiet)
		say("no profile to push: %s", result->text);
}

static int finish_capture(struct serve *serve)
{
	struct capture_result result;
	const bool forgotten = serve->capture.forgotten;
	if (!capture_serve(&serve->capture, &result))
		return 0;
	serve->counts
		.captures[serve->capture.ask.endpoint][forgotten	      ? CAPTURE_ABANDONED
						       : result.status == 200 ? CAPTURE_DONE
									      : CAPTURE_FAILED]++;
	serve->counts.samples += result.samples;
	serve->counts.lost += result.lost;
	serve->counts.dropped += result.dropped;
	serve->counts.bytes += result.bytes;
	serve->counts.kernel_ns += result.kernel_ns;
	serve->counts.nr_lowered += result.is_lowered;
	allowance_look(&serve->allowance, clock_now_ns(), spent_ns(serve), true);
	const bool folded = serve->capture.ask.format == HTTP_FOLDED;
	int code = 0;
	if (!serve->capture_id)
		finish_push(serve, &result);
	else if (!forgotten)
		code = answer(serve, serve->capture_id, result.status,
			      result.status != 200 ? result.text
			      : folded		   ? "folded"
						   : "",
			      result.output_fd);
	if (result.output_fd >= 0)
		close(result.output_fd);
	return code;
}

/* ---- the loop ---- */

/* The last words of libc's or the loader's: they are for the log. */
static void drain_words(const struct serve *serve)
{
	char bytes[1024];
	const ssize_t got = serve->child.stderr_fd < 0
				    ? -1
				    : read(serve->child.stderr_fd, bytes, sizeof(bytes) - 1);
	if (got <= 0)
		return;
	bytes[got] = '\0';
	bytes[strcspn(bytes, "\n")] = '\0';
	say("the process that speaks HTTP says: %s", bytes);
}

static int timeout_ms(const struct serve *serve)
{
	static const uint64_t most_ns = UINT64_C(3600) * NS_PER_SECOND;
	const uint64_t now = clock_now_ns(), until = serve->push_due_ns;
	const uint64_t due = until < now + most_ns ? until : now + most_ns;
	const bool pushes = serve->pusher.url && !serve->capture.pid;
	const int all[] = {capture_timeout_ms(&serve->capture), pusher_timeout_ms(&serve->pusher),
			   !pushes	? -1
			   : now >= due ? 0
					: (int)((due - now) / NS_PER_MS) + 1};
	int least = -1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] >= 0 && (least < 0 || all[i] < least))
			least = all[i];
	return least;
}

static int turn(struct serve *serve, bool *is_over, struct error *error)
{
	struct channel *channel = serve->child.channel;
	const bool is_full = channel_waiting(channel);
	struct pollfd fds[] = {
		{.fd = channel_fd(channel), .events = (short)(is_full ? POLLIN | POLLOUT : POLLIN)},
		{.fd = serve->signal_fd, .events = POLLIN},
		{.fd = serve->child.stderr_fd, .events = POLLIN},
		{.fd = serve->capture.pid_fd, .events = POLLIN},
		{.fd = pusher_fd(&serve->pusher), .events = POLLIN},
	};
	if (poll(fds, sizeof(fds) / sizeof(*fds), timeout_ms(serve)) < 0)
		return errno == EINTR
			       ? 0
			       : error_set(error, -errno, "cannot wait: %s", strerror(errno));
	struct signalfd_siginfo info;
	if (fds[1].revents && read(serve->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		*is_over = info.ssi_signo != SIGUSR1;
	if (fds[2].revents)
		drain_words(serve);
	int result = 0;
	if (is_full && channel_flush(channel))
		result = replace_child(serve, error);
	else if (fds[0].revents)
		result = hear(serve, error);
	if (!result && serve->capture.pid && finish_capture(serve))
		result = replace_child(serve, error);
	if (!result)
		result = pusher_serve(&serve->pusher, error);
	begin_push(serve);
	return result;
}

static void tell_place(const struct serve *serve)
{
	const char *listen = serve->options->listen;
	const struct listen_address *address = &serve->listener.address;
	if (address->is_tcp)
		say("listens at %.*s:%u", (int)(strrchr(listen, ':') - listen), listen,
		    address->port);
	else
		say("listens at %s", listen);
}

static int run(struct serve *serve, struct error *error)
{
	bool is_over = false, told = serve->options->quiet;
	int result = start_child(serve, error);
	while (!result && !is_over) {
		result = turn(serve, &is_over, error);
		if (!result && serve->was_ready && !told)
			tell_place(serve);
		told |= serve->was_ready;
	}
	capture_end(&serve->capture);
	pusher_release(&serve->pusher);
	if (serve->child.pid)
		jail_end(&serve->child);
	return result;
}

/* ---- the whole ---- */

static int prepare(struct serve *serve, struct error *error)
{
	const struct options *options = serve->options;
	int result = listen_address_parse(options->listen, &serve->listener.address, error);
	serve->rules.allowed_uid = geteuid();
	if (!result && options->token_file) {
		serve->rules.has_token = true;
		result = token_read(options->token_file, serve->rules.token, error);
	}
	if (!result)
		result = targets_open(&serve->targets, &options->pids, error);
	if (!result)
		result = listener_open(&serve->listener, error);
	serve->rules.port = serve->listener.address.port;
	const long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	allowance_begin(&serve->allowance, options->budget_share,
			nr_cpus > 0 ? (uint32_t)nr_cpus : 1, clock_now_ns(), spent_ns(serve));
	return result;
}

int serve_run(const struct options *options, struct error *error)
{
	struct serve serve = {.options = options, .listener = {.fd = -1}, .signal_fd = -1};
	capture_init(&serve.capture, options);
	pusher_init(&serve.pusher, options->push_url);
	jail_protect_main();
	int result = run_block_signals(&serve.signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	result = prepare(&serve, error);
	if (!result)
		result = run(&serve, error);
	listener_close(&serve.listener);
	if (serve.targets.fds)
		targets_release(&serve.targets);
	explicit_bzero(&serve.rules, sizeof(serve.rules));
	close(serve.signal_fd);
	return result;
}
