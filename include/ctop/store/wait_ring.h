/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_WAIT_RING_H
#define CTOP_STORE_WAIT_RING_H

/*
 * Where threads wait, from main to the collector: a ring in shared memory that looks like the kernel's (kernel/ring.h), with records of
 * its own in the order of time. Main writes records and the head, the collector reads them and writes the tail; each treats what the
 * other writes as input. What a copy of a stack holds is the target's.
 *
 *     STACK  pid, tid, kind, registers, copy    where the thread was seen waiting, or was when it began to wait
 *     TIME   pid, tid, ns, place                so long it waited, and where
 *     WAKEUP pid, tid, ns, registers, copy      so long it had waited when it was woken, and where its waker was
 *
 * Records of a parked goroutine have a tid that is none (goroutine_of_tid()), by which it is shown: several may have the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include <ctop/goroutine.h>
#include <ctop/kernel/record.h>
#include <ctop/wait_kind.h>

enum wait_record_type { WAIT_RECORD_STACK = 0x1000, WAIT_RECORD_TIME, WAIT_RECORD_WAKEUP };

enum wait_place {
	WAIT_AT_LAST,	/* at the thread's last STACK */
	WAIT_AT_BEFORE, /* at the one before */
	WAIT_UNPLACED,	/* nobody knows */
	WAIT_FOR_CPU,	/* it did not wait: it wanted a CPU and had none */
	NR_WAIT_PLACES
};

struct wait_record {
	struct perf_event_header header; /* type: enum wait_record_type */
	uint64_t time_ns;		 /* when it was written; CLOCK_MONOTONIC */
	int32_t pid, tid;
	uint32_t kind;	/* STACK: enum wait_kind */
	uint32_t place; /* enum wait_place; STACK: the last one, or in place of the one before */
	uint32_t again; /* STACK: 1: of the same wait as the last one, which it replaces */
	uint32_t reserved;
	int32_t waker_pid,
		waker_tid; /* WAKEUP: 0: it is none of the target's threads, and has no registers */
	uint64_t ns,
		until_ns; /* TIME, WAKEUP: so long, up to then, which may be before time_ns; STACK, of a sample: when that was taken */
	char name
		[16]; /* TIME, WAKEUP: the thread's; the collector does not know it of one that has ended. "": nor does main */
	uint64_t sp, pc; /* STACK, WAKEUP; 0: nobody may see them, or it has none */
	uint64_t
		goroutine; /* the number of its descriptor, + 1, which dead ones leave to others; 0: it is a thread's */
	uint64_t
		creator_pc; /* STACK, of a goroutine: where the go statement returned to that began it; 0: not known */
	char reason
		[32]; /* STACK, of a goroutine: what it waits for, in Go's words; WAKEUP: "woken by NAME" */
	uint64_t
		stack_bytes; /* STACK, WAKEUP: of the copy from sp on that follows, padded to whole words */
	uint64_t
		regs_mask; /* the same: registers that are known beside sp and pc; a look knows none */
	uint64_t regs
		[RECORD_MAX_REGS]; /* by perf's number; in the ring there are those of the mask alone */
};

enum { WAIT_STACK_BYTES_MAX = (64 << 10) - 1024 };

struct wait_ring {
	int fd; /* sealed memory; -1: there is none */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t head; /* what the page says of it anyone may have written who has the page */
};

/* Pages of records behind the first page. */
enum { WAIT_RING_PAGES = 256 };

/* 0 or -errno. */
int wait_ring_open(struct wait_ring *ring);
void wait_ring_close(struct wait_ring *ring);
/* Whether a record with a copy of that many bytes fits in: those without one have an eighth of the ring to themselves. */
bool wait_ring_has_room(const struct wait_ring *ring, size_t stack_bytes);
/* Writes one, with its copy if it has one. False: there was no room. */
bool wait_ring_put(struct wait_ring *ring, const struct wait_record *record, const void *stack);

/*
 * Registers and copy of a sample of the kernel's into a STACK or WAKEUP: *stack is inside of the sample, and cut to what fits in. False: the sample has no registers of a
 * 64-bit program.
 */
bool wait_record_take_sample(struct wait_record *record, const struct record_sample *sample,
			     const uint8_t **stack);

/* The reader's side: a record in one piece. 0, -EINVAL when it contradicts itself. *stack is inside of it. */
int wait_record_parse(const void *bytes, size_t size, struct wait_record *record,
		      const uint8_t **stack);

#endif
