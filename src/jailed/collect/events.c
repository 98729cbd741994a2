/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

void events_release(struct events *events)
{
	free(events->named.items);
	free(events->ids.items);
	index_release(&events->ids_index);
	index_release(&events->own);
}

int events_add(struct events *events, const struct message_event *event)
{
	if (vec_reserve(&events->named, events->named.nr + 1))
		return -ENOMEM;
	events->named.items[events->named.nr++] = *event;
	events->formats_differ |= event->without_period;
	events->any_paced |= event->paced;
	return 0;
}

/* A row without an id is there for those behind it; see first_row(). */
static int add_row(struct events *events, const struct event_id *id, bool has_id)
{
	if (vec_reserve(&events->ids, events->ids.nr + 1) || index_reserve(&events->ids_index))
		return -ENOMEM;
	if (has_id)
		index_add(&events->ids_index, hash_u64(id->id), (uint32_t)events->ids.nr);
	events->ids.items[events->ids.nr++] = *id;
	return 0;
}

int events_add_of_file(struct events *events, const struct message_event *event)
{
	const uint32_t number = (uint32_t)events->named.nr;
	const struct event_id id = {
		.id = number, .event = number, .tid = -1, .cpu = -1, .first = UINT32_MAX};
	int result = events_add(events, event);
	return result ? result : add_row(events, &id, true);
}

/* For the id that comes next: all events of a set follow those of the set before (struct sampler_id). */
static uint32_t first_row(const struct events *events, uint32_t set)
{
	const size_t row = events->ids.nr, further_up = set * events->named.nr;
	return (uint32_t)(further_up <= row ? row - further_up : row);
}

static uint64_t own_hash(int32_t tid, uint32_t event, int32_t cpu)
{
	return hash_two((uint64_t)(uint32_t)tid << 32 | (uint32_t)cpu, event);
}

static int add_own(struct events *events, uint32_t row)
{
	const struct event_id *id = &events->ids.items[row];
	if (id->tid < 0 || id->first != row)
		return 0;
	if (index_reserve(&events->own))
		return -ENOMEM;
	index_add(&events->own, own_hash(id->tid, id->event, id->cpu), row);
	return 0;
}

int events_add_ids(struct events *events, const struct message_ids *ids)
{
	for (uint32_t i = 0; i < ids->nr; i++) {
		const uint32_t row = (uint32_t)events->ids.nr;
		const struct event_id id = {
			.id = ids->ids[i].id,
			.event = ids->ids[i].event,
			.tid = ids->ids[i].tid,
			.cpu = ids->ids[i].cpu,
			.set = ids->ids[i].set,
			.first = first_row(events, ids->ids[i].set),
		};
		if (add_row(events, &id, id.id != 0) || (id.id && add_own(events, row)))
			return -ENOMEM;
	}
	return 0;
}

struct event_id *events_find(const struct events *events, uint64_t id)
{
	struct index_probe probe = index_find(&events->ids_index, hash_u64(id));
	uint32_t row;
	while (index_next(&events->ids_index, &probe, &row))
		if (events->ids.items[row].id == id)
			return &events->ids.items[row];
	return NULL;
}

struct event_id *events_find_own(const struct events *events, int32_t tid,
				 const struct event_id *like)
{
	struct index_probe probe = index_find(&events->own, own_hash(tid, like->event, like->cpu));
	uint32_t row;
	while (index_next(&events->own, &probe, &row)) {
		struct event_id *own = &events->ids.items[row];
		if (own->tid == tid && own->event == like->event && own->cpu == like->cpu)
			return own;
	}
	return NULL;
}
