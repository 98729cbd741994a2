/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_PATIENCE_H
#define CTOP_SYSTEM_PATIENCE_H

/*
 * How long a process of ours may take, on a machine with other things to do as well: the time that it runs and that it sleeps counts, but not
 * that it waits for a CPU. (Where the kernel has no schedstat, only one that waits for a CPU just now gets more.) Main only.
 */

#include <stdbool.h>
#include <stdint.h>

struct patience {
	uint64_t limit_ns, since_ns;
	int32_t pid;
	uint64_t run_ns, queue_ns; /* the process's by then */
};

/* From now on. */
struct patience patience_with(int32_t pid, uint64_t limit_ns);
/* Of that process, which began since then if it is another. */
bool patience_is_over(const struct patience *patience, int32_t pid);
/* When to ask again; 0: it is over. */
int patience_timeout_ms(const struct patience *patience, int32_t pid);

#endif
