/* SPDX-License-Identifier: MIT */
#ifndef CTOP_WAIT_KIND_H
#define CTOP_WAIT_KIND_H

#include <stdbool.h>

/*
 * What a thread waits for: a closed list. Found by main (system/wait_kind.h), shown as the innermost frame of where it waits. Words are
 * in src/shared/base/wait_names.c.
 */

enum wait_kind {
	WAIT_UNSEEN, /* nobody looked, or was told */
	WAIT_LOCK,   /* a futex: locks, conditions, joins */
	WAIT_IO,     /* a file, socket, pipe, terminal */
	WAIT_POLL,   /* one of many: poll, select, epoll */
	WAIT_SLEEP,
	WAIT_CHILD, /* a process's end */
	WAIT_FAULT, /* a page that is read from a file, or made room for */
	WAIT_OTHER, /* signals, stopped, message queues, ... */
	NR_WAIT_KINDS
};

const char *wait_kind_name(enum wait_kind kind);
/* What it is called as a frame: "[lock]". Static strings. */
const char *wait_kind_frame(enum wait_kind kind);
/* Of time that a thread wanted a CPU and had none. */
#define WAIT_FRAME_FOR_CPU "[run queue]"
/* Whether a frame of this name says what a thread waits for; a CPU, too. */
bool wait_is_frame(const char *name);

#endif
