/* SPDX-License-Identifier: MIT */
#include <ctop/base/task_set.h>

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include <ctop/base/hash.h>

struct task_set_entry {
	int32_t id;
	UT_hash_handle hh;
};

static struct task_set_entry *find(const struct task_set *set, int32_t id)
{
	struct task_set_entry *found;
	HASH_FIND(hh, set->entries, &id, sizeof(id), found);
	return found;
}

bool task_set_has(const struct task_set *set, int32_t id)
{
	return find(set, id) != NULL;
}

int task_set_add(struct task_set *set, int32_t id)
{
	if (find(set, id))
		return 0;
	struct task_set_entry *added = calloc(1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	added->id = id;
	HASH_ADD(hh, set->entries, id, sizeof(added->id), added);
	if (!added->hh.tbl) { /* uthash had no memory */
		free(added);
		return -ENOMEM;
	}
	return 0;
}

static void drop(struct task_set *set, struct task_set_entry *entry)
{
	HASH_DEL(set->entries, entry);
	free(entry);
}

bool task_set_remove(struct task_set *set, int32_t id)
{
	struct task_set_entry *found = find(set, id);
	if (found)
		drop(set, found);
	return found != NULL;
}

void task_set_release(struct task_set *set)
{
	struct task_set_entry *entry, *next;
	HASH_ITER (hh, set->entries, entry, next)
		drop(set, entry);
}
