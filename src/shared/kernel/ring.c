/* SPDX-License-Identifier: MIT */
#include <ctop/kernel/ring.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

/* A record's size is a u16. */
enum { RECORD_BYTES_MAX = 65536, RECORD_ALIGNMENT = 8 };

int ring_attach(struct ring *ring, void *memory, uint64_t data_bytes)
{
	*ring = (struct ring){0};
	if (data_bytes < RECORD_ALIGNMENT || data_bytes & (data_bytes - 1))
		return -EINVAL;
	ring->scratch = malloc(RECORD_BYTES_MAX);
	if (!ring->scratch)
		return -ENOMEM;
	ring->page = memory;
	ring->data = (const uint8_t *)memory + sysconf(_SC_PAGESIZE);
	ring->data_bytes = data_bytes;
	/* Not zero when a predecessor has read before us. */
	ring->tail = ring->page->data_tail;
	ring->head = ring->tail;
	return 0;
}

int ring_map(struct ring *ring, int fd, size_t data_pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	*ring = (struct ring){0};
	if (!data_pages || (data_pages & (data_pages - 1)))
		return -EINVAL;
	size_t bytes = (1 + data_pages) * page_bytes;
	struct privilege_before before = privilege_raise(PRIVILEGE_LOCK);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	privilege_restore(&before);
	if (memory == MAP_FAILED)
		return -errno;
	int result = ring_attach(ring, memory, data_pages * page_bytes);
	if (result)
		munmap(memory, bytes);
	return result;
}

void ring_unmap(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->data_bytes);
	free(ring->scratch);
	*ring = (struct ring){0};
}

void ring_refresh(struct ring *ring)
{
	/* Pairs with the kernel's store-release of data_head: the records below it are whole. */
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* The record's bytes in one piece: in place, or copied when it crosses the ring's end. */
static const void *contiguous(struct ring *ring, size_t size)
{
	uint64_t at = ring->tail & (ring->data_bytes - 1);
	uint64_t first = ring->data_bytes - at;
	if (size <= first)
		return ring->data + at;
	memcpy(ring->scratch, ring->data + at, first);
	memcpy(ring->scratch + first, ring->data, size - first);
	return ring->scratch;
}

const struct perf_event_header *ring_peek(struct ring *ring, bool *damaged)
{
	*damaged = false;
	ring->peeked_bytes = 0;
	uint64_t waiting = ring->head - ring->tail;
	if (!waiting)
		return NULL;
	/* Records are 8-aligned, so a header never crosses the end. */
	struct perf_event_header header = {0};
	if (ring->tail % RECORD_ALIGNMENT == 0 && waiting >= sizeof(header) &&
	    waiting <= ring->data_bytes)
		memcpy(&header, ring->data + (ring->tail & (ring->data_bytes - 1)), sizeof(header));
	if (header.size < sizeof(header) || header.size > waiting ||
	    header.size % RECORD_ALIGNMENT) {
		*damaged = true;
		ring->tail = ring->head;
		return NULL;
	}
	ring->peeked_bytes = header.size;
	return contiguous(ring, header.size);
}

uint64_t ring_look_ahead(const struct ring *ring, uint64_t position, uint32_t *type,
			 uint64_t *first_word)
{
	const uint64_t left = ring->head - position, mask = ring->data_bytes - 1;
	struct perf_event_header header;
	if (position % RECORD_ALIGNMENT || left > ring->data_bytes || left < sizeof(header))
		return 0;
	memcpy(&header, ring->data + (position & mask), sizeof(header));
	if (header.size < sizeof(header) || header.size > left || header.size % RECORD_ALIGNMENT)
		return 0;
	*type = header.type;
	*first_word = 0;
	if (header.size > sizeof(header))
		memcpy(first_word, ring->data + ((position + sizeof(header)) & mask),
		       sizeof(*first_word));
	return header.size;
}

void ring_prefetch_next(const struct ring *ring)
{
	/* Where a sample's ids, registers and the innermost frames of its stack copy are. */
	enum { LINE_BYTES = 64, BEGIN_BYTES = 1024 };
	uint64_t next = ring->tail + ring->peeked_bytes, mask = ring->data_bytes - 1;
	if (next + BEGIN_BYTES > ring->head)
		return;
	for (uint64_t at = next; at < next + BEGIN_BYTES; at += LINE_BYTES)
		__builtin_prefetch(ring->data + (at & mask));
	/* The size of the copy stands at the end; neighbours are mostly of one length. */
	__builtin_prefetch(ring->data + ((next + ring->peeked_bytes - 8) & mask));
}

void ring_consume(struct ring *ring)
{
	ring->tail += ring->peeked_bytes;
	ring->peeked_bytes = 0;
}

void ring_publish_tail(struct ring *ring)
{
	if (!ring->page)
		return;
	/* Pairs with the kernel's load of data_tail: our reads are done before it may overwrite. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

uint64_t ring_waiting_bytes(const struct ring *ring)
{
	return ring->head - ring->tail;
}
