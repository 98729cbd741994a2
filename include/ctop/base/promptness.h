/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_PROMPTNESS_H
#define CTOP_BASE_PROMPTNESS_H

/*
 * How soon the scheduler lets this process run where every CPU is taken. A ring overflows while its reader waits: what
 * drains the rings, and main, which answers it, need little time, but soon.
 *
 * An ordinary process stays one (SCHED_OTHER), never realtime: it asks for slices of 0.1 ms (Linux 6.12 on), which come
 * sooner the shorter they are, and for nice -20 where it may: 300 threads on two CPUs leave an equal of theirs 0.7 % of one,
 * less than what drains the rings of two CPUs takes at 1 kHz; nice -15 has 16 %, nice -20 37 %, and main 100 ms to do. A user who gave us a nice value of his own is obeyed.
 * A child of fork() inherits it, as main waits for the first thing that it does: one that executes something else, or whose
 * work is not main's, ends it (promptness_end()).
 *
 * Whatever the kernel refuses is left out, silently.
 */
void promptness_ask(void);
/* An ordinary process again. */
void promptness_end(void);

#endif
