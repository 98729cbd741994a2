/* SPDX-License-Identifier: MIT */
/* A ring: its head and tail (4 bytes each), then what is written from the tail on, around the end. */
#include <linux/perf_event.h>

#include <ctop/kernel/ring.h>

#include "fuzz.h"

enum { DATA_BYTES = 4096 };

static void *make_memory(struct input *input, size_t page_bytes)
{
	void *memory = mmap(NULL, page_bytes + DATA_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	struct perf_event_mmap_page *page = memory;
	uint8_t *data = (uint8_t *)memory + page_bytes;
	uint64_t tail = input_u32(input);
	page->data_tail = tail;
	/* Signed: a head behind the tail, or further away than the ring is long, is damage. */
	page->data_head = tail + (uint64_t)(int32_t)input_u32(input);
	for (uint64_t at = tail; input->left && at < tail + DATA_BYTES; at++)
		data[at % DATA_BYTES] = input_u8(input);
	return memory;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring;
	REQUIRE(ring_attach(&ring, make_memory(&input, page_bytes), DATA_BYTES) == 0);
	uint64_t start = ring.tail;
	ring_refresh(&ring);
	const uint64_t head = ring.head;
	bool damaged = false;
	const struct perf_event_header *header;
	while ((header = ring_peek(&ring, &damaged))) {
		REQUIRE(!damaged);
		const uint8_t *record = (const uint8_t *)header;
		bool in_place =
			record >= ring.data && record + header->size <= ring.data + DATA_BYTES;
		REQUIRE(in_place || record == ring.scratch);
		REQUIRE(header->size >= sizeof(*header) && header->size == ring.peeked_bytes);
		/* The bytes are those behind the tail, also across the end. */
		for (size_t i = 0; i < header->size; i++)
			REQUIRE(record[i] == ring.data[(ring.tail + i) % DATA_BYTES]);
		REQUIRE(ring_peek(&ring, &damaged) == header && !damaged);
		uint64_t tail = ring.tail;
		ring_consume(&ring);
		REQUIRE(ring.tail > tail && ring.tail - start <= head - start);
	}
	REQUIRE(ring.tail == head && ring_waiting_bytes(&ring) == 0);
	ring_publish_tail(&ring);
	REQUIRE(ring.page->data_tail == head);
	ring_unmap(&ring);
	return 0;
}
