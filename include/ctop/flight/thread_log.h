/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FLIGHT_THREAD_LOG_H
#define CTOP_FLIGHT_THREAD_LOG_H

/*
 * What threads did lately, stretch by stretch (base/thread_stretch.h), in bounded memory for ever: the oldest are given up, and those that go on are kept apart, so that one that
 * has waited for an hour still does. A part of it becomes a timeline, to the nanosecond. Times are CLOCK_MONOTONIC. Main only.
 */

#include <stdint.h>

#include <ctop/base/thread_stretch.h>
#include <ctop/history/timeline.h>

struct thread_log;

/* bytes_most: of stretches that are over; calls_bytes_most: of system calls that are told one by one (THREAD_CALLED). NULL: out of memory. */
struct thread_log *thread_log_new(uint64_t bytes_most, uint64_t calls_bytes_most);
void thread_log_free(struct thread_log *log);

/* As session_follow_threads() tells them; names are not kept. 0 or -ENOMEM. */
int thread_log_add(struct thread_log *log, const struct thread_stretch *stretch);
/* Gives up what was over before that time. */
void thread_log_forget(struct thread_log *log, uint64_t before_ns);
/* From when on all is there; 0: from the start. */
uint64_t thread_log_since_ns(const struct thread_log *log);
uint64_t thread_log_calls_since_ns(const struct thread_log *log);
uint64_t thread_log_bytes(const struct thread_log *log);

/*
 * What happened from one moment to another, into an empty timeline; what is not there any more is unknown. lives: who the threads were, their names, creators and
 * cgroups. 0 or -ENOMEM.
 */
int thread_log_fill(const struct thread_log *log, struct timeline *lives, uint64_t from_ns,
		    uint64_t to_ns, struct timeline *timeline);

#endif
