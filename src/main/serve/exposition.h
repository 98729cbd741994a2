/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_EXPOSITION_H
#define CTOP_SERVE_EXPOSITION_H

/* What /metrics says, in Prometheus' text format 0.0.4: what ctop costs, what it captured, what was lost. Knows no connection. */

#include <sys/types.h>

#include <ctop/base/text.h>
#include <ctop/ipc/http_protocol.h>

#include "allowance.h"
#include "pusher.h"

/* How captures end. */
enum capture_outcome {
	CAPTURE_DONE,
	CAPTURE_FAILED,
	CAPTURE_ABANDONED, /* who asked has gone */
	CAPTURE_BUSY,	   /* another ran: not begun */
	CAPTURE_REFUSED,   /* of no target: not begun */
	CAPTURE_UNPAID,	   /* the last ones took all of --budget: not begun */
	NR_CAPTURE_OUTCOMES
};

struct serve_counts {
	uint64_t captures[NR_HTTP_ENDPOINTS][NR_CAPTURE_OUTCOMES];
	uint64_t samples, lost, dropped, bytes;
	uint64_t kernel_ns, nr_lowered; /* as struct capture_result has them */
	uint64_t dumps;			/* that flight recorders were asked for */
	uint64_t restarts;		/* of the child that speaks HTTP */
};

struct exposition {
	const struct serve_counts *counts;
	const struct http_ask *ask; /* whose counts are the child's */
	pid_t child;
	pid_t capture; /* 0: none runs */
	bool has_pids;
	size_t nr_targets, nr_running;
	const struct push_counts *pushes;  /* NULL: nothing is pushed */
	size_t nr_waiting;		   /* to be pushed */
	const struct allowance *allowance; /* NULL: there is no budget */
};

/* CPU time of ctop's processes so far: main's own, that child's, and those that have ended. */
struct exposition_cpu {
	double main, http, ended;
};
struct exposition_cpu exposition_cpu_seconds(pid_t child);

void exposition_add(struct text *text, const struct exposition *exposition);

#endif
