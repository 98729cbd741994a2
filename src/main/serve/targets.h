/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_TARGETS_H
#define CTOP_SERVE_TARGETS_H

/* The processes that ctop serve began with: by descriptors, so that none is taken for another that has its number later. */

#include <ctop/base/error.h>
#include <ctop/options/options.h>

struct targets {
	const struct int32_list *pids; /* as they were named; none: whole CPUs */
	int *fds;
	struct int32_list chosen; /* those of targets_choose() */
};

/* 0 or -errno with cause and remedy. */
int targets_open(struct targets *targets, const struct int32_list *pids, struct error *error);
void targets_release(struct targets *targets);

/* pid: one of them, 0: all. In `chosen` those that run. 0, -ENOENT: it is none of them; -ESRCH: none runs any more. */
int targets_choose(struct targets *targets, int32_t pid);
size_t targets_nr_running(const struct targets *targets);

#endif
