/* SPDX-License-Identifier: MIT */
#include "record_last.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/flight/slice.h>
#include <ctop/flight/stretch.h>
#include <ctop/flight/thread_log.h>
#include <ctop/flight/trigger_watch.h>
#include <ctop/history/timeline.h>
#include <ctop/output/say.h>
#include <ctop/report/history_consumer.h>
#include <ctop/session/run.h>
#include <ctop/session/session.h>

#include "slice_files.h"

/* Samples come so late at most; names of the newest frames are awaited for so long. */
#define SETTLE_NS   (300 * NS_PER_MS)
#define PATIENCE_NS (2 * NS_PER_SECOND)
/* After one that was not written a trigger may soon try again. */
#define QUIET_NS NS_PER_SECOND
/* A slice of one sample tells nothing of where time goes. */
enum { SAMPLES_LEAST = 2 };
/* Of --last-size, for what threads did; with --syscalls, for these. */
enum { THREADS_SHARE = 4 };
/* Of a slice's timeline; of who the threads are. */
#define TIMELINE_BYTES (UINT64_C(8) << 20)

/* A slice that is wanted: written once its end is past. */
struct wish {
	uint64_t moment_ns; /* 0: none is wanted */
	char why[160];
};

struct flight {
	const struct options *options;
	struct session *session;
	struct stretch *stretch;
	struct thread_log *threads; /* what they did */
	struct timeline *lives;	    /* who they are: it has no time in it */
	struct trigger_watch *watch;
	struct slice_facts facts;
	struct slice_files files;
	struct slice slice;
	char slice_path
		[PATH_MAX]; /* of the one in hand, and what is said of it when it is written */
	struct text slice_words;
	struct wish wish;
	int signal_fd;		 /* readable at the end: nothing is waited for any more */
	uint64_t quiet_until_ns; /* no trigger writes another slice before */
	uint64_t nr_written, nr_failed, nr_quiet, nr_quiet_told;
	uint64_t quiet_for_ns; /* behind the last one: another would have the same samples */
	bool lost_last;	       /* of the slices: it could not be written */
	bool tells_no_waits;   /* it was said that waits are not known */
	bool tells_budget;     /* it was said that --budget is not held */
	int result;	       /* of a call whose caller cannot fail */
};

/* ---- what the session hands over ---- */

static int begin_epoch(void *context, const struct tables *tables, const struct symbols *symbols)
{
	static const struct session_stats none;
	struct flight *flight = context;
	const struct session_stats so_far = flight->session ? session_stats(flight->session) : none;
	trigger_watch_begin_epoch(flight->watch, tables, symbols);
	return stretch_begin_epoch(flight->stretch, tables, symbols, &so_far);
}

static int take_samples(void *context, const struct sample *samples, size_t nr)
{
	struct flight *flight = context;
	if (flight->watch)
		trigger_watch_samples(flight->watch, samples, nr);
	return stretch_add(flight->stretch, samples, nr);
}

static void take_region(void *context, struct region *region)
{
	struct flight *flight = context;
	stretch_take_region(flight->stretch, region);
}

static void take_thread(void *context, const struct thread_stretch *stretch)
{
	struct flight *flight = context;
	struct thread_stretch life = *stretch;
	const int result = thread_log_add(flight->threads, stretch);
	if (result)
		flight->result = result;
	if (stretch->event == THREAD_CALLED)
		return;
	life.to_ns = life.from_ns;
	life.call = NULL;
	life.event = stretch->event == THREAD_CREATED ? THREAD_CREATED : THREAD_NO_EVENT;
	timeline_consumer_take(flight->lives, &life);
}

/* ---- one slice ---- */

static uint64_t from_ns(const struct flight *flight, uint64_t moment_ns)
{
	const uint64_t last_ns = flight->options->last_ns;
	const uint64_t wanted_ns = moment_ns > last_ns ? moment_ns - last_ns : 0;
	const uint64_t since_ns = stretch_since_ns(flight->stretch);
	const struct session_stats stats = session_stats(flight->session);
	uint64_t ns = wanted_ns > since_ns ? wanted_ns : since_ns;
	return ns > stats.start_ns ? ns : stats.start_ns;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SECOND : 0;
}

/* "30.0 s before and 2.0 s after SIGUSR2, 2026-01-31 23:59:59"; of what the moment itself is not in any more, "1.0 s to 2.0 s after ..." */
static void add_excerpt(const struct flight *flight, const struct wish *wish, uint64_t from,
			uint64_t to, uint64_t wall_ns, struct text *text)
{
	const uint64_t moment_ns = wish->moment_ns, shown_ns = 50 * NS_PER_MS;
	const time_t second = (time_t)(wall_ns / NS_PER_SECOND);
	char clock[32] = "";
	struct tm local;
	if (localtime_r(&second, &local))
		strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &local);
	if (from > moment_ns)
		text_addf(text, "%.1f s to %.1f s after ", seconds(moment_ns, from),
			  seconds(moment_ns, to));
	else if (to > moment_ns + shown_ns)
		text_addf(text, "%.1f s before and %.1f s after ", seconds(from, moment_ns),
			  seconds(moment_ns, to));
	else
		text_addf(text, "%.1f s before ", seconds(from, moment_ns));
	text_add_safe(text, wish->why);
	text_addf(text, ", %s", clock);
	if (stretch_since_ns(flight->stretch) && !flight->options->keeps_all_it_can &&
	    from + flight->options->last_ns > moment_ns + NS_PER_MS)
		text_addf(text, "; there was no room for more: --last-size");
	const uint64_t calls_since_ns = thread_log_calls_since_ns(flight->threads);
	if (calls_since_ns > from)
		text_addf(text, "; system calls of its last %.1f s alone: --last-size",
			  seconds(calls_since_ns, to));
}

static uint64_t wall_of(uint64_t ns)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	const uint64_t wall_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
	return wall_ns - (clock_now_ns() - ns);
}

static void say_quiet(struct flight *flight)
{
	const uint64_t nr = flight->nr_quiet - flight->nr_quiet_told;
	if (nr)
		say("%llu more request%s within %.1f s of a slice: no slice was written for %s",
		    (unsigned long long)nr, nr == 1 ? "" : "s",
		    (double)flight->quiet_for_ns / (double)NS_PER_SECOND, nr == 1 ? "it" : "them");
	flight->nr_quiet_told = flight->nr_quiet;
}

static void say_failed(struct flight *flight, const struct error *error)
{
	flight->nr_failed++;
	say("no slice: %s", error->cause);
	if (error->remedy[0])
		say("  %s", error->remedy);
}

static void say_written(struct flight *flight, int result)
{
	if (!result) {
		flight->lost_last = false;
		flight->nr_written++;
		slice_files_keep(&flight->files, flight->slice_path, flight->options->keep);
		if (!flight->options->quiet)
			say("%s: %s", flight->slice_path, text_string(&flight->slice_words));
		if (!flight->options->quiet)
			say_quiet(flight);
		return;
	}
	struct error error = {0};
	flight->quiet_until_ns = clock_now_ns() + QUIET_NS;
	error_set(&error, result, "cannot write '%s': %s", flight->slice_path, strerror(-result));
	error_remedy(&error, "make room, or record elsewhere with -o FILE");
	say_failed(flight, &error);
	flight->lost_last = true;
}

static int too_few(const struct wish *wish, uint64_t from, uint64_t samples, struct error *error)
{
	if (from > wish->moment_ns) {
		error_set(error, -ENODATA, "there was no room for what was sampled until %s",
			  wish->why);
		return error_remedy(error, "keep more with a larger --last-size");
	}
	error_set(error, -ENODATA, "%s in the %.1f s before %s",
		  samples ? "only one sample" : "no sample", seconds(from, wish->moment_ns),
		  wish->why);
	return error_remedy(error,
			    "the target was idle, or had just begun: keep more with a longer "
			    "--last, or see where it waits with --time wall");
}

/* Into a timeline of its own. NULL: out of memory. */
static struct timeline *timeline_of(struct flight *flight, uint64_t from, uint64_t to)
{
	struct timeline *timeline = timeline_new(TIMELINE_BYTES);
	session_tell_threads(flight->session);
	if (timeline && !thread_log_fill(flight->threads, flight->lives, from, to, timeline))
		return timeline;
	timeline_free(timeline);
	return NULL;
}

/* into: the file; "": one of its own, named after the moment. */
static int begin_slice(struct flight *flight, const struct wish *wish, uint64_t to_ns,
		       const char *into, struct error *error)
{
	const uint64_t from = from_ns(flight, wish->moment_ns);
	const uint64_t samples = stretch_count(flight->stretch, from, to_ns);
	const struct session_stats stats = session_stats(flight->session);
	pid_t writer_pid = 0;
	if (samples < SAMPLES_LEAST)
		return too_few(wish, from, samples, error);
	struct timeline *timeline = timeline_of(flight, from, to_ns);
	if (!timeline)
		return error_set(error, -ENOMEM, "out of memory");
	struct text excerpt = {0};
	add_excerpt(flight, wish, from, to_ns, wall_of(wish->moment_ns), &excerpt);
	struct slice_request request = {
		.stretch = flight->stretch,
		.facts = &flight->facts,
		.stats = &stats,
		.from_ns = from,
		.to_ns = to_ns,
		.from_wall_ns = wall_of(from),
		.excerpt = text_string(&excerpt),
		.timeline = timeline,
		.output = {.path = flight->slice_path,
			   .option = "-o",
			   .way = *into ? OUTPUT_KEEP_OLD : OUTPUT_NEW,
			   .by_default = flight->options->output_by_default,
			   .is_whole = true,
			   .is_recording = true,
			   .wake_fd = *into ? flight->signal_fd : -1},
	};
	int result = -EEXIST;
	for (unsigned number = 0; result == -EEXIST && number < SLICE_NAMES_MOST; number++) {
		if (*into)
			snprintf(flight->slice_path, sizeof(flight->slice_path), "%s", into);
		else
			slice_file_name(flight->slice_path, sizeof(flight->slice_path),
					flight->options->output, wall_of(wish->moment_ns), number);
		result = slice_begin(&flight->slice, &request, &writer_pid, error);
	}
	timeline_free(timeline);
	if (!result)
		session_leave_out(flight->session, writer_pid);
	if (!result)
		flight->quiet_for_ns =
			flight->options->keeps_all_it_can ? to_ns - from : flight->options->last_ns;
	if (!result)
		flight->quiet_until_ns = to_ns + flight->quiet_for_ns;
	text_clear(&flight->slice_words);
	text_addf(&flight->slice_words, "%s, %llu samples", text_string(&excerpt),
		  (unsigned long long)samples);
	text_release(&excerpt);
	return result;
}

/* ---- while it runs ---- */

static void wish_for(struct flight *flight, uint64_t moment_ns, const char *why)
{
	if (flight->wish.moment_ns) {
		flight->nr_quiet++;
		return;
	}
	flight->wish.moment_ns = moment_ns;
	snprintf(flight->wish.why, sizeof(flight->wish.why), "%s", why);
	flight->quiet_until_ns = moment_ns + QUIET_NS;
}

static void take_usr2(void *context)
{
	wish_for(context, clock_now_ns(), "SIGUSR2");
}

static void look_at_triggers(struct flight *flight)
{
	struct trigger_met met;
	if (!trigger_watch_look(flight->watch, flight->session, &met))
		return;
	if (met.moment_ns < flight->quiet_until_ns)
		flight->nr_quiet++;
	else
		wish_for(flight, met.moment_ns, met.why);
}

/* A trigger that cannot come true is not waited for in silence. */
static int check_waits_are_known(struct flight *flight, struct error *error)
{
	if (flight->tells_no_waits || !trigger_watch_needs_switches(flight->watch) ||
	    time_source_has_records(session_time_source(flight->session)))
		return 0;
	flight->tells_no_waits = true;
	if (flight->options->strict)
		return error_set(error, -ENOTSUP,
				 "waits are not known: there are no records of switches");
	say("waits are not known any more, so no wait writes a slice: records of switches cost "
	    "more "
	    "than --max-overhead or --budget allows, or cannot be had");
	return 0;
}

/* Once in a while it is not held: that is said as often as it begins. */
static void tell_of_budget(struct flight *flight)
{
	const char *note = session_budget_note(flight->session);
	if (note[0] && !flight->tells_budget && !flight->options->quiet)
		say("%s", note);
	flight->tells_budget = note[0];
}

static bool is_due(struct flight *flight, uint64_t now_ns)
{
	const uint64_t end_ns = flight->wish.moment_ns + flight->options->post_ns;
	return flight->wish.moment_ns && now_ns > end_ns + SETTLE_NS &&
	       (session_has_names(flight->session) || now_ns > end_ns + PATIENCE_NS);
}

static void go_on_with_slice(struct flight *flight)
{
	const bool was_there = flight->slice.state != SLICE_NONE;
	const int result = slice_go_on(&flight->slice);
	if (was_there && result != -EAGAIN)
		say_written(flight, result);
}

static void keep_stretch(struct flight *flight, uint64_t now_ns)
{
	const uint64_t kept_ns = flight->options->last_ns + flight->options->post_ns + PATIENCE_NS;
	/* One that is wanted may have to wait for the disk. */
	const uint64_t until_ns = flight->wish.moment_ns ? flight->wish.moment_ns : now_ns;
	const uint64_t before_ns = until_ns > kept_ns ? until_ns - kept_ns : 0;
	stretch_forget(flight->stretch, before_ns);
	thread_log_forget(flight->threads, before_ns);
	if (stretch_wants_epoch(flight->stretch, now_ns))
		flight->result = session_renew_tables(flight->session);
}

static int tick(void *context, struct error *error)
{
	struct flight *flight = context;
	const uint64_t now_ns = clock_now_ns();
	look_at_triggers(flight);
	go_on_with_slice(flight);
	if (flight->slice.state == SLICE_NONE && is_due(flight, now_ns)) {
		struct error of_slice = {0};
		const struct wish wish = flight->wish;
		flight->wish.moment_ns = 0;
		if (begin_slice(flight, &wish, wish.moment_ns + flight->options->post_ns, "",
				&of_slice))
			say_failed(flight, &of_slice);
	}
	keep_stretch(flight, now_ns);
	tell_of_budget(flight);
	const int result = check_waits_are_known(flight, error);
	if (result)
		return result;
	return flight->result ? error_set(error, flight->result, "cannot go on: %s",
					  strerror(-flight->result))
			      : 0;
}

/* ---- at the end ---- */

/* Until the slice in hand is written. -EINTR: a second ^C came first, and it is given up. */
static int await_slice(struct flight *flight)
{
	while (flight->slice.state != SLICE_NONE) {
		go_on_with_slice(flight);
		if (flight->slice.state != SLICE_NONE &&
		    slice_wait(&flight->slice, flight->signal_fd) == -EINTR) {
			slice_release(&flight->slice);
			flight->nr_failed++;
			say("no slice: '%s' was given up before it was written",
			    flight->slice_path);
			return -EINTR;
		}
	}
	return 0;
}

static const struct trigger *exit_trigger(const struct flight *flight)
{
	for (size_t i = 0; i < flight->options->nr_triggers; i++)
		if (flight->options->triggers[i].kind == TRIGGER_EXIT)
			return &flight->options->triggers[i];
	return NULL;
}

/* -EINTR: a second ^C; any other failure is told. */
static int write_last(struct flight *flight, const struct wish *wish, uint64_t end_ns,
		      const char *into)
{
	struct error error = {0};
	int result = begin_slice(flight, wish, end_ns, into, &error);
	if (!result)
		return await_slice(flight);
	say_failed(flight, &error);
	/* Not where there was nothing to write, or the user gave it up. */
	flight->lost_last |= result != -ENODATA && result != -EINTR;
	return result == -EINTR ? result : 0;
}

/* What is still wanted, then the end's own. */
static void end_flight(struct flight *flight)
{
	const struct session_stats stats = session_stats(flight->session);
	/* Events are switched off one by one. */
	const uint64_t until_ns = stretch_until_ns(flight->stretch);
	const uint64_t end_ns = stats.end_ns > until_ns ? stats.end_ns : until_ns;
	const struct trigger *exit = exit_trigger(flight);
	const bool failed = flight->options->argv && stats.target_exited &&
			    run_exit_status(stats.target_status) != 0;
	struct wish at_end = {.moment_ns = stats.end_ns};
	int result = await_slice(flight);
	if (!result && flight->wish.moment_ns)
		result = write_last(flight, &flight->wish, end_ns, "");
	if (result)
		return;
	if (exit && failed) {
		const int status = stats.target_status;
		snprintf(at_end.why, sizeof(at_end.why), "%s (%s %d)", exit->text,
			 WIFSIGNALED(status) ? "signal" : "status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		write_last(flight, &at_end, end_ns, "");
	} else if (!flight->options->nr_triggers) {
		snprintf(at_end.why, sizeof(at_end.why), "the end");
		write_last(flight, &at_end, end_ns, flight->options->output);
	}
}

static void print_summary(struct flight *flight)
{
	const struct session_stats stats = session_stats(flight->session);
	say("%llu samples of %s in %.1f s, %llu lost; slices: %llu written, %llu not",
	    (unsigned long long)(stats.samples - stats.waits), session_target(flight->session),
	    (double)(stats.end_ns - stats.start_ns) / (double)NS_PER_SECOND,
	    (unsigned long long)stats.lost, (unsigned long long)flight->nr_written,
	    (unsigned long long)flight->nr_failed);
	say_quiet(flight);
}

static void say_what_is_kept(const struct flight *flight)
{
	const struct options *options = flight->options;
	const double mib = (double)options->last_bytes / (double)(1 << 20);
	const double seconds_kept = (double)options->last_ns / (double)NS_PER_SECOND;
	say("the last %.1f %s of %s are kept; 'ctop dump %d' writes them",
	    options->keeps_all_it_can ? mib : seconds_kept, options->keeps_all_it_can ? "MiB" : "s",
	    session_target(flight->session), getpid());
}

static int run(struct flight *flight, struct error *error)
{
	const struct run_ticker ticker = {flight, tick, NULL, take_usr2};
	int result = slice_facts_take(&flight->facts, flight->session, flight->options);
	if (result)
		return error_set(error, result, "cannot keep what is known of the run: %s",
				 strerror(-result));
	result = session_start(flight->session, error);
	if (result)
		return result;
	if (!flight->options->quiet) {
		for (size_t i = 0; i < session_nr_fallbacks(flight->session); i++)
			say("%s", session_fallback(flight->session, i));
		say_what_is_kept(flight);
	}
	result = run_session(flight->session, flight->options, flight->signal_fd, &ticker, error);
	end_flight(flight);
	if (!flight->options->quiet)
		print_summary(flight);
	const struct session_stats stats = session_stats(flight->session);
	if (!result && flight->lost_last)
		return EXIT_FAILURE; /* it was said why */
	if (!result && flight->options->argv && stats.target_exited)
		return run_exit_status(stats.target_status);
	return result;
}

static bool has_wait_trigger(const struct options *options)
{
	for (size_t i = 0; i < options->nr_triggers; i++)
		if (options->triggers[i].kind == TRIGGER_WAIT)
			return true;
	return false;
}

static int open_and_run(struct flight *flight, struct error *error)
{
	const struct options *options = flight->options;
	const struct session_consumer consumer = {flight, begin_epoch, take_samples};
	const struct session_keeper keeper = {flight, take_region};
	if (output_descriptor(options->output) >= 0) {
		error_usage(error, "slices are files: -o %s is none", options->output);
		return error_remedy(error, "name a file: slices are named after it");
	}
	/* Slices may come after days only. */
	if (slice_files_check(options->output, error))
		return -EINVAL;
	flight->watch = trigger_watch_new(options, error);
	if (!flight->watch)
		return -EINVAL;
	const uint64_t thread_bytes = options->last_bytes / THREADS_SHARE;
	const uint64_t calls_bytes =
		options->system_calls ? options->last_bytes / THREADS_SHARE : 0;
	flight->stretch =
		stretch_new(options->last_ns, options->last_bytes - thread_bytes - calls_bytes);
	flight->threads = thread_log_new(thread_bytes, calls_bytes);
	flight->lives = timeline_new(TIMELINE_BYTES);
	if (!flight->stretch || !flight->threads || !flight->lives)
		return error_set(error, -ENOMEM, "out of memory");
	/* Of all threads nobody keeps an account for nothing. */
	const bool waits = options->time != TIME_SHOWN_CPU ||
			   (options->system_wide && has_wait_trigger(options));
	flight->session = session_open_live(options, waits, &consumer, error);
	if (!flight->session)
		return -EINVAL;
	session_give_regions(flight->session, &keeper);
	session_follow_threads(flight->session, take_thread, flight);
	if (!options->no_inline)
		session_want_lines(flight->session, SESSION_LINES_AWAITED);
	return run(flight, error);
}

int command_record_last(const struct options *options, struct error *error)
{
	struct flight flight = {.options = options};
	int result = run_block_usr2(&flight.signal_fd);
	if (result)
		return error_set(error, result, "cannot watch signals: %s", strerror(-result));
	result = open_and_run(&flight, error);
	slice_release(&flight.slice);
	session_free(flight.session);
	stretch_free(flight.stretch);
	thread_log_free(flight.threads);
	timeline_free(flight.lives);
	trigger_watch_free(flight.watch);
	slice_facts_release(&flight.facts);
	slice_files_release(&flight.files);
	text_release(&flight.slice_words);
	close(flight.signal_fd);
	return result < 0 ? run_failed(options, result, error) : result;
}
