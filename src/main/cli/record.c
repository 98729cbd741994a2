/* SPDX-License-Identifier: MIT */
#include <ctop/cli/commands.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/recorder/recording_writer.h>
#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/stats.h>
#include <ctop/metadata/thread_facts.h>
#include <ctop/metadata/timeline_facts.h>
#include <ctop/metadata/wait_facts.h>
#include <ctop/metadata/woken_facts.h>
#include <ctop/output/output.h>
#include <ctop/output/say.h>
#include <ctop/report/history_consumer.h>
#include <ctop/report/weight_text.h>
#include <ctop/session/disk.h>
#include <ctop/session/run.h>
#include <ctop/session/session.h>
#include <ctop/session/worker.h>

#include "record_html.h"
#include "record_last.h"

/* The recording is written this often: a crash of the machine costs at most this much. */
#define FLUSH_NS NS_PER_SECOND
/* While the end of the disk's work is awaited, what it confirms is looked at this often. */
enum { CONFIRMED_MS = 20 };

/* Tiles that take more become longer. */
#define TIMELINE_BYTES (UINT64_C(8) << 20)

struct recording_run {
	const struct options *options;
	struct session *session;
	struct disk disk;
	int pipe_fd; /* to the disk's process; the recording's writer owns it */
	struct recording_writer
		*writer; /* NULL until the session is open: a failed start costs no file */
	const struct tables *tables; /* of the epoch that the session opened with */
	const struct symbols *symbols;
	struct timeline *timeline; /* what threads did when: written at the end */
	struct history *history;   /* only for --stats: counts frames without a name */
	uint64_t samples;
	uint64_t flushed_ns, progress_ns, progress_samples;
	uint64_t bytes;
	uint64_t nr_writers_died;
	bool shows_progress, hides_progress; /* until the next tick: something else was said */
	char progress[192];
};

/* ---- what the session hands over ---- */

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	struct recording_run *run = context;
	int result = 0;
	run->tables = tables;
	run->symbols = symbols;
	if (run->writer) {
		/* What is left of the epoch before, with its last names. */
		result = recording_flush(run->writer);
		if (!result)
			result = recording_begin_epoch(run->writer, tables, symbols);
	}
	if (!result && run->history)
		result = history_begin_epoch(run->history, tables, symbols);
	return result;
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	struct recording_run *run = context;
	run->samples += nr;
	int result = recording_add_samples(run->writer, samples, nr);
	if (!result && run->history)
		result = history_import(run->history, samples, nr);
	return result;
}

static int add_info(void *context, const char *key, const char *value)
{
	const struct recording_run *run = context;
	return recording_add_info(run->writer, key, value);
}

/* ---- while it runs ---- */

static int terminal_columns(void)
{
	enum { USUAL_COLUMNS = 80 };
	struct winsize size = {0};
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
	return known ? size.ws_col : USUAL_COLUMNS;
}

static void draw_progress(struct recording_run *run)
{
	/* A line as long as the terminal is wide would begin a new one each time. */
	fprintf(stderr, "\r%.*s\033[K", terminal_columns() - 1, run->progress);
	run->hides_progress = false;
}

static void show_progress(struct recording_run *run, uint64_t now)
{
	const struct session_stats stats = session_stats(run->session);
	double seconds = (double)(now - stats.start_ns) / (double)NS_PER_SECOND;
	double since = (double)(now - run->progress_ns) / (double)NS_PER_SECOND;
	double rate = since > 0 ? (double)(run->samples - run->progress_samples) / since : 0;
	snprintf(run->progress, sizeof(run->progress),
		 "%7.1f s  %9.0f samples/s  %llu lost  %.1f KiB %s", seconds, rate,
		 (unsigned long long)stats.lost, (double)recording_bytes(run->writer) / 1024,
		 session_is_on(run->session) ? "" : " (off) ");
	run->progress_ns = now;
	run->progress_samples = run->samples;
	struct text fetching = {0};
	const size_t used = strlen(run->progress);
	if (session_is_fetching(run->session, &fetching))
		snprintf(run->progress + used, sizeof(run->progress) - used, " %s",
			 text_string(&fetching));
	text_release(&fetching);
	draw_progress(run);
}

static void hide_progress(void *context)
{
	struct recording_run *run = context;
	if (!run->progress[0])
		return;
	fputs("\r\033[K", stderr);
	run->hides_progress = true;
}

static int write_failed(struct recording_run *run, int code, struct error *error)
{
	if (code == -EINTR) {
		error_set(error, code, "'%s' is not complete: the disk was still writing",
			  run->options->output);
		return error_remedy(error,
				    "let ctop finish, or record to a faster disk with -o FILE");
	}
	if (code == -ECHILD) {
		error_set(error, code, "the process that writes '%s' died %d times in 10 s",
			  run->options->output, WORKER_MAX_DEATHS);
		return error_remedy(
			error, "what came before is kept; something kills it, or the machine is "
			       "out of memory: see dmesg");
	}
	error_set(error, code, "cannot write '%s': %s", run->options->output, strerror(-code));
	return error_remedy(
		error,
		code == -ENOSPC ? "make room, or record elsewhere with -o FILE"
		: code == -EPIPE
			? "its reader closed the pipe: let it read to the end, or use -o FILE"
			: "record elsewhere with -o FILE");
}

/* The writer has ended before the recording has: with a cause, or another goes on where it was. */
static int replace_writer(struct recording_run *run)
{
	int result = disk_wait(&run->disk, -1);
	if (result != -EAGAIN)
		return result ? result : -EIO;
	const uint8_t *kept;
	uint64_t written = recording_confirm(run->writer, disk_written(&run->disk));
	const size_t size = recording_kept(run->writer, written, &kept);
	written = recording_confirm(run->writer, disk_find(&run->disk, written, kept, size));
	run->nr_writers_died++;
	result = disk_restart(&run->disk, written, &run->pipe_fd);
	if (result)
		return result;
	session_leave_out(run->session, run->disk.writer.pid);
	return recording_redirect(run->writer, run->pipe_fd, written);
}

/* What the writer says that it has written need not be kept. 0 or -errno. */
static int look_after_writer(struct recording_run *run)
{
	/* A pipe that nobody reads is the end of its reader, if need be by our hand. */
	if (recording_is_broken(run->writer) && !disk_has_ended(&run->disk))
		worker_end(&run->disk.writer);
	else if (!disk_has_ended(&run->disk))
		recording_confirm(run->writer, disk_written(&run->disk));
	return disk_has_ended(&run->disk) ? replace_writer(run) : 0;
}

static int flush(struct recording_run *run, struct error *error)
{
	int result = recording_flush(run->writer);
	return result ? write_failed(run, result, error) : 0;
}

static int tick(void *context, struct error *error)
{
	struct recording_run *run = context;
	uint64_t now = clock_now_ns();
	if (run->shows_progress && now - run->progress_ns >= NS_PER_SECOND / 2)
		show_progress(run, now);
	else if (run->hides_progress)
		draw_progress(run);
	int result = look_after_writer(run);
	if (!result)
		result = recording_push(run->writer);
	if (result)
		return write_failed(run, result, error);
	if (now - run->flushed_ns < FLUSH_NS)
		return 0;
	run->flushed_ns = now;
	return flush(run, error);
}

/* ---- at the end ---- */

static double seconds_of(const struct session_stats *stats)
{
	return (double)(stats->end_ns - stats->start_ns) / (double)NS_PER_SECOND;
}

/* Of the first event: different ones do not add up. */
static double rate_hz(const struct session_stats *stats)
{
	double seconds = seconds_of(stats);
	return seconds > 0 ? (double)stats->events[0].samples / seconds : 0;
}

/*
 * " by cpu-clock"; of several events how many samples each has, for those are never added up elsewhere. Of many, as sched:* has
 * them, those without a sample are not named.
 */
static void add_events(struct text *out, const struct sampler *sampler,
		       const struct session_stats *stats, size_t nr_events)
{
	enum { SILENT_NAMED_MOST = 4 };
	size_t nr_silent = 0;
	for (size_t i = 0; i < nr_events; i++)
		nr_silent += !stats->events[i].samples;
	const bool names_silent = nr_silent <= SILENT_NAMED_MOST;
	const char *before = nr_events > 1 ? ": " : " ";
	for (size_t i = 0; i < nr_events; i++) {
		if (!stats->events[i].samples && !names_silent)
			continue;
		text_add(out, before);
		if (nr_events > 1)
			text_addf(out, "%llu ", (unsigned long long)stats->events[i].samples);
		text_addf(out, "by %s", sampler_opened(sampler, i)->name);
		before = ", ";
	}
	if (!names_silent)
		text_addf(out, "%s0 by %zu%s events", before, nr_silent,
			  nr_silent < nr_events ? " other" : "");
}

static void print_summary(const struct recording_run *run, const struct session_stats *stats)
{
	const uint64_t nr_stacks = stats->samples - stats->waits_unplaced;
	const uint64_t kernel_only = stats->ends[STACK_KERNEL_ONLY] - stats->waits_unplaced;
	double all = nr_stacks ? (double)nr_stacks : 1;
	struct text text = {0};
	text_addf(&text, "ctop: %llu samples of ",
		  (unsigned long long)(stats->samples - stats->waits));
	text_add_safe(&text, session_target(run->session));
	text_addf(&text, " in %.1f s", seconds_of(stats));
	add_events(&text, session_sampler(run->session), stats,
		   run->options->nr_events ? run->options->nr_events : 1);
	if (run->options->time)
		text_addf(&text, ", %llu stretches of waiting", (unsigned long long)stats->waits);
	text_addf(&text, ", %llu lost, %.1f %% of stacks complete", (unsigned long long)stats->lost,
		  100.0 * (double)(stats->ends[STACK_COMPLETE] + stats->ends[STACK_JOINED]) / all);
	if (kernel_only)
		text_addf(&text, ", %.1f %% kernel only", 100.0 * (double)kernel_only / all);
	if (stats->throttled)
		text_addf(&text, ", throttled %llux to %.0f samples per second",
			  (unsigned long long)stats->throttled, rate_hz(stats));
	if (stats->counted_share < SHARED_BELOW)
		text_addf(&text,
			  ", counters were shared: each event was counted at least %.0f %% of the "
			  "time, and its total is an estimate",
			  100.0 * stats->counted_share);
	if (stats->dropped_disk)
		text_addf(&text, ", %llu dropped because the disk was too slow",
			  (unsigned long long)stats->dropped_disk);
	if (stats->dropped_overrun + stats->dropped_crash + stats->dropped_damaged)
		text_addf(&text, ", %llu dropped",
			  (unsigned long long)(stats->dropped_overrun + stats->dropped_crash +
					       stats->dropped_damaged));
	if (stats->lost_sideband)
		text_addf(&text, ", %llu records of maps, forks and exits lost",
			  (unsigned long long)stats->lost_sideband);
	if (stats->unfollowed)
		text_addf(&text, ", %llu threads without such records",
			  (unsigned long long)stats->unfollowed);
	if (stats->restarts)
		text_addf(&text, ", %llu restart%s of helper processes",
			  (unsigned long long)stats->restarts, stats->restarts == 1 ? "" : "s");
	if (stats->undrained)
		text_add(&text, ", and what the kernel still held when ctop stopped waiting");
	text_addf(&text, "; ");
	text_add_safe(&text, run->options->output);
	text_addf(&text, " %.1f KiB\n", (double)run->bytes / 1024);
	say_text(&text);
	text_release(&text);
}

static void warn_of_short_tasks(const struct recording_run *run, const struct session_stats *stats)
{
	const struct sampler *sampler = session_sampler(run->session);
	for (size_t i = 0; i < stats->nr_events; i++) {
		const struct sampler_opened *opened = sampler_opened(sampler, i);
		const struct session_event *event = &stats->events[i];
		const struct clock_counts counts = {
			.counted_ns = opened->unit == WEIGHT_NS ? event->counted : 0,
			.sampled_ns = event->sampled,
			.lost_ns = event->lost * opened->period,
			.fewer_ns = stats->fewer_ns,
			.has_budget = stats->budget_ppm != 0,
			.cpus = stats->cpus,
		};
		const char *warning = weight_text_short_tasks(&counts);
		if (!warning || session_samples_cpus(run->session))
			continue;
		say("samples of %s stand for %.2f of %.2f s counted: %s", opened->name,
		    (double)event->sampled / (double)NS_PER_SECOND,
		    (double)event->counted / (double)NS_PER_SECOND, warning);
	}
}

static int write_stats(struct recording_run *run, const struct session_stats *stats, int signal_fd,
		       struct error *error)
{
	const struct history_totals totals = history_totals(run->history);
	struct run_facts facts;
	run_facts_of_session(stats, &facts);
	run_facts_set_fallbacks(run->session, &facts);
	facts.stats.frames = totals.frames;
	facts.unsymbolized_frames = totals.unsymbolized_frames;
	facts.output_bytes = run->bytes;
	facts.rate_hz = rate_hz(stats);
	facts.threads = session_thread_times(run->session, &facts.nr_threads);
	facts.wakings = session_waking_sums(run->session, &facts.nr_wakings);
	for (size_t i = 0; i < stats->nr_events; i++) {
		const struct sampler_opened *opened =
			sampler_opened(session_sampler(run->session), i);
		facts.events[i] = (struct run_event){
			.asked = run->options->nr_events ? run->options->events[i].asked : "cycles",
			.opened = opened->name,
			.period = opened->period,
			.frequency_hz = opened->frequency_hz,
			.unit = opened->unit,
		};
	}
	return stats_write(run->options->stats_path, &facts, signal_fd, error);
}

static void print_fallbacks(const struct recording_run *run)
{
	for (size_t i = 0; i < session_nr_fallbacks(run->session); i++)
		say("%s", session_fallback(run->session, i));
}

/* Until the writer has taken what waits in memory. 0, -errno, or -EINTR: the user does not want to wait. */
static int wait_for_disk(struct recording_run *run, int signal_fd)
{
	int result = recording_push(run->writer);
	while (!result && recording_waiting_bytes(run->writer)) {
		struct pollfd fds[] = {
			{.fd = run->pipe_fd, .events = POLLOUT},
			{.fd = signal_fd, .events = POLLIN},
			{.fd = run->disk.writer.pid_fd, .events = POLLIN},
		};
		/* The pipe may have room, and yet nothing be confirmed that is kept: that is not told, but looked at. */
		if (poll(fds, 3, CONFIRMED_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return -EINTR;
		result = look_after_writer(run);
		if (!result)
			result = recording_push(run->writer);
	}
	return result;
}

/* The pipe's end is the recording's: until the writer, or one of its successors, is through. */
static int close_and_wait(struct recording_run *run, int signal_fd)
{
	for (;;) {
		recording_close(run->writer);
		int result = disk_wait(&run->disk, signal_fd);
		if (result != -EAGAIN)
			return result;
		result = replace_writer(run);
		if (!result)
			result = wait_for_disk(run, signal_fd);
		if (result)
			return result;
	}
}

static int write_end(struct recording_run *run, const struct session_stats *stats, int signal_fd)
{
	const struct metadata_sink metadata = {run, add_info};
	size_t nr_threads, nr_sums, nr_wakings;
	const struct thread_times *threads = session_thread_times(run->session, &nr_threads);
	const struct wait_sum *sums = session_wait_sums(run->session, &nr_sums);
	const struct waking_sum *wakings = session_waking_sums(run->session, &nr_wakings);
	int result = wait_for_disk(run, signal_fd);
	if (!result)
		result = metadata_end(stats, &metadata);
	if (!result)
		result = thread_facts_add(threads, nr_threads, &metadata);
	if (!result)
		result = wait_facts_add(sums, nr_sums, &metadata);
	if (!result)
		result = timeline_facts_add(run->timeline, 1, &metadata);
	if (!result)
		result = woken_facts_add(wakings, nr_wakings, &metadata);
	if (!result)
		result = recording_end(run->writer);
	if (!result)
		result = wait_for_disk(run, signal_fd);
	run->bytes = recording_bytes(run->writer);
	if (!result)
		result = close_and_wait(run, signal_fd);
	recording_abandon(run->writer);
	run->writer = NULL;
	return result;
}

/* Ends the recording, also when the run failed in its middle: what came is kept. */
static int finish(struct recording_run *run, int result, const struct session_stats *stats,
		  int signal_fd, struct error *error)
{
	int ended = write_end(run, stats, signal_fd);
	return result || !ended ? result : write_failed(run, ended, error);
}

/* What the writer cost belongs to us. */
static void add_disk(const struct recording_run *run, struct session_stats *stats)
{
	stats->restarts += run->nr_writers_died;
	stats->cpu_ns[3] = disk_cpu_ns(&run->disk);
	stats->peak_rss_bytes += disk_anon_bytes(&run->disk);
}

static int record(struct recording_run *run, int signal_fd, struct error *error)
{
	const struct metadata_sink metadata = {run, add_info};
	const struct run_ticker ticker = {run, tick, hide_progress, NULL};
	int result = recording_begin_epoch(run->writer, run->tables, run->symbols);
	if (!result)
		result = metadata_start(run->session, run->options, &metadata);
	result = result ? write_failed(run, result, error) : flush(run, error);
	if (!result)
		result = session_start(run->session, error);
	if (!result && !run->options->quiet)
		print_fallbacks(run);
	run->flushed_ns = run->progress_ns = clock_now_ns();
	if (!result)
		result = run_session(run->session, run->options, signal_fd, &ticker, error);
	hide_progress(run);
	struct session_stats stats = session_stats(run->session);
	add_disk(run, &stats);
	result = finish(run, result, &stats, signal_fd, error);
	if (result)
		return result;
	if (run->history)
		result = write_stats(run, &stats, signal_fd, error);
	if (session_last_words(run->session)[0])
		say("%s", session_last_words(run->session));
	if (!run->options->quiet) {
		if (session_notice(run->session)[0])
			say("%s", session_notice(run->session));
		if (session_budget_note(run->session)[0])
			say("%s", session_budget_note(run->session));
		if (run->disk.may_repeat)
			say("'%s' may have a part twice, which is skipped when it is read: others "
			    "append to it, too, or it cannot be read back to see what the killed "
			    "process wrote last",
			    run->options->output);
		warn_of_short_tasks(run, &stats);
		print_summary(run, &stats);
	}
	if (run->options->argv && !stats.target_exited && !run->options->quiet)
		say("%s goes on", session_target(run->session));
	if (!result && run->options->argv && stats.target_exited)
		return run_exit_status(stats.target_status);
	return result;
}

static int open_and_run(struct recording_run *run, int signal_fd, struct error *error)
{
	const struct session_consumer consumer = {run, begin_epoch, take_samples};
	if (run->options->stats_path && !(run->history = history_new()))
		return error_set(error, -ENOMEM, "out of memory");
	if (run->history)
		history_set_limit(run->history, RUN_HISTORY_BYTES);
	run->session = session_open_live(run->options, run->options->time != TIME_SHOWN_CPU,
					 &consumer, error);
	if (!run->session)
		return -EINVAL;
	run->timeline = timeline_new(TIMELINE_BYTES);
	if (!run->timeline)
		return error_set(error, -ENOMEM, "out of memory");
	session_follow_threads(run->session, timeline_consumer_take, run->timeline);
	if (!run->options->no_inline)
		session_want_lines(run->session, SESSION_LINES_AWAITED);
	if (!run->options->no_keep_code)
		session_keep_code(run->session);
	const struct output_request request = {
		.path = run->options->output,
		.option = "-o",
		.way = OUTPUT_KEEP_OLD,
		.by_default = run->options->output_by_default,
		.is_recording = true,
		.wake_fd = signal_fd,
	};
	struct output output;
	int result = output_open(&output, &request, error);
	if (result)
		return result;
	result = disk_start(&run->disk, output.fd, &run->pipe_fd);
	if (result)
		return worker_not_started(result, error);
	session_leave_out(run->session, run->disk.writer.pid);
	run->writer = recording_writer_new_keeping(run->pipe_fd);
	if (!run->writer)
		return error_set(error, -ENOMEM, "out of memory");
	return record(run, signal_fd, error);
}

int command_record(const struct options *options, struct error *error)
{
	int signal_fd;
	if (options->last_ns)
		return command_record_last(options, error);
	int result = record_html_check(options, error);
	if (result)
		return result;
	result = run_block_signals(&signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	struct recording_run run = {
		.options = options,
		.shows_progress = !options->quiet && isatty(STDERR_FILENO),
	};
	disk_init(&run.disk);
	result = open_and_run(&run, signal_fd, error);
	recording_abandon(run.writer);
	disk_release(&run.disk);
	history_free(run.history);
	timeline_free(run.timeline);
	session_free(run.session);
	close(signal_fd);
	if (result >= 0 && options->html_path) {
		run_unblock_signals();
		const int failure = record_html_write(options, error);
		result = failure ? failure : result;
	}
	return result < 0 ? run_failed(options, result, error) : result;
}
