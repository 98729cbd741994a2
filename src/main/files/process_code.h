/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_PROCESS_CODE_H
#define CTOP_FILES_PROCESS_CODE_H

/*
 * A copy of code that a process has made itself. Of its memory nothing else is read: what /proc/PID/maps says, at the
 * time, to be executable and in no file. In the opener: the target may let a page fault hang (userfaultfd).
 */

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads from start up to end, or where the code ends before that, into bytes. How many; -EACCES: no such code is there;
 * -EPERM: the process may not be read, by Yama or as another user's; -ESRCH.
 */
ssize_t process_code_read(int32_t pid, uint64_t start, uint64_t end, void *bytes);

#endif
