/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_LOOKER_H
#define CTOP_SYSTEM_LOOKER_H

/*
 * Looks at a target's memory, and at what else of it may never answer: a page that userfaultfd(2) or a file system of the target's own is to
 * fill, a descriptor that somebody else holds locked. So a process of main's own looks (system/own_process.h), is asked one thing at a time,
 * and answers in memory that both share. Where it does not answer for so long it is ended, another one takes its place, and that thread
 * is not looked at any more; of a process with several such threads none is, and behind so many threads nobody. Main waits no longer than
 * that. What it answers is the target's, and checked, as if it were the target that answers. Main only.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/system/system_call.h>
#include <ctop/system/wait_look.h>

enum {
	LOOKER_PATIENCE_MS =
		250, /* that it may wait in the kernel; for a CPU it may wait longer, 5 s in all */
	LOOKER_SILENT_OF_PROCESS = 4, /* threads */
	LOOKER_SILENT_MAX = 16,	      /* of all */
	LOOKER_BYTES_MAX = 72 << 10,  /* of one look */
	LOOKER_PIECES_MAX = 256,
};

struct looker;

/* The process starts when it is first asked. NULL: out of memory. */
struct looker *looker_new(void);
void looker_free(struct looker *looker); /* NULL is fine */

/* wait_look_read(); also -ETIMEDOUT: it is not looked at, or not any more, and nothing of it is known. */
int looker_look(struct looker *looker, int32_t pid, int32_t tid, char state,
		const struct sched_stat *before, struct wait_look *look, uint8_t *stack,
		size_t most);
/* wait_object_read(), of a thread that waits in that call. */
struct wait_object looker_object(struct looker *looker, int32_t pid, int32_t tid,
				 const struct system_call *call);
/* process_read(), of LOOKER_BYTES_MAX at most. */
size_t looker_read(struct looker *looker, int32_t pid, uint64_t address, void *bytes, size_t most);
/* The same, and behind it so many bytes of another place: 0 unless all of those were read. Together LOOKER_BYTES_MAX at most. */
size_t looker_read_both(struct looker *looker, int32_t pid, uint64_t address, void *bytes,
			size_t most, uint64_t then, void *then_bytes, size_t then_size);
/* process_read_pieces(), of LOOKER_PIECES_MAX and as many bytes at most. */
size_t looker_read_pieces(struct looker *looker, int32_t pid, const uint64_t *addresses, size_t nr,
			  void *bytes, size_t size);

/* How many threads did not answer, where a process's memory as a whole is one. */
uint64_t looker_nr_silent(const struct looker *looker);
/* Questions that nobody was there to be asked: it could not be started. */
uint64_t looker_nr_unasked(const struct looker *looker);
int32_t looker_pid(const struct looker *looker); /* 0: it does not run */
/* What it has taken, with those before it. */
uint64_t looker_cpu_ns(const struct looker *looker);

#endif
