/* SPDX-License-Identifier: MIT */
#include "translation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* What stands for the name of a module or thread that was lost. */
static const char lost_name[] = "[lost]";

void translation_begin_epoch(struct translation *translation, struct tables_writer *writer,
			     uint32_t epoch)
{
	translation->writer = writer;
	translation->epoch = epoch;
	translation->lost_module = (struct module_id){0};
	for (size_t i = 0; i < NR_TABLES; i++)
		translation->ids[i].nr = 0;
}

void translation_release(struct translation *translation)
{
	for (size_t i = 0; i < NR_TABLES; i++)
		free(translation->ids[i].items);
	*translation = (struct translation){0};
}

int translation_set(struct translation *translation, enum table_kind kind, uint64_t id, uint32_t to)
{
	if (id >= (uint64_t)1 << 24) /* four times what the largest table holds */
		return -EBADMSG;
	if (id >= translation->ids[kind].nr) {
		if (vec_reserve(&translation->ids[kind], (size_t)id + 1))
			return -ENOMEM;
		while (translation->ids[kind].nr <= id)
			translation->ids[kind].items[translation->ids[kind].nr++] = ID_LOST;
	}
	translation->ids[kind].items[id] = to;
	return 0;
}

uint32_t translation_id(const struct translation *translation, enum table_kind kind, uint64_t id)
{
	if (id == 0)
		return 0;
	return id < translation->ids[kind].nr ? translation->ids[kind].items[id] : ID_LOST;
}

static int add_string(struct translation *translation, const char *string, struct string_id *id)
{
	return tables_add_string(translation->writer, string, strlen(string), id);
}

/*
 * A frame that was lost, or whose module was, gets an address that no other has, in any epoch:
 * else its name, which may be known, would be shown for others.
 */
static int add_lost_frame(struct translation *translation, uint64_t number)
{
	struct module_id *module = &translation->lost_module;
	struct frame_id id;
	int result = 0;
	if (!module->index) {
		struct module_row row = {.kind = MODULE_NONE};
		result = add_string(translation, lost_name, &row.path);
		if (!result)
			result = tables_add_module(translation->writer, &row, module);
	}
	if (!result)
		result = tables_add_frame(translation->writer, *module,
					  (uint64_t)translation->epoch << 32 | (uint32_t)number,
					  &id);
	return result ? result
		      : translation_set(translation, TABLE_FRAMES, number,
					id.index | ID_INCOMPLETE);
}

int translation_frame(struct translation *translation, uint64_t number, struct frame_id *frame,
		      bool *incomplete)
{
	if (translation_id(translation, TABLE_FRAMES, number) == ID_LOST) {
		int result = add_lost_frame(translation, number);
		if (result)
			return result;
	}
	uint32_t id = translation_id(translation, TABLE_FRAMES, number);
	frame->index = id & ~ID_INCOMPLETE;
	*incomplete |= (id & ID_INCOMPLETE) != 0;
	return 0;
}

int translation_task(struct translation *translation, uint64_t number, struct task_id *task,
		     bool *incomplete)
{
	struct string_id comm;
	task->index = translation_id(translation, TABLE_TASKS, number);
	if (task->index != ID_LOST)
		return 0;
	*incomplete = true;
	int result = add_string(translation, lost_name, &comm);
	return result ? result : tables_add_task(translation->writer, -1, -1, 0, comm, task);
}

int translation_comm(struct translation *translation, uint64_t string, struct string_id *comm)
{
	comm->index = translation_id(translation, TABLE_STRINGS, string);
	return comm->index == ID_LOST ? add_string(translation, lost_name, comm) : 0;
}

/* Events do not add up: lost ones stay apart by their numbers. */
int translation_event_name(struct translation *translation, uint64_t string, uint64_t event,
			   struct string_id *name)
{
	char lost[40];
	name->index = translation_id(translation, TABLE_STRINGS, string);
	if (name->index != ID_LOST)
		return 0;
	snprintf(lost, sizeof(lost), "[lost event %llu]", (unsigned long long)event);
	return add_string(translation, lost, name);
}

static int add_lost_event(struct translation *translation, uint64_t number)
{
	struct event_row row = {0};
	uint32_t id;
	int result = translation_event_name(translation, UINT64_MAX, number, &row.name);
	row.asked = row.name;
	if (!result)
		result = tables_add_event(translation->writer, &row, &id);
	return result ? result : translation_set(translation, TABLE_EVENTS, number, id);
}

int translation_event(struct translation *translation, uint64_t number, uint8_t *event)
{
	if (translation_id(translation, TABLE_EVENTS, number) == ID_LOST) {
		int result = add_lost_event(translation, number);
		if (result)
			return result;
	}
	*event = (uint8_t)translation_id(translation, TABLE_EVENTS, number);
	return 0;
}
