/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_RING_H
#define CTOP_KERNEL_RING_H

/*
 * One CPU's ring of perf records, read in place. The kernel writes data_head,
 * we write data_tail (pairs with the kernel's barriers: load-acquire of head
 * before reading, store-release of tail after; linux/perf_event.h, data_head).
 * A record that crosses the ring's end is copied once to scratch; the only copy.
 * Used for the collector's rings and for main's own rings of side-band records.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;
struct perf_event_mmap_page;

struct ring {
	struct perf_event_mmap_page *page; /* NULL when not mapped */
	const uint8_t *data;
	uint64_t data_bytes;   /* power of two */
	uint64_t head;	       /* as acquired by ring_refresh() */
	uint64_t tail;	       /* how far we have read; published by ring_publish_tail() */
	uint64_t peeked_bytes; /* of the record peeked last; 0 when none */
	uint8_t *scratch;      /* 64 KiB, for the record across the end */
};

/* Maps the ring of an event descriptor with data_pages pages (a power of two). 0 or -errno. */
int ring_map(struct ring *ring, int fd, size_t data_pages);
/*
 * A ring over mapped memory that looks like the kernel's (a memfd in tests): a page, then data_bytes, a
 * power of two. It takes the mapping over: ring_unmap() ends it. 0 or -errno.
 */
int ring_attach(struct ring *ring, void *memory, uint64_t data_bytes);
void ring_unmap(struct ring *ring); /* fine on an all-zero ring */

/* Takes a new head: records up to it may be read. */
void ring_refresh(struct ring *ring);
/*
 * The record at the tail, contiguous, without consuming it; NULL when there is none up to the head
 * taken last. Valid until ring_consume(). A header whose size is below 8 or past the head, and a head
 * further away than the ring is long, are damage: NULL, with *damaged set and the tail moved to the head.
 */
const struct perf_event_header *ring_peek(struct ring *ring, bool *damaged);
/*
 * What lies ahead: the type of the record at a position between tail and head, and its first word (0: it has none), a sample's
 * id. Returns its length in bytes; 0: there is none, or it is damaged.
 */
uint64_t ring_look_ahead(const struct ring *ring, uint64_t position, uint32_t *type,
			 uint64_t *first_word);
/* Asks the processor for the record behind the one peeked: with 8 KiB and more each, nothing else foresees it. */
void ring_prefetch_next(const struct ring *ring);
void ring_consume(struct ring *ring); /* moves past the record peeked last */
/* Gives the kernel back what was consumed: once per round. */
void ring_publish_tail(struct ring *ring);
/* Bytes waiting up to the head taken last. */
uint64_t ring_waiting_bytes(const struct ring *ring);

#endif
