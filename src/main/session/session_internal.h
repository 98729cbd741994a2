/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_SESSION_INTERNAL_H
#define CTOP_SESSION_SESSION_INTERNAL_H

/*
 * A session's state, shared by its files: session.c (made, started), session_turn.c (the loop, its end), session_epochs.c (tables and samples),
 * session_sampling.c (on and off), session_time.c (what threads do), session_wakings.c (who is woken), session_waits.c (where they wait), session_switch_outs.c (where waits begin), session_sets.c (cheaper events), session_spending.c (--budget), session_children.c (messages, deaths), session_news.c, session_stats.c.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/broker/broker.h>
#include <ctop/files/source.h>
#include <ctop/ipc/protocol.h>
#include <ctop/perf/sampler.h>
#include <ctop/session/region.h>
#include <ctop/session/session.h>
#include <ctop/session/target.h>
#include <ctop/session/worker.h>
#include <ctop/store/wait_ring.h>
#include <ctop/system/budget.h>
#include <ctop/system/cpu_times.h>
#include <ctop/system/thread_list.h>
#include <ctop/system/patience.h>
#include <ctop/system/trace_refusal.h>
#include <ctop/system/looker.h>

#include "goroutines.h"
#include "parts.h"
#include "spending.h"
#include <ctop/time/account.h>
#include <ctop/time/call_rate.h>
#include "uprobes.h"

/* Samples handed to the consumer at a time. */
enum { SESSION_BATCH = 1024 };
/* ... and in one turn; messages of a child in one turn. */
enum { SESSION_BATCHES_A_TURN = 256, SESSION_MESSAGES_A_TURN = 64 };
/* How long a collector may take for what the rings still hold: seconds, on a busy machine. One that goes on is left. */
#define STOP_PATIENCE_NS (60 * NS_PER_SECOND)
/* How long the end of a session, or of an epoch, waits for names still being read: not counting what the symbolizer waits for a CPU. */
#define NAMES_PATIENCE_NS (10 * NS_PER_SECOND)
/* And for lines, from when all names are there; of all epochs together. */
#define LINES_PATIENCE_NS (10 * NS_PER_SECOND)
/* And for code that is to be kept. */
#define CODE_PATIENCE_NS (5 * NS_PER_SECOND)

/* What a record of a switch costs the thread that switches, and about what one costs who wakes: PERFORMANCE.md. */
#define SESSION_RECORD_COST_NS 400
/* What one with a copy of a stack costs, in others. */
enum { SESSION_RECORDS_A_COPY = 8 };

/* A fallback that comes late. */
#define SESSION_WITHOUT_TABLES                                                                     \
	"stacks by frame pointers, without unwind tables: the collector died 3 times in 10 s"

/* Deaths that are reported one by one. */
enum { SESSION_NEWS_MAX = 8 };

enum phase {
	PHASE_OPEN, /* children run, sampling is off */
	PHASE_RUNNING,
	PHASE_STOPPING, /* the collector or the reader takes what is left */
	PHASE_NAMING,	/* the symbolizer finishes */
	PHASE_DRAINED,
};

/* Places in message_own. */
enum own {
	OWN_MAIN,
	OWN_COLLECTOR,
	OWN_LAST_COLLECTOR,
	OWN_SYMBOLIZER,
	OWN_LAST_SYMBOLIZER,
	OWN_WRITER,
	OWN_LAST_WRITER,
	OWN_OPENER,
	OWN_NAMES_OPENER,
};

/* session_wakings.c: of one turn of the guard. */
struct session_wakings {
	uint64_t nr, nr_others; /* recorded, and of them of threads that are not the target's */
	uint64_t nr_untold;	/* waits that ended without one */
	uint64_t since_ns;	/* they are recorded */
	bool was_renewed;	/* for other threads, in the turn before */
	uint64_t nr_threads;	/* of the account, as they were */
};

/* session_switch_outs.c: waits that are sampled as they begin. */
struct session_switch_outs {
	struct wait_chains *chains; /* what the kernel waits for; NULL: none are sampled */
	uint64_t nr, nr_all;	    /* in this turn of the guard; of the target's threads, ever */
	uint64_t nr_others, lost;   /* of threads that are not the target's; by the last turn */
	bool was_renewed;	    /* for other threads, in the turn before */
	uint64_t nr_switches;	    /* that those of this turn stand for */
	uint64_t set_ns, period_before; /* when the period was set last; until then */
	uint64_t most; /* so many samples in this turn, and the period becomes longer at once */
};

/* session_calls.c: system calls, one by one. */
struct session_calls {
	bool are_followed, was_given_up;
	uint64_t nr; /* of the target's threads that are over, ever */
	struct call_rate rate;
};

/* session_wakeups.c: of which wakings the waker's stack is copied. */
enum waking_copies { COPIES_NONE, COPIES_OF_LONG, COPIES_OF_ALL };
struct session_wakeups {
	enum waking_copies copies;
	bool was_given_up;  /* as copies cost too much */
	uint64_t nr;	    /* of this turn: wakings of which there could be copies */
	uint64_t nr_copies; /* of the guard's turn: that there were */
	uint64_t turn_ns, renew_ns;
	int32_t tids[SAMPLER_COPIED_MOST]; /* COPIES_OF_LONG: whose */
	size_t nr_long;
	uint64_t
		nr_unseen; /* long waits that the target's threads ended, without a copy of the stack */
	uint64_t untold_ns; /* that the collector had no room for */
};

/* session_time.c: what threads do with their time. account NULL: nobody keeps one. */
struct session_time {
	struct time_account *account;
	enum time_source source;
	uint64_t read_due_ns, looks_due_ns;
	uint64_t read_until_ns;	       /* all records from before have been read */
	struct wait_ring ring;	       /* where threads wait; page NULL: nobody wants to know */
	struct wakers *wakers;	       /* NULL: nobody tells who woke whom */
	struct wait_objects *objects;  /* what for, one by one; NULL: nobody wants to know */
	struct goroutines *goroutines; /* NULL: as ring's page */
	bool notes_goroutines;	       /* of the processes that are looked at */
	bool lists_again;	       /* all processes: some may be unknown */
	struct looker *looker;	       /* NULL: not begun */
	struct text call;	       /* in which the last look found a thread */
	uint64_t untold_ns, nr_refused;
	enum trace_refusal refusal; /* the first one's cause */
	uint64_t pass_cpu_ns;	    /* what it took so far */
	/* The guard: what came since, and the target's time until then. */
	uint64_t window_ns, nr_records, running_ns, runnable_ns;
	uint64_t records_cpu_ns, nr_read; /* of main, for records of all kinds; how many */
	uint64_t all_records;		  /* ever */
	struct {
		int32_t tid; /* of all threads, those of others, too, */
		uint64_t at_ns;
	} youngest; /* at that time: the target's from before are known once its records were read */
	struct session_wakings wakings;
	struct session_switch_outs outs;
	struct session_wakeups wakeups;
	struct session_calls calls;
	struct {
		struct thread_name *items;
		size_t nr, capacity, at;
	} pass; /* a round of looks under way */
	struct {
		struct thread_times *items;
		size_t nr, capacity;
	} told;
};

/* session_spending.c: what --budget is spent on. */
struct session_budget {
	struct spending spending;
	uint32_t least_set;	/* none of the events' sets is dearer */
	bool is_over;		/* that is what fallback says */
	bool moved;		/* it was ever lower than asked for on this account */
	uint64_t due_ns, at_ns; /* of the next and the last look */
	uint64_t own_ns, reading_ns, nr_samples, nr_records; /* by then */
	uint64_t ended_ns; /* of own_ns: of children that were reaped */
	char fallback[512];
};

struct session {
	struct session_consumer consumer;
	struct session_keeper keeper; /* .take NULL: regions go when they are left */
	struct target target;	      /* live only */
	struct sampler *sampler;      /* live only */
	struct sampler_options sampling;
	struct uprobe_files uprobe_files; /* that sampling's events name */
	/* What the CPUs have done: when sampling began, moved on as start_ns is; when it was switched off; when it ended. */
	struct cpu_times cpus_from, cpus_off, cpus_end;
	size_t nr_named, nr_named_tids; /* of the sampler's processes and threads: to the broker */
	char *path;			/* of a file; NULL: live */
	struct source source;
	char source_note[PROTOCOL_CAUSE_MAX];
	struct broker *broker;
	struct worker collector;  /* or the reader; of perf.data there are parts instead */
	struct parts *parts;	  /* NULL: it is no perf.data file */
	struct worker symbolizer; /* live only */
	struct message_own own;	  /* by enum own */
	char last_words[160];	  /* of the last child that had any, and whose they are */
	char notice[160];	  /* what a user should know; "": nothing */
	char news[SESSION_NEWS_MAX][256];
	size_t nr_news;
	struct region regions[2]; /* readers keep pointers into them: a region stays where it is */
	struct region *current, *next; /* next: epoch 0 until it is asked for */
	bool mapped, source_done;
	bool without_tables; /* collectors died too often: see struct message_config */
	bool busy;	     /* a budget was spent: there is more to do in the next turn */
	struct thread_list
		listing;  /* for the collector, whose next message waits until it is sent */
	bool owes_tables; /* the collector has filled next, too, and waits */
	/* The record that the last collector died with, as in struct message_config. */
	int32_t cpu_in_hand;
	uint64_t position_in_hand;
	bool left_current; /* the collector goes on in next, but did not live to say so in current */
	bool starts_off;
	bool on;      /* sampling, or about to */
	bool pausing; /* the collector takes what was sampled before it was switched off */
	uint64_t off_since_ns;
	enum phase phase;
	int watched_fd;
	uint64_t symbolizer_due_ns;	/* when it may be woken again */
	uint64_t named_frames_asked;	/* frames published when the symbolizer was woken last */
	struct patience names_patience; /* limit 0: none are awaited */
	bool is_telling; /* while it stops: the collector is not told yet that no more comes */
	uint64_t stop_until_ns;
	enum session_lines lines;
	uint64_t lines_since_ns;  /* they are awaited; 0: they are not */
	uint64_t lines_waited_ns; /* before, in other epochs */
	bool keeps_code;
	uint64_t code_since_ns; /* the end's is awaited; 0: not yet */
	uint64_t housekeeping_ns;
	int32_t looks_again_pid; /* the symbolizer that was asked to look at perf maps a last time */
	uint64_t sideband_due_ns; /* when its records may wake us again */
	uint64_t late_look_ns;	  /* when to look for threads that slipped through */
	/* Sets of the events: what was foreseen, since when the one in use is, how long each was, and what is said of it. */
	uint32_t
		least_set; /* of these: as the user asked for; what the collector wants is not dearer */
	uint32_t foreseen_set; /* of events that are switched together */
	uint64_t set_since_ns, next_set_ns, settle_ns;
	uint64_t set_ns[SAMPLER_MAX_EVENTS][SAMPLER_MAX_SETS];
	struct message_set switching;
	char set_fallback[320];
	struct session_stats stats;
	struct session_budget budget;
	bool wants_waits;
	struct session_time time;
	struct recording_read read; /* of a file */
	struct error *error;
	struct sample batch[SESSION_BATCH];
};

static inline bool session_is_live(const struct session *session)
{
	return session->path == NULL;
}

/* A recording is read by the reader, and has its names inside. */
static inline bool session_is_recording(const struct session *session)
{
	return session->path && !session->source.is_perfdata;
}

/* Those that read the source: the collector, the reader, or the children of a file. */
static inline size_t session_nr_sources(const struct session *session)
{
	return session->parts ? session->parts->nr : 1;
}

static inline struct worker *session_source(struct session *session, size_t i)
{
	return session->parts ? &session->parts->items[i].worker : &session->collector;
}

/* Those of the source, then the symbolizer. */
static inline struct worker *session_worker_at(struct session *session, size_t i)
{
	return i < session_nr_sources(session) ? session_source(session, i) : &session->symbolizer;
}

/* ---- session_stats.c ---- */

/* What the sampled CPUs have done by now; all 0 for a file. */
struct cpu_times session_cpu_times(const struct session *session);

/* ---- session_epochs.c ---- */

/* Tells all readers of the region in hand. 0 or -errno, as all of these. */
int session_begin_epoch(struct session *session);
/* The source needs a fresh region. */
int session_give_tables(struct session *session);
/* NULL: there is none of that number. */
struct region *session_region(struct session *session, uint32_t epoch);
/* True when every frame published so far has its final name. */
bool session_names_final(struct session *session);
bool session_is_out_of_patience(const struct session *session);
/* True while lines are awaited, which is for a while at most. */
bool session_awaits_lines(struct session *session);
/* The same of code that is to be kept, at the end. */
bool session_awaits_code(struct session *session, uint64_t now_ns);
void session_wake_symbolizer(struct session *session);
/* Hands what the rings of samples hold to the consumer, as much as a turn may have. */
int session_drain(struct session *session);

/* ---- session_sampling.c ---- */

/* Whose files the broker may open: the profile's. */
void session_name_processes(struct session *session);
/* Takes what the kernel said of maps and processes, for the broker; a part of it, where it is very much. */
void session_take_sideband(struct session *session);
int session_describe_targets(struct session *session);
int session_switch_on(struct session *session);
void session_look_for_late_threads(struct session *session, uint64_t now_ns);

/* ---- session_time.c ---- */

/* Begins the account, off. Its threads are looked at. 0 or -ENOMEM. */
int session_begin_time(struct session *session);
/* Those that are new, as far as /proc lists them. */
void session_list_time(struct session *session);
void session_switch_time(struct session *session, bool on, uint64_t ns);
/* A record of the side band. */
void session_tell_time(struct session *session, const struct record *record);
/* All of the target's threads that were there when youngest was the last one. */
static inline bool session_knows_youngest(const struct session_time *time)
{
	return time->read_until_ns > time->youngest.at_ns;
}
/* 0; -errno, and why they cannot be had. */
int session_begin_calls(struct session *session, struct error *error);
/* A RECORD_SYSTEM_CALL or RECORD_CALLS_LOST. */
void session_note_call(struct session *session, const struct record *record);
/* How long until something is due that nothing else tells of; -1: nothing. */
int session_time_rest_ms(const struct session *session);
/* Takes what is due; a part of it, where it is very much. */
void session_serve_time(struct session *session, uint64_t now_ns);
/* Sampling has ended: takes all that is left. */
void session_end_time(struct session *session, uint64_t end_ns);
void session_release_time(struct session *session);
/* False: there is no account of threads. */
bool session_used_by_threads(struct session *session, struct session_used *used);
void session_add_times(struct session *session, struct session_stats *stats);

/* ---- session_wakings.c ---- */

/* Where they are to be had: of the account's threads, which have been listed since youngest was found. */
void session_begin_wakings(struct session *session);
void session_note_waking(struct session_time *time, const struct record *record);
/* A SWITCH, before it is taken: it may end a wait whose waking was not told. */
void session_note_untold_waking(struct session_time *time, const struct record *record);
/* Once in a while: what is recorded costs too much, or is not of all threads. */
void session_guard_wakings(struct session *session, bool is_too_much);

/* The threads of the account, and those that come. 0 or -errno. */
int session_follow_with(struct session *session,
			int (*follow)(struct sampler *sampler,
				      const struct sampler_threads *threads));

/* ---- session_switch_outs.c ---- */

/* Where they are to be had: as session_begin_wakings(). Without them looks alone say where threads wait. */
void session_begin_switch_outs(struct session *session);
/* A RECORD_SWITCHED_OUT, in the records' order. */
void session_note_switch_out(struct session *session, const struct record *record);
/* Once in a while: as many as they may cost, of so many switches in ns, in which the target computed for used_ns. */
void session_pace_switch_outs(struct session *session, uint64_t nr_switches, uint64_t used_ns,
			      uint64_t ns);
/* ---- session_wakeups.c ---- */

/* Once wakings are recorded. */
void session_begin_wakeups(struct session *session);
/* They are recorded of others. */
void session_renew_wakeups(struct session *session);
/* After records were read. */
void session_serve_wakeups(struct session *session, uint64_t now_ns);
/* What is recorded costs too much: no more copies. False: these are not what does. */
bool session_give_up_copies(struct session *session);
/* Whether a RECORD_WAKING has registers or a stack. */
bool session_is_waking_copy(const struct record *record);
/* A wait has ended by that record, the pair's. */
void session_tell_wakeup(struct session_time *time, const struct record *record,
			 const struct waking_sum *pair, const struct wait_ended *ended);

/* ---- session_waits.c ---- */

/* Whether it is told where threads wait, and not only how long. */
bool session_places_waits(const struct session *session);
/* 0 or -errno. Once the account has begun. */
int session_begin_waits(struct session *session);
/* Room for the next look. */
bool session_has_room_for_wait(const struct session_time *time);
/*
 * Of a thread that waits: what for, into the look, and where, for session_place_wait() at once. 0; -EAGAIN: it has not waited all the while; or
 * why only what for is known.
 */
int session_look_at_wait(struct session_time *time, struct thread_look *look,
			 struct wait_look *seen);
/* What for alone: its kind and the system call. */
void session_see_wait(struct session_time *time, struct thread_look *look);
/* Where it waits, once the account has taken the look; seen NULL: as it was before. */
void session_place_wait(struct session_time *time, const struct thread_look *look,
			const struct wait_look *seen, uint64_t now_ns);
/* What is to be given to stacks by now: of threads that have ended, too. */
void session_tell_waits(struct session_time *time, uint64_t now_ns);
/* The collector knows no stacks any more: it is a new one, or begins new tables. */
void session_forget_places(struct session *session);
/* No more looks. */
void session_end_waits(struct session *session, uint64_t end_ns);
/* Behind it: whether the collector has all that it is to be told. is_over: or gets no more of it. */
bool session_waits_are_told(struct session *session, bool is_over);

/* ---- session_sets.c ---- */

void session_begin_sets(struct session *session);
/* The first event that is switched together with others; the last one where there is none. */
size_t session_first_together(const struct session *session);
/* Takes the set of events that the collector wants. */
void session_adapt(struct session *session);
/* Brings up to date what is said of it. */
void session_describe_sets(struct session *session, uint64_t now_ns);

/* ---- session_spending.c ---- */

/* Sampling begins: from now on it counts. */
void session_begin_spending(struct session *session);
/* Once a second: decides which sets are too dear, and says what does not hold. */
void session_look_at_spending(struct session *session);
/* It ends: what it has come to is final. */
void session_end_spending(struct session *session);
void session_add_spending(const struct session *session, struct session_stats *stats);

/* ---- session_news.c ---- */

/* A child was reaped. */
void session_note_death(struct session *session, const struct worker *worker, int wait_status,
			bool is_replaced);

/* ---- session_children.c ---- */

int session_tell_collector(struct session *session, const struct region *region, int32_t skip_cpu,
			   uint64_t skip_position);
int session_start_symbolizer(struct session *session);
/* True when there is something to do for a child before it is heard again: answers it does not take, or a long one. */
bool session_owes(const struct session *session, const struct worker *worker);
/* Takes what a child says, as much as a turn may have. */
int session_listen(struct session *session, struct worker *worker);
/* A child has died: replaces it, or gives up. */
int session_bury(struct session *session, struct worker *worker);

#endif
