/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_ACCOUNT_H
#define CTOP_TIME_ACCOUNT_H

/*
 * What each thread did with its time, from the kernel's records of switches and from looks at /proc, which others read: it knows
 * no descriptors. Time of CLOCK_MONOTONIC in, ns of each kind out. Memory is bounded: threads beyond the bound are counted,
 * those that ended are added up when there are many.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/kernel/record.h>
#include <ctop/time/thread_times.h>
#include <ctop/store/wait_ring.h>
#include <ctop/system/sched_stat.h>
#include <ctop/base/thread_stretch.h>

struct time_account;

struct time_account *time_account_new(void); /* NULL: out of memory */
void time_account_free(struct time_account *account);

/* Time is observed from now on, or no longer. It must not go back between two calls. */
void time_account_switch(struct time_account *account, bool on, uint64_t ns);
bool time_account_is_on(const struct time_account *account);
/* Records tell no more: what schedstat says from the next look on. Where there never were any: before anything else. */
void time_account_use_looks(struct time_account *account);

/* Threads that others create from now on are not in it: they are not followed. */
void time_account_leave_children(struct time_account *account);
/*
 * Records of everybody come. Who is not known is added by a FORK or a look alone: who has ended is switched some more. Programs that the kernel itself starts are its
 * threads' children.
 */
void time_account_take_all(struct time_account *account);
/* There: a thread that is not to be in it, nor whoever it creates from then on. 0 or -ENOMEM. */
int time_account_leave_out(struct time_account *account, int32_t tid);

/*
 * A record, in the order of time: SWITCH, FORK, EXIT, COMM, LOST; others are left. before_ns: of a LOST, when all was still known. 0
 * or -ENOMEM.
 */
int time_account_take(struct time_account *account, const struct record *record,
		      uint64_t before_ns);

/* A RECORD_WAKING, in their order: who was woken wants a CPU. False: it ended no wait that is known of. */
struct wait_ended {
	int32_t pid;
	uint64_t ns;	  /* that it was observed */
	const char *name; /* of the thread; borrowed until the next record */
};
bool time_account_wake(struct time_account *account, const struct record *record,
		       struct wait_ended *ended);
/* A SWITCH, before it is taken. True: it ends a wait that began after then, and no waking has ended that since. */
bool time_account_ends_unwoken(const struct time_account *account, const struct record *record,
			       uint64_t after_ns, struct wait_ended *ended);

/* A RECORD_SYSTEM_CALL, in their order: the call is passed on when it is over. False: it is of a thread that the account does not know. */
bool time_account_call(struct time_account *account, const struct record *record);
/* Records of calls were lost, or are not followed any more: none that has begun is known to end. */
void time_account_forget_calls(struct time_account *account);

/* What /proc says of a thread at that time, later than all records taken so far, as far as it was found out. */
struct thread_look {
	int32_t pid, tid;
	const char *name;	  /* untrusted */
	char state;		  /* 'R', 'S', ... */
	enum wait_kind waits_for; /* where it waits */
	struct sched_stat sched;
	const char *
		call; /* in which system call it waits: struct thread_stretch; NULL: as when it was looked at last */
	int32_t lock_holder; /* who likely holds the lock that it waits for; 0: not known. Where call is NULL: as then, too */
};
/* Adds the thread, if it is new. 0 or -ENOMEM. */
int time_account_look(struct time_account *account, const struct thread_look *look, uint64_t ns);
/* Whether it has not got a CPU since it was last looked at, and waited then; for what. */
bool time_account_still_waits(const struct time_account *account, int32_t tid,
			      const struct sched_stat *now, enum wait_kind *kind);
/* Since when it waits, as far as records have told; 0: it does not, or nobody saw when that began. */
uint64_t time_account_waits_since(const struct time_account *account, int32_t tid);
struct thread_wait {
	int32_t tid;
	enum wait_kind kind;
	const char *name; /* borrowed, untrusted */
};
/*
 * A thread that waits for one of these kinds (bits 1 << kind), of whose wait it became known in between that it is so long, or, later, what it is for. False:
 * there is none.
 */
bool time_account_find_wait(const struct time_account *account, unsigned kinds, uint64_t least_ns,
			    uint64_t after_ns, uint64_t until_ns, struct thread_wait *wait);
/* The wait that a thread is in, for what by the last look. False: it does not wait, or nobody has looked. */
bool time_account_wait_of(const struct time_account *account, int32_t tid,
			  struct thread_wait *wait);
/* It is not there any more. Where records tell when it ended, that is left to them. */
void time_account_miss(struct time_account *account, int32_t tid, uint64_t ns);

/* From now on what each thread does is told as it becomes known, whoever follows; names are borrowed. NULL: nobody. */
void time_account_follow(struct time_account *account,
			 void (*follow)(void *context, const struct thread_stretch *stretch),
			 void *context);
/* ... and what goes on, up to a moment until which all records were taken; is_last: no more come. */
void time_account_tell(struct time_account *account, uint64_t until_ns, bool is_last);

/* ---- where it waits ---- */

/* From now on waiting is also told by the stacks that looks have found (wait_shares.h). */
void time_account_place_waits(struct time_account *account);
/* Of a thread that waits: whether its stack is to be looked at. */
enum wait_news {
	WAIT_IS_KNOWN, /* it is still the wait of the last look */
	WAIT_IS_NEW,
	WAIT_IS_LOST, /* it is the wait of the last look, whose stack is to be told again */
	WAIT_IS_EARLY /* not now: it is not known yet what became of the last look's */
};
/* All records from before known_ns have been taken. */
enum wait_news time_account_wait_news(struct time_account *account, int32_t tid,
				      const struct sched_stat *now, uint64_t known_ns);
/* Whether it is the wait of the last look, whose stack was told. */
bool time_account_has_place(const struct time_account *account, int32_t tid,
			    const struct sched_stat *now);
/* It was looked at then, and its stack told. */
void time_account_placed(struct time_account *account, int32_t tid, const struct sched_stat *now,
			 enum wait_news news, uint64_t ns);
/*
 * A RECORD_SWITCHED_OUT, in the records' order: the wait that its thread is about to begin was sampled, one of so many. True: its stack may be told, once all is given to those
 * before it, and takes this place; then it is known to be there.
 */
bool time_account_may_sample(struct time_account *account, int32_t tid, enum wait_place *place);
void time_account_sampled(struct time_account *account, int32_t tid, uint64_t period);
/* Whether the wait that it is in, by the records, was. */
bool time_account_is_sampled(const struct time_account *account, int32_t tid);
/* Stacks that were told are known no more. */
void time_account_forget_places(struct time_account *account);
/* No more looks: all that is left is to be given. */
void time_account_close_places(struct time_account *account, uint64_t ns);

struct wait_share {
	int32_t pid, tid;
	enum wait_place place;
	uint64_t ns, until_ns; /* CLOCK_MONOTONIC */
	char name[16];	       /* untrusted */
};
/* What is to be given to stacks by now, before another is told: at most so many; how many. Of it all that was ever estimated so far. */
size_t time_account_take_shares(struct time_account *account, struct wait_share *shares,
				size_t most);
uint64_t time_account_estimated_ns(const struct time_account *account);

/*
 * The threads that are to be looked at: all where looks are used, else those that wait and those that a loss of records has hidden; where
 * no more records come (is_last), the hidden ones and those that had none. How many, at most so many.
 */
struct thread_name {
	int32_t pid, tid;
};
size_t time_account_list(const struct time_account *account, bool is_last,
			 struct thread_name *threads, size_t most);
/* All that live, in no order. How many, at most so many. */
size_t time_account_tids(const struct time_account *account, int32_t *tids, size_t most);
/* NULL: it is none of those that live. Borrowed. */
const char *time_account_name(const struct time_account *account, int32_t tid);
/* The same, or of one of the first that have ended. */
const char *time_account_last_name(const struct time_account *account, int32_t tid);
/* Whether that is one of those that live, of that process. */
bool time_account_has(const struct time_account *account, int32_t pid, int32_t tid);
/* Who waits, and has for so long by then: those whose waits began last, these first, at most so many; how many. */
size_t time_account_long_waits(const struct time_account *account, uint64_t least_ns,
			       uint64_t now_ns, int32_t *tids, size_t most);
size_t time_account_nr_live(const struct time_account *account);
/* All, and there are several, waited for a lock when they were last looked at. */
bool time_account_all_locked(const struct time_account *account);
/*
 * Threads of which each waits for a lock that the next one holds, and the last one for the first's, as of the last looks at them: at most so many.
 * How many; 0: there are none.
 */
size_t time_account_find_deadlock(const struct time_account *account, struct thread_name *threads,
				  size_t most);
/* Another one holds it by now; 0: not known. */
void time_account_set_holder(struct time_account *account, int32_t tid, int32_t holder);
/* Threads that were beyond the bound: they are in no sum. */
uint64_t time_account_nr_left_out(const struct time_account *account);

/* How long after a thread has got a CPU the kernel's record of that comes, as it was measured last by schedstat: it is taken off each record. */
uint64_t time_account_switch_cost_ns(const struct time_account *account);

/* Threads so far; of those added up each counts. */
uint64_t time_account_nr_threads(const struct time_account *account);
struct thread_times time_account_sum(const struct time_account *account, uint64_t ns);
/* By thread, in the order of pid and tid: at most so many, those that are there first; the others are one row more, of pid 0. How many rows. */
size_t time_account_threads(const struct time_account *account, uint64_t ns,
			    struct thread_times *threads, size_t most);

#endif
