/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_SESSION_H
#define CTOP_SESSION_SESSION_H

/*
 * A running profile: starts the jailed children, answers their requests for
 * files, restarts them when they die, and hands samples to one consumer. The source
 * is either the kernel (a sampler) or a file. Single-threaded: everything happens
 * inside session_step().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ctop/base/error.h>
#include <ctop/base/text.h>
#include <ctop/ipc/recording_read.h>
#include <ctop/options/options.h>
#include <ctop/time/thread_times.h>
#include <ctop/time/wait_sums.h>
#include <ctop/time/waking_sums.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>
#include <ctop/system/cpu_times.h>
#include <ctop/base/thread_stretch.h>

/* Who gets the samples. Each returns 0 or -errno, which ends the session with that error. */
struct session_consumer {
	void *context;
	/* Ids of samples from now on refer to these; both stay mapped until the next epoch or session_free(). */
	int (*begin_epoch)(void *context, const struct tables *tables,
			   const struct symbols *symbols);
	/* -EAGAIN: it has no room for these now; they are counted as dropped. */
	int (*samples)(void *context, const struct sample *samples, size_t nr);
};

/* One of several events: different ones do not add up. Not of files. */
struct session_event {
	uint64_t samples; /* that reached the consumer */
	uint64_t counted; /* by the kernel itself; of clocks in ns */
	uint64_t sampled; /* the periods that samples stand for, summed */
	uint64_t lost;	  /* by the kernel's count, where it has one for each event (since 6.0) */
	double counted_share; /* of the time, how much it had a counter; 1: always */
	/* How long each of its sets was sampled, where ctop paces it; nr_sets: 0 for others and files. */
	struct session_set {
		uint32_t dump_bytes, fewer; /* as in struct sampler_set */
		uint64_t ns;
	} sets[SAMPLER_MAX_SETS];
	uint32_t nr_sets;
};

struct session_stats {
	uint64_t samples; /* that reached the consumer */
	/* By the kernel: LOST records, LOST_SAMPLES and PERF_FORMAT_LOST, each counted once. */
	uint64_t lost;
	uint64_t late, throttled;
	uint64_t hurried; /* broken stacks that were not waited for */
	/* What the CPUs that are sampled did meanwhile (/proc/stat); all 0: not known. */
	struct cpu_times cpus;
	/* Of main's own records of maps, forks and exits: lost by the kernel; threads that have none. */
	uint64_t lost_sideband, unfollowed;
	/* 1: the end was not waited for: what the kernel's rings still held is in none of these. */
	uint64_t undrained;
	/* dropped, by reason */
	uint64_t dropped_overrun; /* main was too slow for the sample ring */
	uint64_t dropped_disk;	  /* the consumer had no room: its file was too slow */
	uint64_t dropped_crash;	  /* records skipped because a child died on them */
	uint64_t dropped_damaged; /* records that contradict themselves */
	uint64_t dropped_double;  /* second sample of a thread attached twice: not a loss */
	uint64_t dropped_own;	  /* of ctop itself, when whole CPUs are sampled */
	/* Of processes not asked for, when whole CPUs stand in for threads. */
	uint64_t dropped_foreign;
	uint64_t dropped_comm, dropped_uid; /* left out by --comm and --uid */
	/* What the collector took from the rings: samples + dropped. From a file: as it was when recorded. */
	uint64_t drained;
	/* Of the first event, for different ones do not add up. Of clocks in ns. */
	uint64_t events_counted; /* by the kernel itself */
	uint64_t events_sampled; /* the periods that samples stand for, summed */
	/* Of the time, how much the least counted event had a counter; 1: there were enough. Not of files. */
	double counted_share;
	struct session_event events[SAMPLER_MAX_EVENTS];
	size_t nr_events;
	uint64_t ends[NR_STACK_ENDS];
	uint64_t opened_ns,
		first_stack_ns; /* when the session was opened, when the first complete stack was sampled; 0: never */
	uint64_t frames;
	uint64_t unlined; /* of them: lines were awaited, and did not come in time */
	uint64_t start_ns,
		end_ns;	    /* of sampling; start_ns is moved on by the time that it was off */
	uint64_t cpu_ns[4]; /* main, collector, symbolizer, writer; dead predecessors included */
	uint64_t peak_rss_bytes; /* anonymous memory of all three, sampled each second, + tables */
	uint64_t ring_bytes;
	uint64_t restarts;
	/* As broker_unreadable(). The session's. */
	const char *const *unreadable;
	size_t nr_unreadable;
	uint64_t cache_hits, cache_misses;
	/* The same of all other events together. Not of files. */
	struct session_set sets[SAMPLER_MAX_SETS];
	uint32_t nr_sets;
	/* What the target's threads did with their time, all together; where that is known from, by enum time_source. */
	struct thread_times times;
	uint64_t time_source, nr_timed; /* how many threads that is */
	uint64_t untimed;		/* threads that were too many for it */
	uint64_t switch_cost_ns;	/* time_account_switch_cost_ns() */
	bool all_locked; /* they live, are several, and waited for locks when they were last looked at */
	uint64_t waits; /* of the samples: what tells of waits, and was not sampled */
	/* Of these: on the run queue, or waits that were not seen or may not be looked at; they have no stack. */
	uint64_t waits_unplaced;
	/* Of waiting that is told by stacks: shared out over short waits that were seen, an estimate. */
	uint64_t waits_estimated_ns;
	uint64_t waits_refused;	   /* looks at waiting threads that the kernel did not allow */
	uint64_t waits_refused_by; /* why: enum trace_refusal */
	uint64_t waits_silent; /* threads, and processes as a whole, whose memory did not answer */
	uint64_t
		waits_unasked; /* looks that were not made, as nobody could be started who makes them */
	uint64_t waits_untold_ns; /* that the collector had no room for */
	uint64_t wakings_lost;	  /* what was lost of records of who was woken */
	uint64_t wakings_untold;  /* waits that ended without such a record */
	/* Waits that were sampled as they began; such samples that were lost; each how many waits one is of, at last, 0: none are sampled. */
	uint64_t switch_outs, switch_outs_lost, switch_out_period;
	/* Of wakeups: long waits that the target's threads ended, whose stacks were not copied; ns that the collector had no room for. */
	uint64_t wakeups_unseen, wakeups_untold_ns;
	uint64_t wakeups_given_up; /* 1: copies cost too much, and there are none any more */
	/* Of system calls one by one: how many were over, records that were lost; 1: they were too many, and there are none any more. */
	uint64_t calls, calls_lost, calls_given_up;
	/* Why goroutines are not shown, by enum goroutine_refusal; those that were too many, and too many to be told one by one. */
	uint64_t goroutines_refusal, goroutines_left_out, goroutines_joined;
	uint64_t fewer_ns; /* of the time, how much was sampled by a set with fewer samples */
	/* What --budget allows, in millionths of the machine's time, 0: there is none; what was spent of that: by ctop's processes, by the kernel for it. */
	uint64_t budget_ppm, budget_own_ns, budget_kernel_ns, budget_machine_ns;
	uint64_t kernel_names;	       /* enum kernel_names_from */
	const char *late_fallbacks[3]; /* that came after the start */
	size_t nr_late_fallbacks, nr_fallbacks_before;
	int target_status; /* of -- CMD, as waitpid gives it */
	bool target_exited;
	uint64_t released_ns; /* when a command of ours was let run */
	uint64_t
		target_exec_ns; /* when the one process last ran exec, by the kernel's records; 0: never */
};

enum session_state {
	SESSION_RUNNING,
	SESSION_DRAINED /* stopped, and everything was handed over; names included */
};

struct looker;
struct session;

/* Opens the events and the children. waits: where threads wait is wanted, too. NULL with cause and remedy. consumer is copied. */
struct session *session_open_live(const struct options *options, bool waits,
				  const struct session_consumer *consumer, struct error *error);
/*
 * Opens a recording (or perf.data, by its content: nr_jobs children read it; 0: one for each CPU where the file is large). NULL with cause
 * and remedy.
 */
struct session *session_open_file(const char *path, size_t nr_jobs,
				  const struct session_consumer *consumer, struct error *error);
/* The same file once more, from its start; `before` has read it. NULL with cause and remedy: a pipe is read once. */
struct session *session_open_again(const struct session *before,
				   const struct session_consumer *consumer, struct error *error);
void session_free(struct session *session);

/*
 * Once, before session_start(): who keeps what was sampled gets each epoch's memory when the consumer has gone on to the next one, and
 * closes it later. What `region` says is the taker's from then on.
 */
struct region;
struct session_keeper {
	void *context;
	void (*take)(void *context, struct region *region);
};
void session_give_regions(struct session *session, const struct session_keeper *keeper);
/* The collector goes on in fresh tables, as if these were full. 0 or -errno; nothing where that is under way. */
int session_renew_tables(struct session *session);
/* Whether all frames that are known by now have their names, too. */
bool session_has_names(struct session *session);
/* CPU time of the target up to that time: of all its threads by the account of their time, of whole CPUs by theirs. */
struct session_used {
	uint64_t cpu_ns, until_ns; /* CLOCK_MONOTONIC */
};
struct session_used session_used(struct session *session);
/*
 * What each thread does is told as it becomes known, in the order of time of each; before session_start(). False: nobody knows, as of whole CPUs and
 * files. What goes on is told when session_tell_threads() asks.
 */
bool session_follow_threads(struct session *session,
			    void (*follow)(void *context, const struct thread_stretch *stretch),
			    void *context);
void session_tell_threads(struct session *session);
/*
 * A thread that waits for one of these kinds (bits 1 << enum wait_kind), of whose wait it became known behind after_ns and not behind until_ns that it lasts for
 * least_ns, or, later, what it is for. False: none does, or records of switches do not tell.
 */
struct session_long_wait {
	int32_t tid;
	enum wait_kind kind;
	char name[16]; /* untrusted */
};
enum time_source session_time_source(const struct session *session);
bool session_find_wait(const struct session *session, unsigned kinds, uint64_t least_ns,
		       uint64_t after_ns, uint64_t until_ns, struct session_long_wait *wait);
/* The wait that a thread is in, for what by the last look. False: it does not wait, or nobody has looked. */
bool session_wait_of(const struct session *session, int32_t tid, struct session_long_wait *wait);

/* Lines and inlined functions of what is sampled: whether they are looked up, in the background, and awaited at the end, for a while. */
enum session_lines { SESSION_NO_LINES, SESSION_LINES, SESSION_LINES_AWAITED };
/* Once, before session_start(); at first there are none. A recording has its lines inside. */
void session_want_lines(struct session *session, enum session_lines lines);
/* Likewise: the code of hot functions is kept beside the names, which the end waits for. */
void session_keep_code(struct session *session);

/* Lets the target run, and sampling begin unless the session starts switched off. 0 or -errno with error. */
int session_start(struct session *session, struct error *error);
/*
 * Switches sampling on or off, any time after session_start(). What the target maps and starts meanwhile is
 * asked for when it is on again. 0 or -errno with error.
 */
int session_switch(struct session *session, bool on, struct error *error);
bool session_is_on(const struct session *session);
/* Waits at most timeout_ms for something to do, does it. *state tells. 0 or -errno with error. */
int session_step(struct session *session, int timeout_ms, enum session_state *state,
		 struct error *error);
/* Stops sampling; keep stepping until SESSION_DRAINED. Idempotent, safe after the target ended. */
void session_stop(struct session *session);
/* Whether the target was seen to have ended; its status is then among the stats. */
bool session_target_ended(const struct session *session);
/*
 * Waits for the target's end, without serving anybody: up to so long (-1: for ever), or until fd can be read. What
 * session_target_ended() says then.
 */
bool session_await_target(struct session *session, int fd, int timeout_ms);

/* As broker_dump(), of what is sampled now: -1 of a file. */
int session_dump(const struct session *session, const struct module_row *row, const char *path);
/* A process that works for the consumer: profiles of whole CPUs leave it out, as those of the session. */
void session_leave_out(struct session *session, pid_t pid);
/* One more descriptor to wake session_step() when it is readable (a signalfd, the terminal); -1: none. */
void session_watch(struct session *session, int fd);

struct session_stats session_stats(struct session *session);
/* One sample every so many of the first event (-c), as asked for; 0: a rate was, or it is a file. */
uint64_t session_asked_count(const struct session *session);
/* Samples per second that were asked for of the first event, by its own term, -F or by default; 0: a count, or a file. */
uint64_t session_asked_hz(const struct session *session);
/* The file is not a recording of ctop's but perf's. */
bool session_is_perfdata(const struct session *session);
/* Once that was read: what was wrong with it, going on from its name; "" when nothing was. Borrowed; untrusted bytes. */
const char *session_source_note(const struct session *session);
/* The share of a file that was read, 0 to 1; 0 where it has no size. */
double session_source_share(const struct session *session);
/* Once a recording was read: what it had, and what was lost with its damage. */
struct recording_read session_read(const struct session *session);
size_t session_nr_fallbacks(const struct session *session); /* by the ladder */
const char *session_fallback(const struct session *session, size_t i);
/* One of them: that --budget is not held, or, once it has ended, was not; "": it is, or there is none. */
const char *session_budget_note(const struct session *session);
/* What has become of ctop's own processes, one after the other: "the collector hung and was killed; ..." */
size_t session_nr_news(const struct session *session);
const char *session_news(const struct session *session, size_t i);
/* As broker_use_cache(), of a file: before its first step. */
int session_use_cache(struct session *session);
/* Debug files that are not here are asked of these servers, before its first step. 0 or -ENOMEM. */
int session_use_debuginfod(struct session *session, const char *urls);
/* Adds what is being fetched, safe text; false: nothing is. */
bool session_is_fetching(const struct session *session, struct text *out);
/* What else to tell at the end; "" when there is nothing. Borrowed. */
const char *session_notice(const struct session *session);
/*
 * What each thread did with its time, in the order of pid and tid; threads that were too many are one row, of pid 0. Borrowed until
 * the next call. *nr 0: nobody knows.
 */
const struct thread_times *session_thread_times(struct session *session, size_t *nr);
/* What threads waited for longest, one by one, as far as it was seen where they wait. Borrowed until the next call. */
/*
 * Who woke whom, where that is known: those that ended most waiting first, WAKING_SUMS_TOLD at most. Borrowed until the next call. And of who woke one
 * thread: at most so many; how many.
 */
const struct waking_sum *session_waking_sums(struct session *session, size_t *nr);
size_t session_wakers_of(const struct session *session, int32_t tid, struct waking_sum *sums,
			 size_t most);
const struct wait_sum *session_wait_sums(struct session *session, size_t *nr);
/* Who looks at single threads' memory (system/looker.h), the session's own; NULL: nobody. */
struct looker *session_looker(const struct session *session);
/* Since when a thread waits, by CLOCK_MONOTONIC, as far as records of switches have come; 0: it does not, or nobody saw when that began. */
uint64_t session_waits_since(const struct session *session, int32_t tid);
/*
 * Threads of which each waits for a lock that the next one likely holds, and the last one for the first's: at most so many; how many. They have been looked at
 * again by now. 0: none are known, also where nobody may see what they wait for.
 */
enum { SESSION_DEADLOCK_MOST = 8 };
size_t session_find_deadlock(const struct session *session, int32_t tids[SESSION_DEADLOCK_MOST]);
/* "the collector said: ...": what the last child that died with a word wrote to its stderr, safe to show; "": none did. */
const char *session_last_words(const struct session *session);
const struct sampler *session_sampler(const struct session *session); /* NULL for a file */
/* For people: "python3[1234]"; and "pid", "tid", "system", "cgroup", "command" or "file". Borrowed. */
const char *session_target(const struct session *session);
/* Whole CPUs are sampled, for whatever reason. */
bool session_samples_cpus(const struct session *session);
/* The process that is all of a live target, a command's too; 0: there is none. */
int32_t session_only_pid(const struct session *session);
/*
 * Samples with smaller copies of the stack, or else less often, from now on: less is lost, and ctop takes less of the machine.
 * False: there is nothing that costs less. Else *what says what it is.
 */
bool session_lower(struct session *session, char *what, size_t size);
/* The processes of a live target that are known one by one, at most `most`; how many. Some have ended: session_has_process(). */
size_t session_processes(const struct session *session, int32_t *pids, size_t most);
/* Whether who has that pid now is in the profile. */
bool session_has_process(const struct session *session, int32_t pid);
const char *session_target_kind(const struct session *session);

#endif
