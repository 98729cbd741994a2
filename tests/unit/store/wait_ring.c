/* SPDX-License-Identifier: MIT */
/* Records of waits: written by main, read as a ring of the kernel's, and whatever the other side may do to it. */
#include <ctop/store/wait_ring.h>

#include <errno.h>
#include <string.h>

#include <ctop/kernel/ring.h>

#include "test.h"

/* A record without registers and copy. */
enum { HEAD_BYTES = offsetof(struct wait_record, regs) };

static struct wait_ring writer;
static struct ring reader;
static uint8_t stack[WAIT_STACK_BYTES_MAX];

static void begin(void)
{
	CHECK_EQ(wait_ring_open(&writer), 0);
	CHECK_EQ(ring_map(&reader, writer.fd, WAIT_RING_PAGES), 0);
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 7);
}

static void end(void)
{
	ring_unmap(&reader);
	wait_ring_close(&writer);
}

static struct wait_record record_of(size_t stack_bytes, uint64_t time_ns)
{
	return (struct wait_record){
		.header = {.type = stack_bytes ? WAIT_RECORD_STACK : WAIT_RECORD_TIME},
		.time_ns = time_ns,
		.pid = 7,
		.tid = 8,
		.kind = WAIT_LOCK,
		.sp = 0x7000,
		.pc = 0x4000,
		.ns = 5,
		.name = "name",
		.stack_bytes = stack_bytes,
	};
}

static void check_next(size_t stack_bytes, uint64_t time_ns)
{
	struct wait_record record;
	const uint8_t *copy;
	bool damaged;
	ring_refresh(&reader);
	const struct perf_event_header *next = ring_peek(&reader, &damaged);
	CHECK(next != NULL && !damaged);
	CHECK_EQ(wait_record_parse(next, next->size, &record, &copy), 0);
	CHECK_EQ(record.time_ns, time_ns);
	CHECK_EQ(record.stack_bytes, stack_bytes);
	CHECK_STR(record.name, "name");
	CHECK(memcmp(copy, stack, stack_bytes) == 0);
	ring_consume(&reader);
	ring_publish_tail(&reader);
}

/* More than the ring is long, so that records lie across its end. */
static void goes_round(void)
{
	static const size_t sizes[] = {0, 1, 8, 4095, WAIT_STACK_BYTES_MAX, 0, 12345};
	begin();
	for (uint64_t i = 1; i < 1000; i++) {
		const size_t size = sizes[i % (sizeof(sizes) / sizeof(*sizes))];
		const struct wait_record record = record_of(size, i);
		CHECK(wait_ring_put(&writer, &record, stack));
		check_next(size, i);
	}
	end();
}

static void full(void)
{
	const struct wait_record record = record_of(WAIT_STACK_BYTES_MAX, 1);
	size_t nr = 0;
	begin();
	while (wait_ring_put(&writer, &record, stack))
		nr++;
	CHECK(nr > 10 && !wait_ring_has_room(&writer, WAIT_STACK_BYTES_MAX));
	/* How long they waited is told all the same. */
	const struct wait_record time = record_of(0, 1);
	for (int i = 0; i < 256; i++)
		CHECK(wait_ring_put(&writer, &time, NULL));
	for (; nr; nr--)
		check_next(WAIT_STACK_BYTES_MAX, 1);
	CHECK(wait_ring_put(&writer, &record, stack));
	end();
}

static struct record_sample sample_of(uint64_t stack_bytes)
{
	struct record_sample sample = {
		.regs_abi = PERF_SAMPLE_REGS_ABI_64,
		.regs_mask = UINT64_MAX,
		.stack = stack,
		.stack_bytes = stack_bytes,
		.stack_asked = stack_bytes,
	};
	for (unsigned i = 0; i < RECORD_MAX_REGS; i++)
		sample.regs[i] = 1000 + i;
	return sample;
}

/* As many registers as there can be, a few, none: all that is beside them stays where it belongs. */
static void registers_go_along(void)
{
	static const uint64_t masks[] = {UINT64_MAX, 0xff0fff, UINT64_C(1) << 63, 0};
	begin();
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		struct wait_record record = record_of(8, 1), parsed;
		const struct record_sample sample = sample_of(0);
		const uint8_t *copy;
		bool damaged;
		record.regs_mask = masks[i];
		memcpy(record.regs, sample.regs, sizeof(record.regs));
		CHECK(wait_ring_put(&writer, &record, stack));
		ring_refresh(&reader);
		const struct perf_event_header *next = ring_peek(&reader, &damaged);
		CHECK(next != NULL);
		CHECK_EQ(wait_record_parse(next, next->size, &parsed, &copy), 0);
		for (unsigned nr = 0; nr < RECORD_MAX_REGS; nr++)
			CHECK_EQ(parsed.regs[nr], masks[i] >> nr & 1 ? 1000 + nr : 0);
		CHECK_EQ(parsed.pc, 0x4000);
		CHECK(memcmp(copy, stack, 8) == 0);
		ring_consume(&reader);
	}
	end();
}

static void samples_become_stacks(void)
{
	struct wait_record record = record_of(8, 1);
	const uint8_t *copy = NULL;
	struct record_sample sample = sample_of(40);
	CHECK(wait_record_take_sample(&record, &sample, &copy));
	CHECK(copy == stack);
	CHECK_EQ(record.stack_bytes, 40);
	/* The stack pointer and the pc are told once. */
	CHECK_EQ(__builtin_popcountll(record.regs_mask), 62);
	CHECK(record.sp >= 1000 && !(record.regs_mask >> (record.sp - 1000) & 1));
	CHECK(record.pc >= 1000 && !(record.regs_mask >> (record.pc - 1000) & 1));
	sample = sample_of(UINT64_MAX);
	CHECK(wait_record_take_sample(&record, &sample, &copy));
	CHECK_EQ(record.stack_bytes, WAIT_STACK_BYTES_MAX);
	sample.regs_abi = PERF_SAMPLE_REGS_ABI_32;
	CHECK(!wait_record_take_sample(&record, &sample, &copy));
	sample = sample_of(40);
	sample.regs_mask = 1;
	CHECK(!wait_record_take_sample(&record, &sample, &copy));
}

/* The reader writes the tail: whatever it writes, nothing is written that is not its memory, nor over what it has not read. */
static void tails_that_make_no_sense(void)
{
	static const uint64_t tails[] = {1, UINT64_MAX / 2, 1 << 30};
	const struct wait_record record = record_of(64, 1);
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		begin();
		writer.page->data_tail = tails[i];
		CHECK(!wait_ring_put(&writer, &record, stack));
		end();
	}
}

static void heads_that_make_no_sense(void)
{
	const struct wait_record record = record_of(64, 1);
	begin();
	CHECK(wait_ring_put(&writer, &record, stack));
	writer.page->data_head = UINT64_MAX / 2;
	CHECK(wait_ring_put(&writer, &record, stack));
	check_next(64, 1);
	check_next(64, 1);
	end();
}

static void too_large(void)
{
	struct wait_record record = record_of(64, 1);
	begin();
	record.stack_bytes = WAIT_STACK_BYTES_MAX + 1;
	CHECK(!wait_ring_put(&writer, &record, stack));
	record.stack_bytes = SIZE_MAX;
	CHECK(!wait_ring_put(&writer, &record, stack));
	end();
}

static void nonsense_is_refused(void)
{
	struct wait_record parsed;
	const uint8_t *copy;
	struct wait_record good = record_of(0, 1);
	good.header.size = HEAD_BYTES;
	CHECK_EQ(wait_record_parse(&good, HEAD_BYTES, &parsed, &copy), 0);
	CHECK_EQ(wait_record_parse(&good, HEAD_BYTES - 1, &parsed, &copy), -EINVAL);
	CHECK_EQ(wait_record_parse(&good, 8, &parsed, &copy), -EINVAL);
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		struct wait_record bad = good;                                                     \
		bad.field = (value);                                                               \
		CHECK_EQ(wait_record_parse(&bad, HEAD_BYTES, &parsed, &copy), -EINVAL);            \
	} while (0)
	REFUSED(header.type, PERF_RECORD_SAMPLE);
	REFUSED(header.size, HEAD_BYTES + 8);
	REFUSED(kind, NR_WAIT_KINDS);
	REFUSED(place, NR_WAIT_PLACES);
	REFUSED(pid, 0);
	REFUSED(tid, -1);
	REFUSED(tid, tid_of_goroutine(1));
	REFUSED(goroutine, 1);
	REFUSED(stack_bytes, 8);
	REFUSED(stack_bytes, UINT64_MAX);
	REFUSED(regs_mask, 1);
	struct wait_record parked = good;
	parked.goroutine = 17;
	parked.tid = tid_of_goroutine(17);
	memset(parked.reason, 'x', sizeof(parked.reason));
	CHECK_EQ(wait_record_parse(&parked, HEAD_BYTES, &parsed, &copy), 0);
	CHECK_EQ(strlen(parsed.reason), sizeof(parsed.reason) - 1);
	CHECK_EQ(goroutine_of_tid(parsed.tid), 17);
	struct wait_record endless = good;
	memset(endless.name, 'x', sizeof(endless.name));
	CHECK_EQ(wait_record_parse(&endless, HEAD_BYTES, &parsed, &copy), 0);
	CHECK_EQ(strlen(parsed.name), sizeof(parsed.name) - 1);
}

/* Registers and a stack are a waker's, of whom it is said who that is. */
static void wakeups(void)
{
	struct wait_record record = record_of(64, 1), parsed;
	const uint8_t *copy;
	bool damaged;
	begin();
	record.header.type = WAIT_RECORD_WAKEUP;
	record.waker_pid = 9;
	record.waker_tid = 10;
	record.regs_mask = 1 << 6;
	record.regs[6] = 66;
	CHECK(wait_ring_put(&writer, &record, stack));
	record.waker_tid = 0;
	CHECK(wait_ring_put(&writer, &record, stack));
	record.regs_mask = 0;
	record.stack_bytes = 0;
	CHECK(wait_ring_put(&writer, &record, NULL));
	record.goroutine = 17;
	record.tid = tid_of_goroutine(17);
	CHECK(wait_ring_put(&writer, &record, NULL));
	static const int wanted[] = {0, -EINVAL, 0, -EINVAL};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		ring_refresh(&reader);
		const struct perf_event_header *next = ring_peek(&reader, &damaged);
		CHECK(next != NULL && !damaged);
		CHECK_EQ(wait_record_parse(next, next->size, &parsed, &copy), wanted[i]);
		if (i == 0)
			CHECK(parsed.waker_pid == 9 && parsed.waker_tid == 10 &&
			      parsed.regs[6] == 66 && memcmp(copy, stack, 64) == 0);
		ring_consume(&reader);
	}
	end();
}

int main(void)
{
	RUN(goes_round);
	RUN(full);
	RUN(registers_go_along);
	RUN(samples_become_stacks);
	RUN(tails_that_make_no_sense);
	RUN(heads_that_make_no_sense);
	RUN(too_large);
	RUN(nonsense_is_refused);
	RUN(wakeups);
	return test_done();
}
