/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_TABLES_H
#define CTOP_STORE_TABLES_H

/*
 * The profile: append-only tables and a ring of samples, shared from a jailed
 * child (the one writer) to main and the symbolizer (readers).
 *
 *      strings   bytes; a string_id is the offset of its NUL-terminated bytes / 4 (4-aligned)
 *      metadata     facts about the run: key string -> value string; the last row of a key holds
 *      events    what was sampled
 *      modules   files, the kernel, the vdso, a process's code without a file
 *      tasks     one row per (pid, tid, comm, start of the process); where a thread has one, its process's main thread has
 *      frames    (module, look-up address)
 *      nodes     stack tree: (parent node, call-site frame, method)
 *      samples   a ring
 *
 * A stack is one node (its callers, root first along the parents) plus the leaf
 * frame of the sample. Kernel frames come after user frames: the leaf of a sample
 * taken in the kernel is a kernel frame.
 *
 * All of it lives in one region: a sparse memfd that main creates at its full
 * size and seals (SHRINK, GROW, SEAL), so that a child cannot cut it under
 * main's feet. Nobody resizes or remaps. A region is one *epoch*: when a table
 * fills, the writer says so (-ENOSPC), is given a fresh region, and ids start
 * again. Lengths are published last with release order; a reader acquires them.
 *
 * Readers treat every byte as input: ids are checked against the length that
 * was acquired where they are read, strings end inside the table or are "".
 * A region may also be backed by plain memory (tests, and main for a recording of a selection).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/module_identity.h>
#include <ctop/stack_end.h>
#include <ctop/weight_unit.h>

struct event_row {
	struct string_id name;	/* as opened, e.g. "cpu-clock" or "cycles:u" */
	struct string_id asked; /* as asked for */
	uint64_t period;	/* count per sample; 0 when a frequency was asked */
	uint64_t frequency_hz;	/* 0 when a period was asked */
	uint32_t weight_unit;	/* enum weight_unit */
	uint32_t reserved;
};

enum module_kind {
	MODULE_NONE,
	MODULE_FILE,   /* addresses are elf addresses */
	MODULE_KERNEL, /* addresses are kernel addresses */
	MODULE_VDSO,   /* addresses are elf addresses */
	MODULE_ANON, /* code without a file in the process `pid`: addresses are process addresses */
	NR_MODULE_KINDS
};

struct module_row {
	struct string_id path; /* as the target's maps say; "[kernel]", "[vdso]", "[anon]" */
	uint32_t kind;
	struct module_identity identity;
	/* Where it was first seen mapped: what main needs to open it. */
	int32_t pid;
	uint32_t
		by_offset; /* 1: addresses of its frames are offsets in the file, whose segments nobody looked at */
	uint64_t started_ns; /* that process: pids come again; CLOCK_MONOTONIC, 0: not known */
	uint64_t start;	     /* process addresses of the executable mapping */
	uint64_t end;
	uint64_t file_offset;
};

struct task_row {
	int32_t pid;
	int32_t tid;
	struct string_id comm;
	struct task_id
		process; /* in tables of a part of a file: its main thread, as it was then; else 0 */
	uint64_t started_ns; /* the process: pids come again; CLOCK_MONOTONIC, 0: not known */
};

struct frame_row {
	uint64_t address; /* look-up address, in the module's space */
	struct module_id module;
	uint32_t seen; /* when it was sampled first: frame_seen_ns() */
};

/*
 * In units of 2^16 ns of CLOCK_MONOTONIC, rounded up, modulo 2^32; 0: not known. frame_seen_ns() gives a time at most one unit after the sample; now_ns if that
 * is not known, in the future, or more than 39 hours ago.
 */
enum { FRAME_SEEN_SHIFT = 16 };
static inline uint32_t frame_seen(uint64_t time_ns)
{
	return (uint32_t)((time_ns + (1 << FRAME_SEEN_SHIFT) - 1) >> FRAME_SEEN_SHIFT);
}

static inline uint64_t frame_seen_ns(uint32_t seen, uint64_t now_ns)
{
	const uint64_t now = now_ns >> FRAME_SEEN_SHIFT;
	const uint32_t age = (uint32_t)now - seen;
	return !seen || age > UINT32_MAX / 2 || age > now ? now_ns
							  : (now - age) << FRAME_SEEN_SHIFT;
}

struct node_row {
	struct node_id parent; /* always a smaller index; 0 is the root */
	struct frame_id frame; /* the call site */
	uint32_t method;       /* enum frame_method: how this frame was found */
};

struct info_row {
	struct string_id key;
	struct string_id value;
};

struct sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t weight;  /* events that this sample stands for (its period) */
	struct task_id task;
	struct node_id node;  /* callers of leaf; 0: leaf is the root */
	struct frame_id leaf; /* 0: nothing known of the stack */
	uint16_t cpu;
	uint8_t event;	   /* row in events */
	uint8_t end;	   /* enum stack_end */
	uint8_t reason;	   /* enum stack_reason */
	uint8_t number[7]; /* in tables of a part of a file: sample_number(); else 0 */
};

/* Which of the file's records it was; those of all parts are merged by it. Files have fewer than 2^56. */
static inline void sample_set_number(struct sample *sample, uint64_t number)
{
	for (size_t i = 0; i < sizeof(sample->number); i++)
		sample->number[i] = (uint8_t)(number >> 8 * i);
}

static inline uint64_t sample_number(const struct sample *sample)
{
	uint64_t number = 0;
	for (size_t i = 0; i < sizeof(sample->number); i++)
		number |= (uint64_t)sample->number[i] << 8 * i;
	return number;
}

enum table_kind {
	TABLE_STRINGS, /* counted in 4-byte units */
	TABLE_METADATA,
	TABLE_EVENTS,
	TABLE_MODULES,
	TABLE_TASKS,
	TABLE_FRAMES,
	TABLE_NODES,
	NR_TABLES
};

/* The longest string; longer ones are cut when they are added, and are "" when a region holds one. */
enum { TABLES_STRING_MAX = 8192 };

/* How many rows each table can hold; nr_samples is a power of two, at least 2. */
struct tables_capacity {
	uint32_t nr[NR_TABLES];
	uint32_t nr_samples;
};

/* What a live session uses: about 15 MiB when full (128 Ki frames, 512 Ki nodes, 64 Ki samples). */
extern const struct tables_capacity tables_capacity_default;

/* ---- regions ---- */

size_t tables_region_bytes(const struct tables_capacity *capacity);

/*
 * A mapped region. Opaque but embeddable; holds no rows of its own. base is the caller's mapping,
 * tables_region_bytes() long, all zero when fresh.
 */
struct tables_header;
struct tables {
	struct tables_header *header;
	struct tables_capacity capacity; /* our copy: never re-read from shared memory */
	void *rows[NR_TABLES];
	struct sample *samples;
	size_t bytes;
};

/* Creates the sealed memfd of a region. A descriptor, or -errno. */
int tables_memfd_new(const struct tables_capacity *capacity);
/* Maps fd (or, with fd -1, fresh private memory); writable for the writer, and for main, which moves the ring's tail. 0 or -errno; -EINVAL: a capacity or a region of the wrong shape. */
int tables_map(struct tables *tables, int fd, const struct tables_capacity *capacity,
	       bool writable);
void tables_unmap(struct tables *tables);

/* ---- the writer ---- */

/*
 * Appends to a region and interns while doing so. The indexes are on the
 * writer's heap; on a region that already has rows (a predecessor died) they
 * are rebuilt from it.
 */
struct tables_writer;

struct tables_writer *
tables_writer_new(struct tables *tables); /* tables stay the caller's; NULL: out of memory */
void tables_writer_free(struct tables_writer *writer); /* NULL is fine */

/*
 * Each returns 0 and the id, an existing one where equal rows are there already,
 * -ENOSPC when the table is full (ask for a new epoch) or -ENOMEM.
 * Infos and modules are always appended; events likewise.
 */
int tables_add_string(struct tables_writer *writer, const char *bytes, size_t size,
		      struct string_id *id);
int tables_add_info(struct tables_writer *writer, const char *key, const char *value);
int tables_add_event(struct tables_writer *writer, const struct event_row *row, uint32_t *id);
int tables_add_module(struct tables_writer *writer, const struct module_row *row,
		      struct module_id *id);
int tables_add_task(struct tables_writer *writer, int32_t pid, int32_t tid, uint64_t started_ns,
		    struct string_id comm, struct task_id *id);
int tables_add_task_row(struct tables_writer *writer, const struct task_row *row,
			struct task_id *id);
/* Frames that are added from now on were sampled then; 0: that is not known, as at first. */
void tables_set_time(struct tables_writer *writer, uint64_t time_ns);
int tables_add_frame(struct tables_writer *writer, struct module_id module, uint64_t address,
		     struct frame_id *id);
int tables_add_node(struct tables_writer *writer, struct node_id parent, struct frame_id frame,
		    enum frame_method method, struct node_id *id);

/*
 * Publishes rows and samples appended so far: call once per round. Samples become
 * visible after the rows that they refer to.
 */
void tables_publish(struct tables_writer *writer);

/* Live: overwrites the oldest when the reader is behind; the reader counts what it missed. */
void tables_add_sample(struct tables_writer *writer, const struct sample *sample);
/* True when readers see all that was appended: the ring is published by itself now and then. */
bool tables_is_published(const struct tables_writer *writer);
/* Rows added so far, published or not; row 0 of none is among them. */
uint32_t tables_nr_rows(const struct tables_writer *writer, enum table_kind kind);
/* From a file: free slots before the reader would be overtaken (publish and wait when 0). */
uint32_t tables_samples_room(const struct tables_writer *writer);
/* The writer has left this epoch: nothing more comes. Published at once. */
void tables_close_epoch(struct tables_writer *writer);

/* ---- readers ---- */

/* A consistent view: lengths as acquired by tables_reader_refresh(). */
struct tables_reader {
	const struct tables *tables;
	uint32_t nr[NR_TABLES];
	bool closed; /* the writer left this epoch: after the ring is empty, nothing more comes */
};

void tables_reader_init(struct tables_reader *reader, const struct tables *tables);
void tables_reader_refresh(struct tables_reader *reader);

/* Row look-ups: copies, checked; an id out of range gives an all-zero row and false. */
bool tables_event(const struct tables_reader *reader, uint32_t id, struct event_row *row);
bool tables_module(const struct tables_reader *reader, struct module_id id, struct module_row *row);
bool tables_task(const struct tables_reader *reader, struct task_id id, struct task_row *row);
bool tables_frame(const struct tables_reader *reader, struct frame_id id, struct frame_row *row);
bool tables_node(const struct tables_reader *reader, struct node_id id,
		 struct node_row *row); /* false too if parent >= id */
bool tables_info(const struct tables_reader *reader, uint32_t id, struct info_row *row);
/*
 * Borrowed, valid while the region is mapped; "" when the id is no string. The
 * bytes are inside the region, so a hostile writer may change them at any time: copy, then use.
 */
const char *tables_string(const struct tables_reader *reader, struct string_id id);

/*
 * Copies up to max samples into out and moves the ring's tail past them. *missed
 * is increased by the samples that were overwritten before they could be read.
 * Refresh the reader *after* this call and before looking at the ids they hold.
 */
size_t tables_read_samples(struct tables *tables, struct sample *out, size_t max, uint64_t *missed);

/*
 * The same for one beside the reader, who may come too late for some: from *position on (at first 0), which is moved past them. Nobody
 * waits for him.
 */
size_t tables_look_at_samples(const struct tables *tables, uint64_t *position, struct sample *out,
			      size_t max);

/* Memory actually touched in the region, in bytes (published lengths, and the ring's used part). */
uint64_t tables_used_bytes(const struct tables_reader *reader);

#endif
