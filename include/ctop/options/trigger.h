/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_TRIGGER_H
#define CTOP_OPTIONS_TRIGGER_H

/*
 * What makes a flight recorder write what came last (--trigger), as it was typed:
 *
 *     cpu>PERCENT% [for TIME]   the target uses more than that of one CPU, for so long (default 1s)
 *     wait>TIME [for KIND,...] [at NAME]  a thread waits longer than that; for lock, io, child or fault, if not said otherwise (wait_kind.h); where a
 *                               function of its stack has NAME, the rest of the text, in its name
 *     latency [FILE:]FUNCTION>TIME   a call of the function takes longer than that, known when it returns: a uprobe's file (else
 *                               the target's program) and function
 *     event EVENT               a sample of that event
 *     file PATH                 somebody makes or changes that file
 *     exit!=0                   the command fails
 *
 * Text only: options/trigger_check.c sees to the events that it needs, flight/trigger_watch.h whether it comes true.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>

enum trigger_kind {
	TRIGGER_CPU,
	TRIGGER_WAIT,
	TRIGGER_LATENCY,
	TRIGGER_EVENT,
	TRIGGER_FILE,
	TRIGGER_EXIT
};

struct trigger {
	enum trigger_kind kind;
	const char *text;     /* all of it; borrowed */
	double above_cpus;    /* TRIGGER_CPU: 1.5 is 150 % */
	uint64_t for_ns;      /* the same; TRIGGER_WAIT, TRIGGER_LATENCY */
	unsigned wait_kinds;  /* TRIGGER_WAIT: a bit (1 << kind) for each enum wait_kind */
	const char *function; /* the same: borrowed, the end of text; NULL: any */
	const char *subject;  /* the event, the path, or FILE:FUNCTION; borrowed, a part of text */
	size_t subject_bytes;
	char *owned_subject; /* of a function that was named without its file: subject then; options_release() frees it. NULL: none */
};

enum { TRIGGERS_MAX = 8 };

/* Of TRIGGER_LATENCY: before FILE:FUNCTION, the events that tell. */
#define TRIGGER_AT_ENTRY  "uprobe:"
#define TRIGGER_AT_RETURN "uretprobe:"

/* 0, or -EINVAL with the place of the mistake, the remedy and exit code 2. */
int trigger_parse(const char *text, struct trigger *trigger, struct error *error);

#endif
