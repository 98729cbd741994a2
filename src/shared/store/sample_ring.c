/* SPDX-License-Identifier: MIT */
/*
 * The ring of samples: one writer who never waits, one reader who finds out what he missed.
 * Both sides are here, since each is right only beside the other.
 *
 * Positions count samples since the region was made; a sample's slot is its position modulo the
 * capacity. The writer shows his head at least every show_every() samples. So at most that many
 * slots beyond the head that a reader sees are in the making; they are the oldest ones, which he
 * does not trust. What he copied meanwhile, he checks against a head read afterwards.
 */
#include <ctop/store/tables.h>

#include <string.h>

#include "tables_internal.h"

static uint32_t show_every(const struct tables *tables)
{
	const uint32_t most = 64, quarter = tables->capacity.nr_samples / 4;
	if (quarter == 0)
		return 1;
	return quarter < most ? quarter : most;
}

static uint32_t trusted_slots(const struct tables *tables)
{
	return tables->capacity.nr_samples - show_every(tables);
}

static struct sample *slot_at(const struct tables *tables, uint64_t position)
{
	return &tables->samples[position & (tables->capacity.nr_samples - 1)];
}

/* ---- the writer ---- */

void tables_add_sample(struct tables_writer *writer, const struct sample *sample)
{
	*slot_at(writer->tables, writer->head) = *sample;
	writer->head++;
	if (writer->head % show_every(writer->tables) == 0)
		tables_publish(writer);
}

void tables_publish(struct tables_writer *writer)
{
	struct tables_header *header = writer->tables->header;
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++)
		atomic_store_explicit(&header->nr[kind], writer->nr[kind], memory_order_release);
	/* Pairs with the first acquire in tables_read_samples(): who sees the samples sees their rows. */
	atomic_store_explicit(&header->head, writer->head, memory_order_release);
	/*
	 * Pairs with the fence there: who sees a slot that is written from now on, sees this head too.
	 */
	atomic_thread_fence(memory_order_release);
}

bool tables_is_published(const struct tables_writer *writer)
{
	return atomic_load_explicit(&writer->tables->header->head, memory_order_relaxed) ==
	       writer->head;
}

uint32_t tables_samples_room(const struct tables_writer *writer)
{
	const struct tables *tables = writer->tables;
	uint64_t tail = atomic_load_explicit(&tables->header->tail, memory_order_acquire);
	uint64_t used = writer->head - tail;
	uint32_t slots = trusted_slots(tables);
	return used >= slots ? 0 : slots - (uint32_t)used;
}

void tables_close_epoch(struct tables_writer *writer)
{
	tables_publish(writer);
	atomic_store_explicit(&writer->tables->header->closed, 1, memory_order_release);
}

/* ---- the reader ---- */

/* From a position on, which moves past them. */
static size_t read_from(const struct tables *tables, uint64_t *position, struct sample *out,
			size_t max, uint64_t *missed)
{
	const struct tables_header *header = tables->header;
	const uint64_t trusted = trusted_slots(tables);
	uint64_t tail = *position;
	uint64_t head = atomic_load_explicit(&header->head, memory_order_acquire);
	uint64_t start = tail;
	if (head < tail) /* a writer that lies: nothing is there */
		return 0;
	if (head - tail > trusted)
		tail = head - trusted;
	size_t nr = head - tail < max ? (size_t)(head - tail) : max;
	for (size_t i = 0; i < nr; i++)
		out[i] = *slot_at(tables, tail + i);
	/* What may have been overwritten while it was copied is given up, too. */
	atomic_thread_fence(memory_order_acquire);
	uint64_t now = atomic_load_explicit(&header->head, memory_order_relaxed);
	size_t torn = 0;
	if (now > trusted && now - trusted > tail) {
		uint64_t first = now - trusted;
		torn = first - tail < nr ? (size_t)(first - tail) : nr;
		memmove(out, out + torn, (nr - torn) * sizeof(*out));
	}
	*missed += tail - start + torn;
	*position = tail + nr;
	return nr - torn;
}

size_t tables_read_samples(struct tables *tables, struct sample *out, size_t max, uint64_t *missed)
{
	struct tables_header *header = tables->header;
	uint64_t tail = atomic_load_explicit(&header->tail, memory_order_relaxed);
	size_t nr = read_from(tables, &tail, out, max, missed);
	atomic_store_explicit(&header->tail, tail, memory_order_release);
	return nr;
}

size_t tables_look_at_samples(const struct tables *tables, uint64_t *position, struct sample *out,
			      size_t max)
{
	uint64_t missed = 0;
	return read_from(tables, position, out, max, &missed);
}
