/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_TASK_ID_H
#define CTOP_BASE_TASK_ID_H

/* A task's number as people read it. */

#include <stdint.h>

#include <ctop/base/text.h>

/* "4711", "goroutine 17", "other goroutines". */
void task_id_add(struct text *text, int32_t tid);
/* A thread's name, untrusted, as it is; of a goroutine, which has none, its number. */
void task_name_add(struct text *text, const char *name, int32_t tid);

#endif
