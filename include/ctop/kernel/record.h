/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_RECORD_H
#define CTOP_KERNEL_RECORD_H

/*
 * perf records, bytes to struct. Pure: no descriptors, no state; sizes are
 * checked against the record's own length, so that a lying record gives -EINVAL.
 * Layout: perf_event_open(2) and linux/perf_event.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

/* Which fields the records of one ring or file have. */
struct record_format {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t regs_user;   /* mask */
	uint64_t branch_type; /* of PERF_SAMPLE_BRANCH_STACK */
	bool sample_id_all;
	bool inodes_only; /* nobody asked for build-ids: MMAP2 has device and inode, whatever its flag says */
};

enum { RECORD_MAX_REGS = 64 };

struct record_sample {
	uint64_t ip;
	uint64_t period;
	/* Callchain with PERF_CONTEXT_ markers; 8-aligned; NULL when nr_chain is 0. */
	const uint64_t *chain;
	uint64_t nr_chain;
	const uint8_t *raw; /* into the record: of PERF_SAMPLE_RAW */
	uint32_t raw_bytes;
	uint64_t regs_abi;		/* PERF_SAMPLE_REGS_ABI_* */
	uint64_t regs[RECORD_MAX_REGS]; /* by perf's register number */
	uint64_t regs_mask;
	const uint8_t *stack; /* into the record */
	uint64_t stack_bytes; /* dyn_size: what was really copied */
	uint64_t stack_asked; /* the size in the record */
};

struct record_mmap {
	uint64_t start, length, file_offset;
	bool executable, shared;
	uint32_t device_major, device_minor;
	uint64_t inode, generation;
	uint8_t build_id[20];
	uint32_t build_id_size; /* nonzero: instead of device and inode */
	const char *path;	/* NUL-terminated, inside the record */
};

/* Samples of sched:sched_waking, of sched:sched_switch where a thread begins to wait, and of raw_syscalls, which main alone has. */
enum { RECORD_WAKING = 0x2000, RECORD_SWITCHED_OUT, RECORD_SYSTEM_CALL, RECORD_CALLS_LOST };

struct record {
	uint32_t type; /* PERF_RECORD_*, or RECORD_WAKING */
	uint16_t misc;
	uint16_t size;
	/* From the sample or the sample_id trailer; 0 / -1 when the format has none. */
	uint64_t time_ns;
	uint64_t id;
	int32_t pid, tid;
	uint32_t cpu;
	union {
		struct record_sample sample;
		struct record_mmap mmap; /* MMAP and MMAP2 */
		struct {
			const char *name;
			bool exec;
		} comm;
		struct {
			int32_t parent_pid, parent_tid;
		} fork;	       /* FORK and EXIT; the task itself in pid, tid */
		uint64_t lost; /* LOST and LOST_SAMPLES: how many */
		struct {
			bool out, preempted;
		} switched; /* SWITCH */
	};
	struct {
		int32_t tid;
		bool by_interrupt; /* pid and tid are of whom that came upon */
	} waking; /* RECORD_WAKING, beside what else the sample has: by pid and tid */
	struct {
		int64_t number;
		bool is_over; /* it returns */
	} call;		      /* RECORD_SYSTEM_CALL, the same */
};

/*
 * Parses one whole record (header included; contiguous). 0; -EINVAL when it
 * contradicts its own size; -ENOTSUP for a type that ctop does not read (skip it by its size).
 * Pointers in *record borrow from bytes.
 */
int record_parse(const void *bytes, size_t size, const struct record_format *format,
		 struct record *record);

/* The time of a record without parsing the rest; 0 when the format has no time. -EINVAL as above. */
int record_time(const void *bytes, size_t size, const struct record_format *format,
		uint64_t *time_ns);

/* Whose a sample is. -EINVAL: it is none that says so. */
int record_task(const void *bytes, size_t size, const struct record_format *format, int32_t *pid,
		int32_t *tid);

#endif
