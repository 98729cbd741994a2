/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_CLOCK_H
#define CTOP_BASE_CLOCK_H

/* CLOCK_MONOTONIC, the clock of every perf event that ctop opens. */

#include <stdint.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)

uint64_t clock_now_ns(void);
/* Of files, by CLOCK_REALTIME. */
int64_t clock_wall_ns(void);
/* CPU time that this process has used, user and system. */
uint64_t clock_cpu_ns(void);

#endif
