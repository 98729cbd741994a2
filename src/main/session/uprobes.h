/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_UPROBES_H
#define CTOP_SESSION_UPROBES_H

/*
 * Which file a uprobe goes into, and where its function begins. The file is untrusted: a jailed child reads it, which lives
 * for this one question.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/perf/event.h>

/* Files of processes that live in other mount namespaces: open as long as events may be opened. */
struct uprobe_files {
	int *items;
	size_t nr, capacity;
};

void uprobe_files_close(struct uprobe_files *files); /* all zero is fine */

/*
 * Finds every event's file, as the processes have it mapped, if any are given, and its function, whose name is cleared: the offset
 * is left. 0 or -errno with cause and remedy.
 */
int uprobes_resolve(struct event *events, size_t nr_events, const int32_t *pids, size_t nr_pids,
		    struct uprobe_files *files, struct error *error);

#endif
