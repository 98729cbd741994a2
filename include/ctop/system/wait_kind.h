/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_WAIT_KIND_H
#define CTOP_SYSTEM_WAIT_KIND_H

/*
 * What a thread waits for, by the system call that it is in; where nobody may see that, by the kernel's function that it waits in, which more
 * users may. Main only.
 */

#include <stdint.h>

#include <ctop/system/system_call.h>
#include <ctop/wait_kind.h>

/* By the call, the thread's state as in its stat, and the text of its wchan ("": not told). */
enum wait_kind wait_kind_of(const struct system_call *call, char state, const char *place);
/* Of a thread that waits in that call. Looks at its wchan where that is needed. */
enum wait_kind wait_kind_read(const struct system_call *call, int32_t pid, int32_t tid, char state);

#endif
