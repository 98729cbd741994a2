/* SPDX-License-Identifier: MIT */
#include <ctop/query/groups.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/vec.h>

void groups_release(struct groups *groups)
{
	free(groups->all.items);
	index_release(&groups->index);
	*groups = (struct groups){.by = groups->by};
}

/* Strings of a history are equal if they are the same. One file may have several paths, by where it was compiled. */
bool group_is_same(const struct group *a, const struct group *b, enum grouping by)
{
	if (by == GROUPING_THREAD || by == GROUPING_PROCESS)
		return a->pid == b->pid && a->tid == b->tid && a->started_ns == b->started_ns;
	if (by == GROUPING_MODULE)
		return a->module == b->module;
	return a->function.index == b->function.index && a->line == b->line &&
	       !strcmp(base_name(a->file), base_name(b->file)) && a->address == b->address &&
	       a->module_row == b->module_row;
}

uint64_t group_hash(const struct group *group, enum grouping by)
{
	if (by == GROUPING_THREAD || by == GROUPING_PROCESS)
		return hash_two((uint64_t)(uint32_t)group->pid << 32 | (uint32_t)group->tid,
				group->started_ns);
	if (by == GROUPING_MODULE)
		return hash_u64((uintptr_t)group->module);
	const char *file = base_name(group->file);
	return hash_two(hash_two(group->function.index, group->address),
			hash_two((uint64_t)group->line << 32 | group->module_row,
				 *file ? hash_bytes(file, strlen(file)) : 0));
}

static struct group group_of(const struct history *history, const struct history_frame *frame,
			     enum grouping by)
{
	struct group group = {.function = frame->function,
			      .module = history_function_module(history, frame->function),
			      .file = ""};
	if (by == GROUPING_LINE && frame->line) {
		group.file = frame->file;
		group.line = frame->line;
	}
	if (by == GROUPING_ADDRESS) {
		group.address = frame->address;
		group.module_row = frame->module;
	}
	return group;
}

uint32_t groups_find(struct groups *groups, const struct history *history,
		     const struct history_frame *frame)
{
	const struct group group = group_of(history, frame, groups->by);
	const uint64_t hash = group_hash(&group, groups->by);
	struct index_probe probe = index_find(&groups->index, hash);
	uint32_t row;
	while (index_next(&groups->index, &probe, &row))
		if (group_is_same(&groups->all.items[row], &group, groups->by))
			return row;
	if (index_reserve(&groups->index) || vec_reserve(&groups->all, groups->all.nr + 1))
		return UINT32_MAX;
	row = (uint32_t)groups->all.nr;
	index_add(&groups->index, hash, row);
	groups->all.items[groups->all.nr++] = group;
	return row;
}

void group_add_place(struct text *text, const struct group *group)
{
	if (group->line) {
		text_add_safe(text, base_name(group->file));
		text_addf(text, ":%" PRIu32, group->line);
	} else if (group->address) {
		text_addf(text, "0x%" PRIx64, group->address);
	}
}
