/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_INTERNAL_H
#define CTOP_COLLECT_INTERNAL_H

/* The whole collector: what each of its files keeps, and how it stands with main. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>

#include "ask_process.h"
#include "bound.h"
#include "code_budget.h"
#include "duplicates.h"
#include "events.h"
#include "output.h"
#include "pids.h"
#include "sample_filter.h"
#include "sets.h"
#include "source.h"
#include "stack.h"
#include "task_rows.h"
#include "waits.h"

struct collector {
	struct channel *channel;
	struct message_config config;
	struct child_status *status;
	int to_main; /* eventfd */
	int to_child;

	struct source source;
	struct events events;
	struct duplicates duplicates;
	struct sets sets;
	struct pids pids;
	struct following following;
	struct sample_filter filter;
	struct unwinding unwinding;
	struct task_rows task_rows;
	struct waits waits;
	struct output output;
	struct bound bound;
	struct code_budget code_budget;

	bool started, stopping;
	bool pausing; /* the events are off: the rings are taken to their end */
	bool waiting; /* the next record waits: for an answer of main's, or until code is read */
	uint64_t waiting_since_ns; /* 0: not waiting */
};

#endif
