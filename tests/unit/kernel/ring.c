/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/kernel/ring.h>

#include "test.h"

/* A ring in a memfd, with us in the kernel's part: we write records and move the head. */
struct fake {
	struct ring ring;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t data_bytes;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* begin: where head and tail stand at first. */
static struct fake fake_new(uint64_t data_bytes, uint64_t begin)
{
	struct fake fake = {.data_bytes = data_bytes};
	int fd = memfd_create("ring", MFD_CLOEXEC);
	size_t bytes = page_bytes() + data_bytes;
	CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	CHECK(memory != MAP_FAILED);
	fake.page = memory;
	fake.data = (uint8_t *)memory + page_bytes();
	fake.page->data_head = fake.page->data_tail = begin;
	CHECK_EQ(ring_attach(&fake.ring, memory, data_bytes), 0);
	return fake;
}

static void put(struct fake *fake, uint64_t at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fake->data[(at + i) % fake->data_bytes] = ((const uint8_t *)bytes)[i];
}

/* A record whose body's bytes are all `fill`. */
static void write_record(struct fake *fake, uint16_t size, uint8_t fill)
{
	const struct perf_event_header header = {.type = fill, .size = size};
	uint64_t at = fake->page->data_head;
	put(fake, at, &header, sizeof(header));
	for (size_t i = sizeof(header); i < size; i++)
		put(fake, at + i, &fill, 1);
	__atomic_store_n(&fake->page->data_head, at + size, __ATOMIC_RELEASE);
}

static void check_record(const struct perf_event_header *header, uint16_t size, uint8_t fill)
{
	CHECK(header != NULL);
	CHECK_EQ(header->size, size);
	CHECK_EQ(header->type, fill);
	for (size_t i = sizeof(*header); i < size; i++)
		CHECK_EQ(((const uint8_t *)header)[i], fill);
}

static void empty_ring_has_nothing(void)
{
	struct fake fake = fake_new(page_bytes(), 0);
	bool damaged = true;
	ring_refresh(&fake.ring);
	CHECK(ring_peek(&fake.ring, &damaged) == NULL);
	CHECK(!damaged);
	CHECK_EQ(ring_waiting_bytes(&fake.ring), 0);
	ring_unmap(&fake.ring);
	ring_unmap(&fake.ring); /* fine when there is none */
}

/* Positions count on for ever; data wraps. Every 8-aligned place a record can begin at, near 2^64 too. */
static void records_are_whole_at_every_offset(void)
{
	static const uint64_t begins[] = {0, UINT64_MAX - 4095};
	enum { SIZE = 48 };
	for (size_t b = 0; b < 2; b++) {
		for (uint64_t offset = 0; offset < page_bytes(); offset += 8) {
			struct fake fake = fake_new(page_bytes(), begins[b] + offset);
			bool damaged;
			write_record(&fake, SIZE, 1);
			write_record(&fake, 8, 2);
			write_record(&fake, SIZE, 3);
			CHECK(ring_peek(&fake.ring, &damaged) == NULL); /* no head taken yet */
			ring_refresh(&fake.ring);
			CHECK_EQ(ring_waiting_bytes(&fake.ring), 2 * SIZE + 8);
			check_record(ring_peek(&fake.ring, &damaged), SIZE, 1);
			check_record(ring_peek(&fake.ring, &damaged), SIZE, 1); /* not consumed */
			ring_consume(&fake.ring);
			check_record(ring_peek(&fake.ring, &damaged), 8, 2);
			ring_consume(&fake.ring);
			check_record(ring_peek(&fake.ring, &damaged), SIZE, 3);
			ring_consume(&fake.ring);
			CHECK(ring_peek(&fake.ring, &damaged) == NULL);
			CHECK(!damaged);
			CHECK_EQ(fake.page->data_tail, begins[b] + offset);
			ring_publish_tail(&fake.ring);
			CHECK_EQ(fake.page->data_tail, begins[b] + offset + 2 * SIZE + 8);
			ring_unmap(&fake.ring);
		}
	}
}

static void only_a_record_across_the_end_is_copied(void)
{
	struct fake fake = fake_new(page_bytes(), 0);
	bool damaged;
	write_record(&fake, (uint16_t)(page_bytes() - 16), 1);
	ring_refresh(&fake.ring);
	const uint8_t *at = (const uint8_t *)ring_peek(&fake.ring, &damaged);
	CHECK(at == fake.data);
	ring_consume(&fake.ring);
	write_record(&fake, 64, 2);
	ring_refresh(&fake.ring);
	at = (const uint8_t *)ring_peek(&fake.ring, &damaged);
	CHECK(at == fake.ring.scratch);
	ring_unmap(&fake.ring);
}

static void largest_record_fits_into_scratch(void)
{
	enum { LARGEST = 65528 };
	struct fake fake = fake_new(131072, 131072 - 8);
	bool damaged;
	write_record(&fake, LARGEST, 9);
	ring_refresh(&fake.ring);
	check_record(ring_peek(&fake.ring, &damaged), LARGEST, 9);
	ring_unmap(&fake.ring);
}

static void full_ring_is_read(void)
{
	struct fake fake = fake_new(4096, 8);
	bool damaged;
	int nr = 0;
	for (int i = 0; i < 64; i++)
		write_record(&fake, 64, (uint8_t)i);
	ring_refresh(&fake.ring);
	CHECK_EQ(ring_waiting_bytes(&fake.ring), 4096);
	for (const struct perf_event_header *header; (header = ring_peek(&fake.ring, &damaged));
	     nr++) {
		check_record(header, 64, (uint8_t)nr);
		ring_consume(&fake.ring);
	}
	CHECK_EQ(nr, 64);
	ring_unmap(&fake.ring);
}

static void successor_begins_where_the_tail_was(void)
{
	struct fake fake = fake_new(4096, 0);
	bool damaged;
	write_record(&fake, 64, 1);
	write_record(&fake, 64, 2);
	ring_refresh(&fake.ring);
	ring_peek(&fake.ring, &damaged);
	ring_consume(&fake.ring);
	ring_publish_tail(&fake.ring);
	struct ring successor;
	CHECK_EQ(ring_attach(&successor, fake.page, 4096), 0);
	ring_refresh(&successor);
	check_record(ring_peek(&successor, &damaged), 64, 2);
	free(successor.scratch);
	ring_unmap(&fake.ring);
}

/* After damage the ring goes on with what is written next. */
static void check_damage_and_recovery(struct fake *fake)
{
	bool damaged = false;
	ring_refresh(&fake->ring);
	CHECK(ring_peek(&fake->ring, &damaged) == NULL);
	CHECK(damaged);
	CHECK_EQ(ring_waiting_bytes(&fake->ring), 0);
	CHECK(ring_peek(&fake->ring, &damaged) == NULL);
	CHECK(!damaged);
	fake->page->data_head = (fake->page->data_head + 7) & ~UINT64_C(7);
	fake->ring.tail = fake->page->data_head;
	write_record(fake, 64, 5);
	ring_refresh(&fake->ring);
	check_record(ring_peek(&fake->ring, &damaged), 64, 5);
	CHECK(!damaged);
	ring_unmap(&fake->ring);
}

static void lying_sizes_are_damage(void)
{
	static const uint16_t sizes[] = {0, 1, 7, 12, 72, 4096, UINT16_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fake fake = fake_new(4096, 0);
		write_record(&fake, 64, 1);
		const struct perf_event_header lie = {.size = sizes[i]};
		put(&fake, 0, &lie, sizeof(lie));
		check_damage_and_recovery(&fake);
	}
}

static void lying_heads_are_damage(void)
{
	/* Further than the ring is long, behind the tail, not on a record's border. */
	static const uint64_t heads[] = {64 + 8192, 64 - 8, 64 + 4096 + 8, UINT64_MAX, 64 + 4};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct fake fake = fake_new(4096, 64);
		fake.page->data_head = heads[i];
		check_damage_and_recovery(&fake);
	}
}

static void unaligned_tail_is_not_read(void)
{
	struct fake fake = fake_new(4096, 4092);
	fake.page->data_head = 4092 + 64;
	check_damage_and_recovery(&fake);
}

/* A size that changes between looking and consuming moves nothing out of its place. */
static void consuming_goes_by_what_was_peeked(void)
{
	struct fake fake = fake_new(4096, 0);
	bool damaged;
	write_record(&fake, 64, 1);
	write_record(&fake, 64, 2);
	ring_refresh(&fake.ring);
	ring_peek(&fake.ring, &damaged);
	const struct perf_event_header lie = {.size = 12};
	put(&fake, 0, &lie, sizeof(lie));
	ring_consume(&fake.ring);
	check_record(ring_peek(&fake.ring, &damaged), 64, 2);
	ring_unmap(&fake.ring);
}

static void odd_sizes_are_refused(void)
{
	struct ring ring;
	char memory[8];
	CHECK_EQ(ring_attach(&ring, memory, 0), -EINVAL);
	CHECK_EQ(ring_attach(&ring, memory, 4), -EINVAL);
	CHECK_EQ(ring_attach(&ring, memory, 4096 + 8), -EINVAL);
	CHECK_EQ(ring_map(&ring, -1, 0), -EINVAL);
	CHECK_EQ(ring_map(&ring, -1, 3), -EINVAL);
	CHECK_EQ(ring_map(&ring, -1, 4), -EBADF);
	CHECK(ring.page == NULL);
	ring_unmap(&ring);
}

static void what_lies_ahead_is_seen_and_stays(void)
{
	uint64_t word;
	uint32_t type;
	for (uint64_t begin = 0; begin < page_bytes(); begin += 8) {
		struct fake fake = fake_new(page_bytes(), begin);
		write_record(&fake, 48, 1);
		write_record(&fake, 8, 2);
		write_record(&fake, 16, 3);
		CHECK_EQ(ring_look_ahead(&fake.ring, begin, &type, &word),
			 0); /* no head taken yet */
		ring_refresh(&fake.ring);
		CHECK_EQ(ring_look_ahead(&fake.ring, begin, &type, &word), 48);
		CHECK_EQ(type, 1);
		CHECK_EQ(word, UINT64_C(0x0101010101010101));
		CHECK_EQ(ring_look_ahead(&fake.ring, begin + 48, &type, &word), 8);
		CHECK_EQ(word, 0);
		CHECK_EQ(ring_look_ahead(&fake.ring, begin + 56, &type, &word), 16);
		CHECK_EQ(word, UINT64_C(0x0303030303030303));
		CHECK_EQ(ring_look_ahead(&fake.ring, begin + 72, &type, &word), 0);
		CHECK_EQ(ring_waiting_bytes(&fake.ring), 72);
		ring_unmap(&fake.ring);
	}
}

static void sizes_that_lie_end_the_look_ahead(void)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 80, 65528};
	uint64_t word;
	uint32_t type;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fake fake = fake_new(page_bytes(), 0);
		write_record(&fake, 48, 1);
		const struct perf_event_header lie = {.type = 1, .size = sizes[i]};
		put(&fake, 0, &lie, sizeof(lie));
		ring_refresh(&fake.ring);
		CHECK_EQ(ring_look_ahead(&fake.ring, 0, &type, &word), 0);
		CHECK_EQ(ring_look_ahead(&fake.ring, 4, &type, &word), 0);
		CHECK_EQ(ring_look_ahead(&fake.ring, UINT64_MAX - 7, &type, &word), 0);
		ring_unmap(&fake.ring);
	}
}

int main(void)
{
	RUN(empty_ring_has_nothing);
	RUN(records_are_whole_at_every_offset);
	RUN(only_a_record_across_the_end_is_copied);
	RUN(largest_record_fits_into_scratch);
	RUN(full_ring_is_read);
	RUN(successor_begins_where_the_tail_was);
	RUN(lying_sizes_are_damage);
	RUN(lying_heads_are_damage);
	RUN(unaligned_tail_is_not_read);
	RUN(consuming_goes_by_what_was_peeked);
	RUN(odd_sizes_are_refused);
	RUN(what_lies_ahead_is_seen_and_stays);
	RUN(sizes_that_lie_end_the_look_ahead);
	return test_done();
}
