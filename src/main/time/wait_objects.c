/* SPDX-License-Identifier: MIT */
#include <ctop/time/wait_objects.h>

#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

/* Of both: half a MiB, and one. Sum 0 is of what is beyond. */
enum { SUMS_MOST = 2048, THREADS_MOST = 65536, OTHERS = 0 };
/* It waited for nothing that is known. */
#define NOTHING UINT32_MAX

/* Sums by their numbers. */
struct waiting {
	int32_t tid;
	uint32_t last, before;
	uint32_t of_kind[NR_WAIT_KINDS]; /* as the last look at such a wait had it */
};

struct wait_objects {
	struct {
		struct wait_sum *items;
		size_t nr, capacity;
	} sums;
	struct {
		struct waiting *items;
		size_t nr, capacity;
	} threads;
	struct index by_object, by_tid;
	struct wait_sum *told;
};

struct wait_objects *wait_objects_new(void)
{
	struct wait_objects *objects = calloc(1, sizeof(*objects));
	if (!objects || vec_reserve(&objects->sums, 1)) {
		free(objects);
		return NULL;
	}
	objects->sums.items[objects->sums.nr++] = (struct wait_sum){0};
	return objects;
}

void wait_objects_free(struct wait_objects *objects)
{
	if (!objects)
		return;
	index_release(&objects->by_object);
	index_release(&objects->by_tid);
	free(objects->sums.items);
	free(objects->threads.items);
	free(objects->told);
	free(objects);
}

static uint64_t hash_of(const struct wait_object *object)
{
	const uint64_t what = object->kind == WAIT_ON_FILE
				      ? hash_bytes(object->text, strlen(object->text))
			      : object->kind == WAIT_ON_FUTEX ? object->address
							      : (uint64_t)object->holder;
	return hash_u64(what ^
			hash_u64((uint64_t)(uint32_t)object->pid << 8 | (uint64_t)object->kind));
}

static uint32_t find_or_add(struct wait_objects *objects, const struct wait_object *object)
{
	const uint64_t hash = hash_of(object);
	struct index_probe probe = index_find(&objects->by_object, hash);
	uint32_t row;
	while (index_next(&objects->by_object, &probe, &row)) {
		struct wait_object *known = &objects->sums.items[row].object;
		if (!wait_object_is_same(known, object))
			continue;
		if (object->holder) /* whoever did last */
			known->holder = object->holder;
		return row;
	}
	if (objects->sums.nr >= SUMS_MOST || index_reserve(&objects->by_object) ||
	    vec_reserve(&objects->sums, objects->sums.nr + 1))
		return OTHERS;
	row = (uint32_t)objects->sums.nr;
	index_add(&objects->by_object, hash, row);
	objects->sums.items[objects->sums.nr++] = (struct wait_sum){.object = *object};
	return row;
}

static struct waiting *find_thread(const struct wait_objects *objects, int32_t tid)
{
	struct index_probe probe = index_find(&objects->by_tid, hash_u64((uint64_t)tid));
	uint32_t row;
	while (index_next(&objects->by_tid, &probe, &row))
		if (objects->threads.items[row].tid == tid)
			return &objects->threads.items[row];
	return NULL;
}

/* NULL: out of memory. Of very many that came and went all are forgotten at once. */
static struct waiting *find_or_add_thread(struct wait_objects *objects, int32_t tid)
{
	struct waiting *thread = find_thread(objects, tid);
	if (thread)
		return thread;
	if (objects->threads.nr >= THREADS_MOST) {
		index_clear(&objects->by_tid);
		objects->threads.nr = 0;
	}
	if (index_reserve(&objects->by_tid) ||
	    vec_reserve(&objects->threads, objects->threads.nr + 1))
		return NULL;
	index_add(&objects->by_tid, hash_u64((uint64_t)tid), (uint32_t)objects->threads.nr);
	thread = &objects->threads.items[objects->threads.nr++];
	*thread = (struct waiting){.tid = tid, .last = NOTHING, .before = NOTHING};
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		thread->of_kind[kind] = NOTHING;
	return thread;
}

void wait_objects_look(struct wait_objects *objects, int32_t tid, enum wait_kind kind,
		       const struct wait_object *object)
{
	struct waiting *thread = find_or_add_thread(objects, tid);
	if (!thread)
		return;
	thread->before = thread->last;
	thread->last = object->kind ? find_or_add(objects, object) : NOTHING;
	thread->of_kind[kind] = thread->last;
}

void wait_objects_sample(struct wait_objects *objects, int32_t tid, enum wait_kind kind,
			 enum wait_place place)
{
	struct waiting *thread = find_or_add_thread(objects, tid);
	if (!thread)
		return;
	if (place == WAIT_AT_LAST)
		thread->before = thread->last;
	*(place == WAIT_AT_LAST ? &thread->last : &thread->before) = thread->of_kind[kind];
}

void wait_objects_add(struct wait_objects *objects, int32_t tid, enum wait_place place, uint64_t ns)
{
	const struct waiting *thread = find_thread(objects, tid);
	if (!thread || (place != WAIT_AT_LAST && place != WAIT_AT_BEFORE))
		return;
	const uint32_t row = place == WAIT_AT_LAST ? thread->last : thread->before;
	if (row != NOTHING)
		objects->sums.items[row].ns += ns;
}

static int compare(const void *a, const void *b)
{
	const struct wait_sum *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return (left->nr_threads < right->nr_threads) - (left->nr_threads > right->nr_threads);
}

const struct wait_sum *wait_objects_sums(struct wait_objects *objects, size_t *nr)
{
	const size_t nr_sums = objects->sums.nr;
	struct wait_sum *told = realloc(objects->told, nr_sums * sizeof(*told));
	*nr = 0;
	if (!told)
		return NULL;
	objects->told = told;
	memcpy(told, objects->sums.items, nr_sums * sizeof(*told));
	for (size_t i = 0; i < objects->threads.nr; i++)
		if (objects->threads.items[i].last != NOTHING)
			told[objects->threads.items[i].last].nr_threads++;
	qsort(told, nr_sums, sizeof(*told), compare);
	while (*nr < nr_sums && *nr < WAIT_SUMS_TOLD && told[*nr].ns)
		++*nr;
	return told;
}
