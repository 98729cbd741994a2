/* SPDX-License-Identifier: MIT */
#include <ctop/store/wait_ring.h>

#include <errno.h>
#include <string.h>
#include <asm/perf_regs.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared_memory.h"

#define DATA_BYTES ((uint64_t)WAIT_RING_PAGES * SHARED_PAGE_BYTES)
/* For records without a copy: a stack may be missing, not how long somebody waited. */
#define KEPT_BYTES (DATA_BYTES / 8)

int wait_ring_open(struct wait_ring *ring)
{
	void *memory;
	*ring = (struct wait_ring){
		.fd = shared_memory_new("ctop-waits", SHARED_PAGE_BYTES + DATA_BYTES)};
	if (ring->fd < 0)
		return ring->fd;
	const int result =
		shared_memory_map(ring->fd, SHARED_PAGE_BYTES + DATA_BYTES, true, &memory);
	if (result) {
		close(ring->fd);
		ring->fd = -1;
		return result;
	}
	ring->page = memory;
	ring->data = (uint8_t *)memory + SHARED_PAGE_BYTES;
	return 0;
}

void wait_ring_close(struct wait_ring *ring)
{
	if (ring->page)
		munmap(ring->page, SHARED_PAGE_BYTES + DATA_BYTES);
	if (ring->page)
		close(ring->fd);
	*ring = (struct wait_ring){.fd = -1};
}

/* Ahead of the registers that are known. */
enum { HEAD_BYTES = offsetof(struct wait_record, regs) };

static size_t regs_bytes(uint64_t mask)
{
	return sizeof(uint64_t) * (size_t)__builtin_popcountll(mask);
}

static size_t record_bytes(uint64_t regs_mask, size_t stack_bytes)
{
	return HEAD_BYTES + regs_bytes(regs_mask) + ((stack_bytes + 7) & ~(size_t)7);
}

bool wait_ring_has_room(const struct wait_ring *ring, size_t stack_bytes)
{
	if (!ring->page || stack_bytes > WAIT_STACK_BYTES_MAX)
		return false;
	/* A tail that makes no sense is none that room may be made of. */
	const uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
	const uint64_t used = ring->head - tail;
	const size_t size = record_bytes(UINT64_MAX, stack_bytes);
	return used <= DATA_BYTES && DATA_BYTES - used >= size + (stack_bytes ? KEPT_BYTES : 0);
}

static void put_bytes(struct wait_ring *ring, uint64_t position, const void *bytes, size_t size)
{
	const uint64_t at = position & (DATA_BYTES - 1);
	const size_t first = size < DATA_BYTES - at ? size : (size_t)(DATA_BYTES - at);
	memcpy(ring->data + at, bytes, first);
	memcpy(ring->data, (const uint8_t *)bytes + first, size - first);
}

bool wait_ring_put(struct wait_ring *ring, const struct wait_record *record, const void *stack)
{
	struct wait_record whole = *record;
	const size_t size = record_bytes(record->regs_mask, record->stack_bytes);
	const size_t head_bytes = HEAD_BYTES + regs_bytes(record->regs_mask);
	if (!wait_ring_has_room(ring, record->stack_bytes))
		return false;
	whole.header.size = (uint16_t)size;
	for (unsigned i = 0, nr = 0; i < RECORD_MAX_REGS; i++)
		if (record->regs_mask >> i & 1)
			whole.regs[nr++] = record->regs[i];
	put_bytes(ring, ring->head, &whole, head_bytes);
	if (record->stack_bytes)
		put_bytes(ring, ring->head + head_bytes, stack, record->stack_bytes);
	/* The record is whole before it can be seen. */
	ring->head += size;
	__atomic_store_n(&ring->page->data_head, ring->head, __ATOMIC_RELEASE);
	return true;
}

#if defined(__x86_64__)
enum { SP = PERF_REG_X86_SP, PC = PERF_REG_X86_IP };
#elif defined(__aarch64__)
enum { SP = PERF_REG_ARM64_SP, PC = PERF_REG_ARM64_PC };
#endif

bool wait_record_take_sample(struct wait_record *record, const struct record_sample *sample,
			     const uint8_t **stack)
{
	static const uint64_t needed = UINT64_C(1) << SP | UINT64_C(1) << PC;
	if (sample->regs_abi != PERF_SAMPLE_REGS_ABI_64 || (sample->regs_mask & needed) != needed)
		return false;
	record->sp = sample->regs[SP];
	record->pc = sample->regs[PC];
	record->regs_mask = sample->regs_mask & ~needed;
	memcpy(record->regs, sample->regs, sizeof(record->regs));
	*stack = sample->stack;
	record->stack_bytes = sample->stack_bytes < WAIT_STACK_BYTES_MAX ? sample->stack_bytes
									 : WAIT_STACK_BYTES_MAX;
	return true;
}

int wait_record_parse(const void *bytes, size_t size, struct wait_record *record,
		      const uint8_t **stack)
{
	const uint8_t *regs = (const uint8_t *)bytes + HEAD_BYTES;
	if (size < HEAD_BYTES)
		return -EINVAL;
	*record = (struct wait_record){0};
	memcpy(record, bytes, HEAD_BYTES);
	record->name[sizeof(record->name) - 1] = '\0';
	record->reason[sizeof(record->reason) - 1] = '\0';
	const uint32_t type = record->header.type;
	const bool is_wakeup = type == WAIT_RECORD_WAKEUP;
	const bool has_stack = is_wakeup ? record->waker_pid > 0 && record->waker_tid > 0
					 : type == WAIT_RECORD_STACK;
	if ((!has_stack && !is_wakeup && type != WAIT_RECORD_TIME) ||
	    (is_wakeup && record->goroutine) || record->header.size != size ||
	    record->kind >= NR_WAIT_KINDS || record->place >= NR_WAIT_PLACES ||
	    !(record->goroutine ? is_goroutine(record->tid) : record->tid > 0) ||
	    record->pid <= 0 || record->stack_bytes > WAIT_STACK_BYTES_MAX ||
	    record_bytes(record->regs_mask, record->stack_bytes) != size ||
	    (!has_stack && (record->stack_bytes || record->regs_mask)))
		return -EINVAL;
	for (unsigned i = 0; i < RECORD_MAX_REGS; i++) {
		if (!(record->regs_mask >> i & 1))
			continue;
		memcpy(&record->regs[i], regs, sizeof(record->regs[i]));
		regs += sizeof(record->regs[i]);
	}
	*stack = regs;
	return 0;
}
