/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_UPROBES_H
#define CTOP_APP_UPROBES_H

/*
 * Where a uprobe's function begins in its file. The file is untrusted: a jailed child reads it, which lives
 * for this one question.
 */

#include <stddef.h>

#include <ctop/base/error.h>
#include <ctop/perf/event.h>

/* Finds every event's function and clears its name, leaving the offset. 0 or -errno with cause and remedy. */
int uprobes_resolve(struct event *events, size_t nr_events, struct error *error);

#endif
