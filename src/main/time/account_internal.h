/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_ACCOUNT_INTERNAL_H
#define CTOP_TIME_ACCOUNT_INTERNAL_H

/* The account's threads, for its files: threads.c (the clock, and what they did), places.c (where they waited), account.c (what tells of it), switch_cost.c (how late records are), sums.c (what is asked). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/hash.h> /* which uthash uses */
#include <uthash.h>

#include <ctop/base/task_set.h>
#include <ctop/time/account.h>
#include "wait_shares.h"

/* What is known of a thread between two pieces of news. */
enum doing {
	RUNS,
	QUEUES,
	WAITS,
	SEEN_READY, /* by a look: it ran or queued, which its next record tells */
	SEEN_OFF,   /* by a look: it waited, or was about to */
	UNKNOWN,
};

#define NO_CPU UINT32_MAX

/* What the scheduler and the records have counted of a thread by some moment, and which stretch of the account's being on that was in. */
struct counted {
	uint64_t since_ns; /* 0: nothing */
	uint64_t at, run_ns, nr_runs;
	uint64_t recorded_ns, nr_recorded;
};

struct thread {
	struct thread_times times; /* observed_ns: filled when it ends */
	uint64_t began, since;	   /* by the clock of the account: of what it does now */
	enum doing doing;
	uint32_t cpu;		 /* that it had last; NO_CPU: not known */
	struct sched_stat sched; /* as of `since`, where looks tell */
	uint32_t nr_looks[NR_WAIT_KINDS];
	uint32_t nr_looks_all;
	bool waited; /* when it was looked at last; for what */
	enum wait_kind waited_for;
	uint64_t waited_at;  /* when that look was */
	uint64_t known_at;   /* when the first look at this wait was */
	char *call;	     /* in which system call; NULL: not known */
	int32_t lock_holder; /* of the lock that it waits for; 0: not known */
	int64_t entered;     /* the call that it is in, by records of calls; -1: not known */
	uint64_t entered_ns;
	struct wait_shares shares;
	uint64_t nr_recorded;		 /* records of its getting a CPU */
	uint64_t taken_ns;		 /* of the time before them: it had it already */
	struct counted compared, looked; /* switch_cost.c */
	uint64_t told;			 /* up to when it was told what it does */
	bool is_told;			 /* any of it was */
	UT_hash_handle hh;
};

/*
 * The clock of the account is time while it is on: all that is kept is by it, so that a time off need not be taken out of
 * anything.
 */
struct time_account {
	struct thread *live; /* by tid */
	struct thread *
		*recent; /* of them, by the last bits of the tid, the one that was found last */
	struct {
		struct thread_times *items;
		size_t nr, capacity;
	} ended;
	struct thread_times others; /* that ended, too, and are not told one by one */
	uint64_t nr_others, nr_left_out;
	bool takes_all;		  /* records of everybody come */
	struct task_set left_out; /* whose records are none of its business */
	bool by_looks;
	bool leaves_children; /* whom others create is not in it */
	bool is_on;
	uint64_t on_ns;	     /* before it was switched on last */
	uint64_t since_ns;   /* when that was */
	uint64_t last_on_ns; /* how long it was on before it was switched off */
	bool places_waits;   /* it is told where threads wait */
	struct switch_cost {
		uint64_t ns;
		/* Since that was found out: what the scheduler has counted more than records. */
		int64_t late_ns;
		uint64_t nr_runs;
	} switch_cost;
	uint64_t estimated_ns;
	struct {
		struct wait_share *items;
		size_t nr, capacity;
	} shares; /* to be taken */
	/* Who is told what each thread does; NULL: nobody. */
	void (*follow)(void *context, const struct thread_stretch *stretch);
	void *follow_context;
};

/* ---- left_out.c ---- */

/* Whether a record is of one that is left out, or makes it one. */
bool account_leaves_out(struct time_account *account, const struct record *record);

/* ---- threads.c ---- */

/* By the clock of the account. */
uint64_t account_clock(const struct time_account *account, uint64_t ns);
/* And back: while it is on, or as of when it was switched off. */
uint64_t account_time(const struct time_account *account, uint64_t at);
enum { RECENT_THREADS = 1024 };
static inline size_t account_recent_at(int32_t tid)
{
	return (uint32_t)tid % RECENT_THREADS;
}
/* NULL: not known. */
struct thread *account_find(const struct time_account *account, int32_t tid);
/* 0, and NULL where there is no room; or -ENOMEM. */
int account_add(struct time_account *account, int32_t pid, int32_t tid, uint64_t at,
		struct thread **added);
/* What it did since the last news, which who follows is told. */
void account_charge(const struct time_account *account, struct thread *thread, enum time_kind kind,
		    uint64_t until);
/* The same of a copy, which nobody is told. */
void account_charge_silently(struct thread *thread, enum time_kind kind, uint64_t until);
/* What it does goes on until then. */
void account_tell(const struct time_account *account, struct thread *thread, enum time_kind kind,
		  uint64_t until);
/* It waited until then, when that one woke it: told once, before it is charged. */
void account_tell_woken(const struct time_account *account, struct thread *thread, uint64_t until,
			int32_t waker_tid);
/* It happened to it then, by the clock; what is charged so far comes first. What it was, more of it than whose and when. */
void account_tell_event(const struct time_account *account, struct thread *thread, uint64_t at,
			struct thread_stretch event);
/* Nothing more comes of it. */
void account_tell_end(const struct time_account *account, const struct thread *thread);
/* What it has been doing, where nothing more comes to tell. */
enum time_kind account_kind_of(enum doing doing);

/* ---- switch_cost.c ---- */

/* When it got the CPU of which a record from then tells; and that it is charged so. */
uint64_t account_cpu_since(const struct time_account *account, const struct thread *thread,
			   uint64_t at);
uint64_t account_take_cpu(const struct time_account *account, struct thread *thread, uint64_t at);
/* The scheduler's count of a thread that has no CPU: compared with the records once those up to then have come. */
void account_note_count(const struct time_account *account, struct thread *thread,
			const struct sched_stat *stat, uint64_t at);
/* What was counted so far is not compared with what comes. */
void account_forget_counts(struct thread *thread);
/* It has done that since the last news, and goes on with it until then. */
void account_compare_counts(struct time_account *account, struct thread *thread,
			    enum time_kind kind, uint64_t until);

/* ---- sums.c ---- */

/* Its times as of then, if it goes on with that. */
struct thread_times account_times_at(const struct thread *thread, enum time_kind last, uint64_t at);
void account_add_times(struct thread_times *sum, const struct thread_times *times);

/* ---- places.c ---- */

/* Nothing more comes of it. */
void account_close_shares(struct time_account *account, struct thread *thread);

#endif
