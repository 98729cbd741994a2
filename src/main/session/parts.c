/* SPDX-License-Identifier: MIT */
#include "parts.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ctop/session/session_setup.h>

#include "session_internal.h"

/* Epochs of one child have another number in their upper bits than those of the others, and of the session. */
enum { EPOCH_BITS = 24 };

/* A small file is read before the children have started. */
#define ALONE_BYTES ((int64_t)100 * 1000 * 1000)

size_t parts_for(const struct source *source, size_t asked)
{
	cpu_set_t cpus;
	struct stat stat;
	int64_t bytes = fstat(source->fd, &stat) ? 0 : (int64_t)stat.st_size;
	for (size_t i = 0; i < source->nr_parts; i++)
		bytes += fstat(source->parts[i], &stat) ? 0 : (int64_t)stat.st_size;
	size_t nr = asked;
	if (!nr && bytes >= ALONE_BYTES && !sched_getaffinity(0, sizeof(cpus), &cpus))
		nr = (size_t)CPU_COUNT(&cpus);
	return nr < 1 ? 1 : nr > PARTS_MAX ? PARTS_MAX : nr;
}

struct parts *parts_new(size_t nr)
{
	struct parts *parts = calloc(1, sizeof(*parts));
	if (parts)
		parts->items = calloc(nr, sizeof(*parts->items));
	if (!parts || !parts->items) {
		free(parts);
		return NULL;
	}
	parts->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		struct part *part = &parts->items[i];
		worker_init(&part->worker);
		part->asked = (struct message_part){.number = (uint32_t)i, .nr = (uint32_t)nr};
		part->current = &part->regions[0];
		part->next = &part->regions[1];
		part->cpu_in_hand = -1;
	}
	return parts;
}

void part_forget_rows(struct part *part)
{
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		free(part->rows[kind]);
		part->rows[kind] = NULL;
	}
}

void parts_free(struct parts *parts)
{
	if (!parts)
		return;
	for (size_t i = 0; i < parts->nr; i++) {
		struct part *part = &parts->items[i];
		worker_release(&part->worker);
		region_close(part->current);
		region_close(part->next);
		part_forget_rows(part);
	}
	tables_writer_free(parts->writer);
	index_release(&parts->modules_index);
	free(parts->modules.items);
	free(parts->items);
	free(parts);
}

static int open_region(struct part *part, struct region *region)
{
	return region_open(region, (part->asked.number + 1) << EPOCH_BITS |
					   (++part->nr_epochs & ((1u << EPOCH_BITS) - 1)));
}

static int start(struct session *session, struct part *part)
{
	part->is_mapped = false;
	int result = open_region(part, part->current);
	if (!result)
		result = worker_start(&part->worker, "collector");
	return result ? result
		      : setup_file_collector(&part->worker, &session->source, part->current,
					     session->without_tables, &part->asked);
}

int parts_start(struct session *session)
{
	int result = 0;
	for (size_t i = 0; !result && i < session->parts->nr; i++)
		result = start(session, &session->parts->items[i]);
	return result;
}

struct part *parts_find(struct parts *parts, const struct worker *worker)
{
	for (size_t i = 0; parts && i < parts->nr; i++)
		if (&parts->items[i].worker == worker)
			return &parts->items[i];
	return NULL;
}

struct region *parts_region(struct parts *parts, uint32_t epoch)
{
	for (size_t i = 0; parts && i < parts->nr; i++) {
		struct part *part = &parts->items[i];
		for (size_t at = 0; at < 2; at++)
			if (part->regions[at].epoch == epoch)
				return &part->regions[at];
	}
	return NULL;
}

bool parts_are_mapped(const struct parts *parts)
{
	for (size_t i = 0; i < parts->nr; i++)
		if (!parts->items[i].is_mapped)
			return false;
	return true;
}

bool parts_are_done(const struct parts *parts)
{
	for (size_t i = 0; i < parts->nr; i++)
		if (!parts->items[i].is_done)
			return false;
	return true;
}

int part_give_tables(struct part *part)
{
	part->owes_tables = part->next->epoch != 0;
	if (part->owes_tables || !part->worker.channel)
		return 0; /* until what is in current is merged; or who asked has gone */
	int result = open_region(part, part->next);
	return result ? result : region_send(part->next, part->worker.channel, REGION_TABLES);
}

/* What it had in hand is passed over if that was its end, or is it for the second time. */
static int skip_record(struct part *part, int wait_status)
{
	const int32_t cpu = atomic_load(&part->worker.status->busy_cpu);
	const uint64_t position = atomic_load(&part->worker.status->busy_position);
	const bool again = part->cpu_in_hand == cpu && part->position_in_hand == position;
	part->cpu_in_hand = cpu;
	part->position_in_hand = position;
	if (cpu < 0 || !(again || worker_fell(&part->worker, wait_status)))
		return 0;
	if (part->asked.nr_skipped == PROTOCOL_SKIPPED_MAX)
		return -ENOSPC;
	part->asked.skipped[part->asked.nr_skipped++] = position;
	return 0;
}

int part_restart(struct session *session, struct part *part, int wait_status)
{
	int result = skip_record(part, wait_status);
	if (result)
		return result;
	/* All is counted again. */
	memset(part->worker.status, 0, sizeof(*part->worker.status));
	atomic_store(&part->worker.status->busy_cpu, -1);
	region_close(part->current);
	region_close(part->next);
	part_forget_rows(part);
	part->nr = part->at = 0;
	part->until = part->merged;
	part->owes_tables = false;
	return start(session, part);
}
