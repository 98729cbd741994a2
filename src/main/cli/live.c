/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/text.h>
#include <ctop/diagnose/refusal.h>
#include <ctop/history/history.h>
#include <ctop/interactive/interact.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/thread_facts.h>
#include <ctop/metadata/wait_facts.h>
#include <ctop/metadata/woken_facts.h>
#include <ctop/output/command_output.h>
#include <ctop/output/save.h>
#include <ctop/output/say.h>
#include <ctop/report/history_consumer.h>
#include <ctop/report/report.h>
#include <ctop/session/run.h>
#include <ctop/session/session.h>
#include <ctop/session/target.h>

/*
 * ctop without a command word: shows the profile while it grows, or, without a terminal,
 * profiles until ^C, the duration or the target's end and prints the report. Keeps
 * nothing on disk.
 */

struct live {
	const struct options *options;
	struct history *history;
	struct session *session;
	int signal_fd;
	struct interact *interact; /* has the terminal already; NULL: it has not, or is not to */
};

static int tick(void *context, struct error *error)
{
	struct live *live = context;
	int result = history_update_names(live->history);
	return result ? error_set(error, result, "out of memory") : 0;
}

static void show_start(const struct live *live)
{
	struct text text = {0};
	text_add(&text, "ctop: profiling ");
	text_add_safe(&text, session_target(live->session));
	/* Somebody sits there, and did not ask for a report. */
	if (!live->options->stdio && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		text_add(&text, "; this terminal (TERM) cannot show the interface");
	text_add(&text, "; ^C ends it and shows the report\n");
	say_text(&text);
	text_release(&text);
}

static int exit_status(const struct live *live, const struct session_stats *stats)
{
	return live->options->argv && stats->target_exited ? run_exit_status(stats->target_status)
							   : 0;
}

static int show(struct live *live, struct error *error)
{
	const struct interact_source source = {
		.session = live->session,
		.history = live->history,
		.pid = session_only_pid(live->session),
	};
	struct interact *interact = live->interact;
	if (!interact)
		interact = interact_open(live->options, live->signal_fd, error);
	int result = interact ? interact_run(interact, &source, error) : -ENOTTY;
	const bool interrupted = !result && interact_was_interrupted(interact);
	if (!live->interact)
		interact_close(interact);
	if (interrupted && live->options->argv)
		run_await_command(live->session, live->signal_fd);
	const struct session_stats stats = session_stats(live->session);
	return result ? result : exit_status(live, &stats);
}

/* Until the end, then the report. */
static int run(struct live *live, struct error *error)
{
	const struct metadata_sink metadata = metadata_to_history(live->history);
	const struct run_ticker ticker = {live, tick, NULL, NULL};
	if (!live->options->quiet)
		for (size_t i = 0; i < session_nr_fallbacks(live->session); i++)
			say("%s", session_fallback(live->session, i));
	if (!live->options->quiet && isatty(STDERR_FILENO))
		show_start(live);
	/* A session that fails in its middle still has what came before. */
	int failed = run_session(live->session, live->options, live->signal_fd, &ticker, error);
	if (!live->options->quiet && session_notice(live->session)[0])
		say("%s", session_notice(live->session));
	if (session_last_words(live->session)[0])
		say("%s", session_last_words(live->session));
	const struct session_stats stats = session_stats(live->session);
	struct text text = {0};
	size_t nr_threads, nr_sums, nr_wakings;
	const struct thread_times *threads = session_thread_times(live->session, &nr_threads);
	const struct wait_sum *sums = session_wait_sums(live->session, &nr_sums);
	const struct waking_sum *wakings = session_waking_sums(live->session, &nr_wakings);
	int result = metadata_end(&stats, &metadata);
	if (!result)
		result = thread_facts_add(threads, nr_threads, &metadata);
	if (!result)
		result = wait_facts_add(sums, nr_sums, &metadata);
	if (!result)
		result = woken_facts_add(wakings, nr_wakings, &metadata);
	if (!result)
		result = report_text(live->history, live->options, session_only_pid(live->session),
				     &text);
	struct error unsaid;
	struct error *saying = failed ? &unsaid : error;
	if (result)
		error_set(saying, result, "out of memory");
	else
		result = save_text(NULL, NULL, &text, live->signal_fd, saying);
	text_release(&text);
	if (failed || result)
		return failed ? failed : result;
	return exit_status(live, &stats);
}

static int start(struct live *live, struct error *error)
{
	const struct metadata_sink metadata = metadata_to_history(live->history);
	int result = metadata_start(live->session, live->options, &metadata);
	return result ? error_set(error, result, "out of memory")
		      : session_start(live->session, error);
}

/* Until sampling has begun, or cannot: then all is to be closed again. */
static int open_live(struct live *live, bool interactive, struct error *error)
{
	/* Samples of different events do not add up: the report is about the first. */
	const struct history_filter first_event = {.first_event = true,
						   .time = live->options->time,
						   .beside = report_has_columns(live->options)};
	live->history = history_new();
	if (!live->history)
		return error_set(error, -ENOMEM, "out of memory");
	history_set_limit(live->history, live->options->memory_mib << 20);
	history_set_state_frames(live->history, live->options->state_frames);
	if (interactive)
		history_keep_seconds(live->history);
	if ((interactive || live->options->timeline) && history_keep_timeline(live->history))
		return error_set(error, -ENOMEM, "out of memory");
	if (!interactive)
		history_set_filter(live->history, &first_event);
	const struct session_consumer consumer = history_consumer(live->history);
	live->session = session_open_live(live->options, interactive || live->options->time,
					  &consumer, error);
	if (live->session)
		history_follow_threads(live->history, live->session);
	if (live->session && !live->options->no_inline)
		session_want_lines(live->session,
				   interactive ? SESSION_LINES : SESSION_LINES_AWAITED);
	return live->session ? start(live, error) : -EINVAL;
}

static void close_live(struct live *live)
{
	history_free(live->history); /* it reads the session's tables */
	session_free(live->session);
}

/* ---- where the kernel lets nobody sample ---- */

static void print_refusal(const struct refusal *refusal)
{
	struct text text = {0};
	refusal_add(refusal, 0, &text, NULL, 0);
	say_text(&text);
	text_release(&text);
}

/* On a screen of its own, where there is one, and as text in any case. The exit code: nothing more is to be said. */
static int tell_refusal(const struct options *options, bool interactive, int signal_fd,
			struct error *error)
{
	struct refusal refusal;
	const int exit_code = error->exit_code;
	refusal_describe(options, error, &refusal);
	struct interact *interact = interactive ? interact_open(options, signal_fd, error) : NULL;
	int result = interact ? interact_show_refusal(interact, &refusal, error) : 0;
	interact_close(interact);
	if (result)
		say("%s", error->cause);
	print_refusal(&refusal);
	return exit_code;
}

static int profile(const struct options *options, bool interactive, int signal_fd,
		   struct error *error)
{
	struct live live = {.options = options, .signal_fd = signal_fd};
	int result = open_live(&live, interactive, error);
	bool refused = result < 0 && error->refusal;
	if (!result)
		result = (interactive ? show : run)(&live, error);
	close_live(&live);
	if (result < 0)
		result = run_failed(options, result, error);
	return refused ? tell_refusal(options, interactive, signal_fd, error) : result;
}

/* The interface on a command: what it writes is kept until the terminal is free. */
static int profile_command(const struct options *options, int signal_fd, struct error *error)
{
	struct options quiet = *options;
	struct command_output output;
	int result = command_output_open(&output, options->command_input, error);
	if (result)
		return run_failed(options, result, error);
	quiet.command_output = output.write_fd;
	if (!options->command_input)
		say("%s reads nothing: its standard input is /dev/null, as the interface reads the "
		    "terminal",
		    options->argv[0]);
	result = profile(&quiet, true, signal_fd, error);
	command_output_close(&output);
	return result;
}

/* Profiles the process picked. *refused: it is told why not, and another may be picked. */
static int profile_picked(struct interact *interact, const struct options *options, int signal_fd,
			  bool *refused, struct error *error)
{
	struct live live = {.options = options, .signal_fd = signal_fd, .interact = interact};
	int result = open_live(&live, true, error);
	*refused = result < 0;
	if (!*refused)
		result = show(&live, error);
	close_live(&live);
	if (!*refused)
		return result;
	interact_tell_refusal(interact, error);
	if (!error->refusal)
		return 0;
	struct refusal refusal;
	refusal_describe(options, error, &refusal);
	return interact_show_refusal(interact, &refusal, error);
}

/* The processes that the user picks; nothing when they do not. */
static int pick_and_profile(const struct options *options, int signal_fd, struct error *error)
{
	struct options picked = *options;
	picked.process_name = NULL;
	const int32_t *pids;
	size_t nr;
	bool refused = true;
	int result = 0;
	struct interact *interact = interact_open(options, signal_fd, error);
	if (!interact)
		return -ENOTTY;
	while (!result && refused) {
		*error = (struct error){0};
		result = interact_pick(interact, options->process_name, &pids, &nr, error);
		if (result || !nr)
			break;
		/* They are the picker's: nobody picks while they are profiled. */
		picked.pids = (struct int32_list){.items = (int32_t *)(uintptr_t)pids, .nr = nr};
		result = profile_picked(interact, &picked, signal_fd, &refused, error);
	}
	interact_close(interact);
	return result;
}

/*
 * What is piped to a command is the command's; the interface reads the keys from the terminal that it writes on. What
 * that is to be given as standard input; 0: what ctop itself has.
 */
static int keep_command_input(const struct options *options)
{
	if (!options->argv || options->stdio || isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return 0;
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	int input = terminal < 0 ? -1 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (input >= 0 && dup2(terminal, STDIN_FILENO) < 0) {
		close(input);
		input = -1;
	}
	if (terminal >= 0)
		close(terminal);
	return input < 0 ? 0 : input;
}

static int profile_target(const struct options *options, struct error *error)
{
	int signal_fd;
	bool interactive = interact_wanted(options), has_target = options_have_target(options);
	if (!interactive && !has_target)
		return options_no_target(options, error);
	int result =
		interactive ? interact_block_signals(&signal_fd) : run_block_signals(&signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	if (!has_target ||
	    (interactive && options->process_name && target_count_named(options->process_name) > 1))
		result = pick_and_profile(options, signal_fd, error);
	else if (interactive && options->argv)
		result = profile_command(options, signal_fd, error);
	else
		result = profile(options, interactive, signal_fd, error);
	close(signal_fd);
	return result;
}

int command_live(const struct options *options, struct error *error)
{
	struct options with_input = *options;
	with_input.command_input = keep_command_input(options);
	return profile_target(&with_input, error);
}
