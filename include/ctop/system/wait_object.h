/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_WAIT_OBJECT_H
#define CTOP_SYSTEM_WAIT_OBJECT_H

/*
 * What exactly a thread waits for: the file, socket or pipe of a descriptor by what /proc/PID/fd calls it, a futex by its address and, where it
 * is a mutex of glibc's or a PI futex, who holds it; a process. Nothing is opened but links and numbers of /proc, and 12 bytes of the target's
 * memory are read. All of it is the target's, and may be another one by the time it is read. Main only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/system/system_call.h>

enum wait_object_kind { WAIT_ON_UNKNOWN, WAIT_ON_FILE, WAIT_ON_FUTEX, WAIT_ON_PROCESS };

enum { WAIT_OBJECT_TEXT_BYTES = 160 };

struct wait_object {
	enum wait_object_kind kind;
	int32_t pid;	  /* whose */
	uint64_t address; /* of a futex, in its process */
	int32_t holder; /* of a futex: the thread that likely holds it; of a process: it; 0: not known */
	char text[WAIT_OBJECT_TEXT_BYTES]; /* of files: what they are called, untrusted */
};

/* Of a thread that waits in that call. kind WAIT_ON_UNKNOWN: it tells nothing, or may not be seen. */
struct wait_object wait_object_read(int32_t pid, const struct system_call *call);
/* Whether both are the same, whoever holds it. */
bool wait_object_is_same(const struct wait_object *a, const struct wait_object *b);
/* "pipe:[4711]", "futex 0x7f0012345678, likely held by 4712", "process 4713". Safe; nothing of an unknown one. */
void wait_object_add(const struct wait_object *object, struct text *out);

/* For tests. Who holds a futex, by the call's operation and the three words from its address on; 0: they do not tell. */
int32_t wait_object_holder(uint64_t operation, const uint32_t words[3]);

#endif
