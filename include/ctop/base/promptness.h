/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_PROMPTNESS_H
#define CTOP_BASE_PROMPTNESS_H

/*
 * How soon the scheduler lets this process run where every CPU is taken. A ring overflows while its reader waits: what
 * drains the rings, and main, which answers it, need little time, but soon.
 *
 * An ordinary process stays one (SCHED_OTHER), never realtime: it asks for slices of 0.1 ms (Linux 6.12 on), which come
 * sooner the shorter they are, and for nice -20 where it may. 300 threads on two CPUs leave a thread of equal priority 0.7 % of a CPU,
 * less than it takes to drain the rings of two CPUs at 1 kHz; nice -15 gets 16 %, nice -20 gets 37 %. A nice value that the user gave ctop is
 * kept. A child of fork() inherits all of it, as main waits for the first thing that the child does; a child that executes something
 * else, or whose work is not main's, ends it with promptness_end().
 *
 * Whatever the kernel refuses is left out, silently.
 */
void promptness_ask(void);
/* An ordinary process again, of the nice value that the user gave ctop. */
void promptness_end(void);

#endif
