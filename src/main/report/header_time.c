/* SPDX-License-Identifier: MIT */
/* What threads did with their time: computing, wanting to, waiting. */
#include "header_lines.h"

#include <inttypes.h>

#include <ctop/base/clock.h>
#include <ctop/ipc/goroutines_protocol.h>
#include <ctop/report/numbers.h>
#include <ctop/system/trace_refusal.h>

/* What its reader should know of where it is from. */
static const char *source_words(uint64_t source)
{
	static const char *const words[NR_TIME_SOURCES] = {
		[TIME_FROM_NOTHING] = "",
		[TIME_FROM_SWITCHES] = " (run-queue: preempted, not from waking on)",
		[TIME_FROM_LOOKS] = " (by /proc/PID/schedstat: no records of switches to be had)",
		[TIME_FROM_WAKINGS] = " (run-queue: from waking on)",
		[TIME_FROM_SOME_WAKINGS] =
			" (run-queue: from waking on until records of wakings "
			"cost more than --max-overhead or --budget allows, preempted from then on)",
		[TIME_FROM_BOTH] = " (by /proc/PID/schedstat from where records of switches cost "
				   "more than --max-overhead or --budget allows)",
	};
	return words[source < NR_TIME_SOURCES ? source : TIME_FROM_NOTHING];
}

/* Why goroutines that are parked are not shown, which are on no thread. */
static void add_threads_only(struct header *header)
{
	static const char *const words[NR_GOROUTINE_REFUSALS] = {
		[GOROUTINES_SHOWN] = "those that are parked are on none",
		[GOROUTINES_NOT_GO] = "those that are parked are on none",
		[GOROUTINES_NO_SYMBOLS] = "where those are that are parked is not known without "
					  "symbols (built with -ldflags=-s)",
		[GOROUTINES_NO_LAYOUT] = "where those are that are parked is not known of this "
					 "version of Go without DWARF (built with -ldflags=-w)",
		[GOROUTINES_DAMAGED] = "where those are that are parked could not be read in the "
				       "program's file",
	};
	const uint64_t refusal = header->facts->stats.goroutines_refusal;
	text_addf(&header->line, "; threads, not goroutines: %s",
		  words[refusal < NR_GOROUTINE_REFUSALS ? refusal : GOROUTINES_SHOWN]);
}

/* The largest first. Of a recording the kinds may come to anything. */
static void add_kinds(struct header *header, const uint64_t ns[NR_WAIT_KINDS], uint64_t whole_ns)
{
	bool told[NR_WAIT_KINDS] = {false};
	for (int nr = 0; nr < NR_WAIT_KINDS; nr++) {
		int most = -1;
		for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
			if (!told[kind] && (most < 0 || ns[kind] > ns[most]))
				most = kind;
		told[most] = true;
		if (ns[most])
			header_add_share(&header->line, wait_kind_name((enum wait_kind)most),
					 ns[most], whole_ns);
	}
}

/* As stacks have it, where waits are shown; else as looks at the threads do. */
static void add_waits(struct header *header, const struct thread_times *times)
{
	uint64_t shown_ns[NR_WAIT_KINDS], whole_ns = 0;
	const bool is_shown = history_wait_kinds(header->history, shown_ns);
	for (int kind = 0; is_shown && kind < NR_WAIT_KINDS; kind++)
		whole_ns += shown_ns[kind];
	if (is_shown)
		add_kinds(header, shown_ns, whole_ns);
	else
		add_kinds(header, times->wait_ns, times->ns[TIME_WAITING]);
	const uint64_t shared_ns = header->facts->stats.waits_estimated_ns;
	if (header->line.size)
		text_addf(&header->line, " of the waiting%s",
			  is_shown ? "" : ", estimated by looks at the threads");
	if (header->line.size && shared_ns && times->ns[TIME_WAITING])
		text_addf(&header->line,
			  "; %.2f%% of it was too short to be seen, and is shared out over short "
			  "waits",
			  100.0 * (double)shared_ns / (double)times->ns[TIME_WAITING]);
	if (header->line.size && history_has_time(header->history, TIME_SHOWN_GOROUTINES))
		text_add(&header->line, "; of threads: those of parked goroutines are --time "
					"goroutines");
	else if (header->line.size && history_has_go(header->history))
		add_threads_only(header);
	header_end_line(header, "waits");
}

static void add_unseen_wakeups(struct header *header)
{
	const struct session_stats *stats = &header->facts->stats;
	if (!stats->wakeups_unseen)
		return;
	add_grouped(&header->line, stats->wakeups_unseen);
	text_addf(&header->line,
		  " long wait%s ended by threads of the program, at stacks that were not copied: "
		  "[stack not seen]",
		  stats->wakeups_unseen == 1 ? "" : "s");
	text_add(&header->line,
		 stats->wakeups_given_up
			 ? "; copies cost more than --max-overhead or --budget allows"
			 : "; where there are more than 1,000 wakings a second, stacks are copied "
			   "of those that end waits of 10 ms and more, as far as these are known "
			   "of by then");
	header_end_line(header, "wakeups");
}

/* Only how long is known then. */
static void add_refusal(struct header *header)
{
	const struct session_stats *stats = &header->facts->stats;
	const char *words = trace_refusal_words(stats->waits_refused_by);
	if (!stats->waits_refused)
		return;
	text_add(&header->line, "where threads wait, ");
	add_grouped(&header->line, stats->waits_refused);
	text_addf(&header->line, " look%s", stats->waits_refused == 1 ? "" : "s");
	if (words)
		text_addf(&header->line, ": %s", words);
	text_add(&header->line, "; how long they waited is known all the same");
	header_end_line(header, "refused");
}

void header_add_time(struct header *header)
{
	struct text *line = &header->line;
	const struct session_stats *stats = &header->facts->stats;
	const struct thread_times *times = &stats->times;
	if (!times->observed_ns)
		return;
	header_add_share(line, "cpu", times->ns[TIME_RUNNING], times->observed_ns);
	header_add_share(line, "run-queue", times->ns[TIME_RUNNABLE], times->observed_ns);
	header_add_share(line, "waiting", times->ns[TIME_WAITING], times->observed_ns);
	if (times->ns[TIME_UNKNOWN])
		header_add_share(line, "unknown", times->ns[TIME_UNKNOWN], times->observed_ns);
	text_addf(line, " of %.2f s of ", (double)times->observed_ns / (double)NS_PER_SECOND);
	add_grouped(line, stats->nr_timed);
	text_addf(line, " thread%s%s", stats->nr_timed == 1 ? "" : "s",
		  source_words(stats->time_source));
	header_end_line(header, "time");
	if (times->ns[TIME_WAITING])
		add_waits(header, times);
	add_refusal(header);
	if (header->options->time == TIME_SHOWN_WAKEUPS)
		add_unseen_wakeups(header);
}
