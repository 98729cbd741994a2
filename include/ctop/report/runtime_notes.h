/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_RUNTIME_NOTES_H
#define CTOP_REPORT_RUNTIME_NOTES_H

/* What a runtime's stacks lack, names or callers, and what brings them: a command or an option, ready to copy. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/history/history.h>

/* Both are safe to show. */
struct runtime_note {
	char finding[64]; /* "Java[1234]: no names" */
	unsigned percent; /* of the process's samples are so */
	char remedy[192]; /* "jcmd 1234 Compiler.perfmap (JDK 17 and later)" */
};

enum { RUNTIME_NOTES_MAX = 4 };

/*
 * Of the processes that have most of the samples. pid: the process that runs and is all of the target, as its code in files may not have
 * been sampled; 0: there is none.
 * Looks at all stacks. How many notes.
 */
size_t runtime_notes(struct history *history, int32_t pid,
		     struct runtime_note notes[RUNTIME_NOTES_MAX]);
/* The same as lines of the report's header. */
void runtime_notes_add(struct history *history, int32_t pid, uint32_t columns, struct text *out);

#endif
