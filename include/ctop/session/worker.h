/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_WORKER_H
#define CTOP_SESSION_WORKER_H

/*
 * One jailed child as main sees it: its process, channel, eventfds and the page it
 * reports on. The page and the counters in it outlive the child, so that a successor
 * goes on from them.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ctop/base/error.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>

enum { WORKER_MAX_DEATHS = 3 };
#define WORKER_DEATHS_WINDOW_NS (UINT64_C(10) * 1000000000)

struct worker {
	const char *role; /* as --child= takes it; NULL: not in use */
	pid_t pid;	  /* 0: not running */
	int pid_fd;
	int stderr_fd;		 /* as in struct jail_child */
	struct channel *channel; /* held until the child has said that it is jailed */
	uint64_t started_ns;
	int from_child; /* eventfd: the child signals, main polls */
	int to_child;
	int status_fd;
	struct child_status *status;
	uint64_t dead_cpu_ns; /* of predecessors */
	uint64_t deaths_ns[WORKER_MAX_DEATHS];
	unsigned nr_deaths;
	/* for the watch on an endless loop */
	uint64_t seen_moves, seen_cpu_ns;
	/* for the watch on one that stands still */
	uint64_t still_moves;
	unsigned nr_still;
	bool hung_up; /* it has closed its end of the channel */
	bool ended;   /* by us, for what it did */
	const char
		*why; /* it was ended: "hung and was killed"; NULL: something else became of it */
	char last_words[80]; /* the last line that it wrote to stderr, safe to show; "": none */
};

void worker_init(struct worker *worker);
/*
 * Makes the shared page, once, and starts a child: STATUS, TO_MAIN and TO_CHILD are sent, and wait with all that follows
 * until it has said hello. 0 or -errno.
 */
int worker_start(struct worker *worker, const char *role);
/* A process of ctop's own could not be started: the cause and the remedy. Returns result. */
int worker_not_started(int result, struct error *error);
/* Ends the child if it still runs, reaps it, closes everything. */
void worker_release(struct worker *worker);
/* Closes everything; the child goes on by itself. */
void worker_abandon(struct worker *worker);

/*
 * The pidfd said that the child is gone: reaps it. *too_often: the third death within 10 s.
 * *wait_status as waitpid() gives it.
 */
void worker_reap(struct worker *worker, int *wait_status, bool *too_often);
/* Ends the child: the pidfd will tell. For one that loops for ever or talks nonsense. */
void worker_end(struct worker *worker);
/*
 * After worker_reap(): whether what it was working on brought the end about. Not when somebody
 * else sent SIGKILL: the kernel that was out of memory, or a person.
 */
bool worker_fell(const struct worker *worker, int wait_status);

void worker_signal(const struct worker *worker); /* wakes the child through its eventfd */
void worker_clear_signal(const struct worker *worker);
uint64_t worker_cpu_ns(const struct worker *worker); /* predecessors included */
/* CPU time of a child of ours that runs; 0: it does not, or is none. */
uint64_t child_cpu_ns(pid_t pid);
uint64_t worker_anon_bytes(const struct worker *worker);
/* Call about once a second: true when it burns CPU for seconds and its loop does not turn; it was sent SIGKILL. */
bool worker_end_if_stuck(struct worker *worker);
/*
 * The same for a child whose loop turns by itself, whether there is work or not: true when it has stood still for
 * seconds, stopped or blocked; it was sent SIGKILL.
 */
bool worker_end_if_still(struct worker *worker);

/* Ends a child that has closed its channel and runs on, be it on its way out or hostile. */
void worker_end_if_hung_up(struct worker *worker);
/* Ends a child that has not said hello for 10 s: true when it was sent SIGKILL. */
bool worker_end_if_silent(struct worker *worker);

/* Anonymous memory of any process, from /proc/PID/status; 0 if unknown. */
uint64_t process_anon_bytes(pid_t pid);

#endif
