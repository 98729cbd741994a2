/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/perf/record.h>
#include <ctop/perf/ring.h>

#include "test.h"

/* Records built by hand, field by field, as perf_event_open(2) lays them out. */
struct builder {
	uint8_t bytes[4096] __attribute__((aligned(8)));
	size_t size;
};

static void put(struct builder *builder, const void *bytes, size_t size)
{
	memcpy(builder->bytes + builder->size, bytes, size);
	builder->size += size;
}

static void put_u64(struct builder *builder, uint64_t value)
{
	put(builder, &value, sizeof(value));
}

static void put_pair(struct builder *builder, uint32_t a, uint32_t b)
{
	put(builder, &a, sizeof(a));
	put(builder, &b, sizeof(b));
}

static void begin(struct builder *builder, uint32_t type, uint16_t misc)
{
	const struct perf_event_header header = {.type = type, .misc = misc};
	builder->size = 0;
	put(builder, &header, sizeof(header));
}

static void end(struct builder *builder)
{
	((struct perf_event_header *)(void *)builder->bytes)->size = (uint16_t)builder->size;
}

static const struct record_format format = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
		       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
		       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.regs_user = 0x1 | 0x100,
	.sample_id_all = true,
};

enum { STACK_ASKED = 64, STACK_COPIED = 40 };

static void build_sample(struct builder *builder)
{
	begin(builder, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(builder, 7);	      /* identifier */
	put_u64(builder, 0x401000);   /* ip */
	put_pair(builder, 100, 101);  /* pid, tid */
	put_u64(builder, 5000000000); /* time */
	put_pair(builder, 3, 0);      /* cpu */
	put_u64(builder, 1000);	      /* period */
	put_u64(builder, 2);	      /* callchain */
	put_u64(builder, PERF_CONTEXT_KERNEL);
	put_u64(builder, 0xffffffff81000000);
	put_u64(builder, PERF_SAMPLE_REGS_ABI_64);
	put_u64(builder, 0xa0); /* register 0 */
	put_u64(builder, 0xa8); /* register 8 */
	put_u64(builder, STACK_ASKED);
	uint8_t stack[STACK_ASKED];
	memset(stack, 0x5a, sizeof(stack));
	put(builder, stack, sizeof(stack));
	put_u64(builder, STACK_COPIED);
	end(builder);
}

static void put_trailer(struct builder *builder)
{
	put_pair(builder, 100, 101);
	put_u64(builder, 6000000000);
	put_pair(builder, 2, 0);
	put_u64(builder, 7);
}

static int parse(const struct builder *builder, struct record *record)
{
	return record_parse(builder->bytes, builder->size, &format, record);
}

static void a_sample_is_read(void)
{
	struct builder builder;
	struct record record;
	uint64_t time_ns;
	build_sample(&builder);
	CHECK_EQ(parse(&builder, &record), 0);
	CHECK_EQ(record.id, 7);
	CHECK_EQ(record.pid, 100);
	CHECK_EQ(record.tid, 101);
	CHECK_EQ(record.cpu, 3);
	CHECK_EQ(record.time_ns, 5000000000);
	CHECK_EQ(record.sample.ip, 0x401000);
	CHECK_EQ(record.sample.period, 1000);
	CHECK_EQ(record.sample.nr_chain, 2);
	CHECK_EQ(record.sample.chain[1], 0xffffffff81000000);
	CHECK_EQ(record.sample.regs[0], 0xa0);
	CHECK_EQ(record.sample.regs[8], 0xa8);
	CHECK_EQ(record.sample.stack_bytes, STACK_COPIED);
	CHECK_EQ(record.sample.stack[0], 0x5a);
	CHECK_EQ(record_time(builder.bytes, builder.size, &format, &time_ns), 0);
	CHECK_EQ(time_ns, 5000000000);
}

/* Whatever a word says, a record is never read beyond its size. (ASan watches, as the copy is exact.) */
static void a_lying_sample_is_refused_or_harmless(void)
{
	static const uint64_t lies[] = {0, 1, 8, 1000, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8};
	struct builder builder;
	build_sample(&builder);
	for (size_t at = 8; at < builder.size; at += 8)
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			uint64_t *exact = malloc(builder.size);
			struct record record;
			CHECK(exact != NULL);
			memcpy(exact, builder.bytes, builder.size);
			exact[at / 8] = lies[i];
			int result = record_parse(exact, builder.size, &format, &record);
			CHECK(result == 0 || result == -EINVAL);
			if (!result)
				CHECK(record.sample.stack_bytes <= record.sample.stack_asked);
			free(exact);
		}
}

static void every_cut_is_refused(void)
{
	struct builder builder;
	struct record record;
	build_sample(&builder);
	size_t whole = builder.size;
	for (builder.size = 8; builder.size < whole; builder.size += 8) {
		end(&builder);
		CHECK_EQ(parse(&builder, &record), -EINVAL);
	}
	CHECK_EQ(record_parse(builder.bytes, 4, &format, &record), -EINVAL);
}

static void a_mapping_with_an_inode(void)
{
	struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	put_pair(&builder, 100, 101);
	put_u64(&builder, 0x7f0000000000);
	put_u64(&builder, 0x2000);
	put_u64(&builder, 0x1000);
	put_pair(&builder, 8, 1);
	put_u64(&builder, 4711);
	put_u64(&builder, 99);
	put_pair(&builder, 5, 2);
	put(&builder, "/lib/x.so\0\0\0\0\0\0", 16);
	put_trailer(&builder);
	end(&builder);
	CHECK_EQ(parse(&builder, &record), 0);
	CHECK_EQ(record.mmap.start, 0x7f0000000000);
	CHECK_EQ(record.mmap.inode, 4711);
	CHECK_EQ(record.mmap.build_id_size, 0);
	CHECK(record.mmap.executable);
	CHECK_STR(record.mmap.path, "/lib/x.so");
	CHECK_EQ(record.time_ns, 6000000000);
	CHECK_EQ(record.cpu, 2);
}

static void a_path_without_an_end_is_refused(void)
{
	struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_COMM, 0);
	put_pair(&builder, 100, 101);
	put(&builder, "12345678", 8);
	put_trailer(&builder);
	end(&builder);
	/* The trailer's bytes must not be taken for the string's end. */
	CHECK_EQ(parse(&builder, &record), -EINVAL);
}

static void tasks_come_and_go(void)
{
	struct builder builder;
	struct record record;
	begin(&builder, PERF_RECORD_FORK, 0);
	put_pair(&builder, 200, 100); /* pid, parent */
	put_pair(&builder, 201, 101); /* tid, parent's */
	put_u64(&builder, 1);
	put_trailer(&builder);
	end(&builder);
	CHECK_EQ(parse(&builder, &record), 0);
	CHECK_EQ(record.fork.parent_pid, 100);
	CHECK_EQ(record.fork.parent_tid, 101);
	begin(&builder, PERF_RECORD_LOST, 0);
	put_u64(&builder, 7);
	put_u64(&builder, 55);
	put_trailer(&builder);
	end(&builder);
	CHECK_EQ(parse(&builder, &record), 0);
	CHECK_EQ(record.lost, 55);
	begin(&builder, 4242, 0);
	end(&builder);
	CHECK_EQ(parse(&builder, &record), -ENOTSUP);
}

/* ---- the ring, on memory that looks like the kernel's ---- */

enum { RING_BYTES = 4096 };

static struct perf_event_mmap_page *fake_ring(struct ring *ring)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK_EQ(ring_attach(ring, memory, RING_BYTES), 0);
	return memory;
}

static void write_at_head(struct perf_event_mmap_page *page, const struct builder *builder)
{
	uint8_t *data = (uint8_t *)page + sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < builder->size; i++)
		data[(page->data_head + i) % RING_BYTES] = builder->bytes[i];
	page->data_head += builder->size;
}

static void a_record_may_cross_the_end_anywhere(void)
{
	struct builder builder;
	build_sample(&builder);
	for (uint64_t start = RING_BYTES - builder.size; start <= RING_BYTES; start += 8) {
		struct ring ring;
		struct perf_event_mmap_page *page = fake_ring(&ring);
		bool damaged;
		page->data_head = page->data_tail = start;
		ring.tail = ring.head = start;
		write_at_head(page, &builder);
		ring_refresh(&ring);
		const struct perf_event_header *record = ring_peek(&ring, &damaged);
		CHECK(record && !damaged);
		CHECK_EQ(memcmp(record, builder.bytes, builder.size), 0);
		ring_consume(&ring);
		CHECK(!ring_peek(&ring, &damaged) && !damaged);
		CHECK_EQ(page->data_tail, start);
		ring_publish_tail(&ring);
		CHECK_EQ(page->data_tail, start + builder.size);
		ring_unmap(&ring);
	}
}

static void a_bad_size_is_damage_and_passed(void)
{
	static const uint16_t sizes[] = {0, 4, 7, 12, 4096, 65528};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ring ring;
		struct perf_event_mmap_page *page = fake_ring(&ring);
		struct builder builder;
		bool damaged;
		build_sample(&builder);
		((struct perf_event_header *)(void *)builder.bytes)->size = sizes[i];
		write_at_head(page, &builder);
		ring_refresh(&ring);
		CHECK(!ring_peek(&ring, &damaged));
		CHECK(damaged);
		CHECK_EQ(ring_waiting_bytes(&ring), 0);
		ring_unmap(&ring);
	}
}

static void a_successor_goes_on_at_the_published_tail(void)
{
	struct ring ring, successor;
	struct perf_event_mmap_page *page = fake_ring(&ring);
	struct builder builder;
	bool damaged;
	build_sample(&builder);
	write_at_head(page, &builder);
	write_at_head(page, &builder);
	ring_refresh(&ring);
	CHECK(ring_peek(&ring, &damaged));
	ring_consume(&ring);
	ring_publish_tail(&ring);
	CHECK_EQ(ring_attach(&successor, page, RING_BYTES), 0);
	ring_refresh(&successor);
	CHECK_EQ(ring_waiting_bytes(&successor), builder.size);
	free(successor.scratch);
	ring_unmap(&ring);
}

int main(void)
{
	RUN(a_sample_is_read);
	RUN(a_lying_sample_is_refused_or_harmless);
	RUN(every_cut_is_refused);
	RUN(a_mapping_with_an_inode);
	RUN(a_path_without_an_end_is_refused);
	RUN(tasks_come_and_go);
	RUN(a_record_may_cross_the_end_anywhere);
	RUN(a_bad_size_is_damage_and_passed);
	RUN(a_successor_goes_on_at_the_published_tail);
	return test_done();
}
