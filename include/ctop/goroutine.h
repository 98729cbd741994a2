/* SPDX-License-Identifier: MIT */
#ifndef CTOP_GOROUTINE_H
#define CTOP_GOROUTINE_H

/*
 * A parked goroutine as a task: it is on no thread, so its tid is none that a thread can have. Free for all; recordings have these
 * numbers (docs/recording-format.md).
 */

#include <stdbool.h>
#include <stdint.h>

/* The name of the event of what they wait, whose weights are ns. */
#define GOROUTINE_EVENT "goroutine-wait"

enum {
	/* Of those that are not told one by one; of a single one so much less. (-1 and -2 mean processes and programs.) */
	GOROUTINE_TID = -16,
	GOROUTINE_ID_MAX = INT32_MAX - 16,
};

static inline bool is_goroutine(int32_t tid)
{
	return tid <= GOROUTINE_TID;
}

/* 0, and ids that are too large: one of those that are not told one by one. */
static inline int32_t tid_of_goroutine(uint64_t id)
{
	return id <= GOROUTINE_ID_MAX ? GOROUTINE_TID - (int32_t)id : GOROUTINE_TID;
}

static inline int32_t goroutine_of_tid(int32_t tid)
{
	return tid < -GOROUTINE_ID_MAX ? 0 : GOROUTINE_TID - tid;
}

#endif
