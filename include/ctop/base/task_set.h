/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_TASK_SET_H
#define CTOP_BASE_TASK_SET_H

/* Processes or threads by their numbers, each once. Untrusted data may decide which: the hash has a key. */

#include <stdbool.h>
#include <stdint.h>

struct task_set_entry;

/* All zero: empty. */
struct task_set {
	struct task_set_entry *entries;
};

bool task_set_has(const struct task_set *set, int32_t id);
int task_set_add(struct task_set *set, int32_t id);	/* 0, also if it was there, or -ENOMEM */
bool task_set_remove(struct task_set *set, int32_t id); /* whether it was there */
void task_set_release(struct task_set *set);

#endif
