/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_COMMANDS_H
#define CTOP_INTERACTIVE_COMMANDS_H

/*
 * Command lines of processes. They lie in the processes' own memory, where reading may hang: an opener (files/opener.h) reads
 * them, and they are there a moment later. What is known of a process stays known when it has ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/files/opener.h>
#include <ctop/session/session.h>

enum { COMMANDS_MAX = 1024, COMMAND_BYTES = 512 };

struct command_line {
	int32_t pid;
	uint64_t started_ns;
	uint64_t asked_ns; /* last; 0: never */
	uint64_t used;	   /* the last time, by a count: who was not used for longest makes room */
	bool hangs;	   /* whoever read it did: it is not asked for again */
	char text[COMMAND_BYTES];
};

struct commands {
	struct opener *opener;
	int32_t opener_pid;
	struct command_line *items;
	size_t nr;
	uint64_t uses;
};

/* All zero at first. */
void commands_release(struct commands *commands);
/* Takes what has come. The opener is none of what the session samples; NULL: there is none. */
void commands_serve(struct commands *commands, struct session *session);
/*
 * Adds the command line of the process that has that pid and started then (0: not known), safe to show; nothing when that is not known,
 * or not yet. It is asked for, and again after a while, as processes change theirs.
 */
void commands_add(struct commands *commands, int32_t pid, uint64_t started_ns, struct text *out);

#endif
