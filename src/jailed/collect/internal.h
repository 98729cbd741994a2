/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_INTERNAL_H
#define CTOP_COLLECT_INTERNAL_H

/* The collector's state, shared by its files: collector.c (loop and messages), merge.c and file.c (sources), round.c, follow.c, sample_filter.c, stack.c, module_files.c, duplicates.c, sets.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/base/index.h>
#include <ctop/file_kind.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>
#include <ctop/kernel/ring.h>
#include <ctop/perfdata/perfdata.h>
#include <ctop/proc/process_table.h>
#include <ctop/store/tables.h>
#include <ctop/unwind/stitching.h>
#include <ctop/unwind/unwind.h>

#include "modules.h"

/* One caller of the stack that a CPU had last, root first: consecutive stacks share most of theirs. */
struct stack_step {
	const struct module *module;
	uint64_t address;
	enum frame_method method;
	struct node_id node;
};

struct last_stack {
	uint32_t epoch;
	size_t nr;
	struct stack_step steps[UNWIND_MAX_FRAMES * 2];
};

/* What a sample is known by, to tell whether the next one is the same; see duplicates.c. */
struct last_sample {
	uint64_t id, time_ns;
	uint64_t position; /* in the ring */
	int32_t tid;
	bool is_twin;
};

/* By which event of those attached a thread was sampled, and by which other since then: 1 + rows of ids; 0: none. */
struct lineage {
	int32_t tid;
	uint32_t first, second;
};

enum { NR_LINEAGES = 1024 };
/* Children of main's that live for a moment: only so many at a time. */
enum { NR_FORKED = 16 };

struct collector_ring {
	struct ring ring;
	int fd;
	int32_t cpu;
	uint64_t next_time_ns; /* of the record at the tail; UINT64_MAX: none */
	const struct perf_event_header *next;
	struct last_stack *last;
	struct last_sample last_samples[SAMPLER_MAX_EVENTS]; /* of each event */
	uint64_t seen_head;				     /* see sets.c */
	/* Of each paced event, of the set in use, since its pace was looked at. */
	uint64_t nr_seen[SAMPLER_MAX_EVENTS];
};

struct event_id {
	uint64_t id;
	uint32_t event;
	int32_t tid; /* -1: the whole CPU */
	int32_t cpu;
	uint32_t set;
	uint32_t first; /* row of the same event in the first set */
	/* Of the first set's row, for all of them: */
	bool doubled; /* the thread has inherited the same: this one is not counted */
	uint32_t
		seen_switch; /* the last switch of sets behind which the new one was sampled; 0: none */
};

/* How full the rings are, and what follows from it: sets.c. */
struct pressure {
	uint64_t switching_since_ns, switching_until_ns;
	bool settles; /* the rings still hold what made us leave the last set */
	/* What filled them, since there was room: all, and of each event that we pace. */
	uint64_t bytes, paced_bytes[SAMPLER_MAX_EVENTS];
	double most_arrived; /* of a ring, between two looks, since it is calm */
	uint64_t calm_since_ns, calm_ns;
	uint64_t dearer_since_ns; /* 0: never, or it did not last */
	uint64_t lost;
	uint64_t looked_ns; /* the last time; 0: never */
};

/* Which set of an event is in use; sets.c. */
struct event_pace {
	uint32_t set, nr_switches;
	/* Of one that we pace: */
	uint64_t since_ns; /* its samples are counted; 0: nothing has come yet */
	uint64_t calm_ns;
	uint64_t dearer_since_ns; /* 0: never */
};

/* What a round has to add to the counters in struct child_status; see there. */
struct round_counts {
	uint64_t lost, late, throttled;
	uint64_t drained, damaged, duplicates, skipped, own, foreign, comm, uid;
	uint64_t frames;
};

struct ask;	    /* follow.c */
struct owner;	    /* sample_filter.c */
struct file_source; /* file.c */

/*
 * Records come from one of two sources: the rings, or a file. A file is one ring without memory: what is
 * remembered of a ring's last sample is remembered of the file's.
 */
struct collector {
	struct channel *channel;
	struct message_config config;
	struct message_own ours;	   /* processes of ctop's, this one among them */
	int32_t forked_by_ours[NR_FORKED]; /* the last ones since then: see follow.c */
	unsigned nr_forked;
	struct child_status *status;
	int to_main; /* eventfd */
	int to_child;

	struct collector_ring *rings;
	size_t nr_rings;
	int source_fd;			      /* of a file that is to be opened; -1: none */
	int source_parts[PERFDATA_MAX_PARTS]; /* further ones, that have its records */
	size_t nr_source_parts;
	struct file_source *file; /* NULL: the rings are the source */

	struct {
		struct event_id *items;
		size_t nr, capacity;
	} ids;
	struct index ids_index;
	struct index own;     /* events that a thread has by itself: rows of ids */
	bool formats_differ;  /* of the samples of some events: they are without a period */
	uint64_t twin_events; /* a bit each: twins were seen of these */
	struct lineage lineages[NR_LINEAGES];
	struct {
		struct message_event *items;
		size_t nr, capacity;
	} events;
	struct ask *asks;
	struct followed *followed; /* pids let through by config.filters_pids */
	struct owner *owners;	   /* users of processes, with config.filters_uid */

	struct process_table *processes;
	struct modules modules;
	struct unwinder *unwinder;
	struct stitching *stitching;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_evidence evidence[UNWIND_MAX_FRAMES];

	struct tables tables;
	struct tables_writer *writer;
	uint32_t epoch;
	bool wants_tables; /* asked main for a fresh region */

	/* bound.c */
	size_t bound_mib; /* of the heap; 0: not looked at yet */
	uint64_t memory_looked_ns, forgot_ns;
	uint64_t cache_hits_before, cache_misses_before; /* of unwinders that are gone */

	struct round_counts counts;
	struct event_pace paces[SAMPLER_MAX_EVENTS];
	bool any_paced;
	struct pressure pressure;
	bool started, stopping;
	bool pausing;		   /* the events are off: the rings are taken to their end */
	bool waiting;		   /* the next record waits for an answer of main's */
	uint64_t waiting_since_ns; /* 0: not waiting */
	uint64_t last_time_ns;	   /* of the last record taken */
	uint64_t clock_ns;	   /* before main's last messages were looked for */
	uint64_t told_ns;
	uint64_t told_progress; /* status->progress when main was signalled last */
};

/* ---- follow.c: what records and /proc say of processes ---- */

int follow_record(struct collector *collector, const struct record *record);
int follow_process_answer(struct collector *collector, const struct message_process *answer,
			  int fd);
int follow_threads_answer(struct collector *collector, const struct message_threads *answer);
/* Asks main for what is not known of the process yet. 0: known, or not to be had; -EAGAIN: the answer is on its way. */
int follow_ask(struct collector *collector, struct process *process, int32_t pid, int32_t tid,
	       bool needs_maps);
int follow_add_pid(struct collector *collector, int32_t pid);
bool follow_has_pid(const struct collector *collector, int32_t pid);
/* Main switched the events off: what happens until they are on again comes as no record. */
void follow_forget(struct collector *collector);
void follow_release(struct collector *collector);

/* True for ctop's own processes. */
bool follow_is_own(const struct collector *collector, int32_t pid);

/* ---- sample_filter.c: whose samples are kept, by config.comm and config.uid ---- */

/*
 * 0: this sample's; 1: not, and counted; -EAGAIN: come again with the same record when main has answered (patient
 * only, as in stack_sample()); -ENOMEM.
 */
int sample_filter_task(struct collector *collector, struct process *process,
		       const struct record *record, bool patient);
int sample_filter_owner_answer(struct collector *collector, const struct message_owner *answer);
/* A process was forked, became another program, has ended. */
int sample_filter_fork(struct collector *collector, int32_t pid, int32_t parent_pid);
void sample_filter_exec(struct collector *collector, int32_t pid);
void sample_filter_exit(struct collector *collector, int32_t pid);
void sample_filter_forget_all(struct collector *collector);

/* ---- stack.c: one sample ---- */

/* Where a stack stopped, since nobody has asked for what is mapped there. */
struct stack_gap {
	struct process *process; /* NULL: there is none */
	uint64_t address;
	bool cannot_ask; /* not now: what was not asked for counts as on its way */
};

/*
 * Unwinds a sample and appends it. patient: wait for files that are on their way.
 * 0; -EAGAIN: come again with the same record when the gap is known, or, if there is none, when main has answered;
 * -ENOSPC: when there are fresh tables; -ENOMEM.
 */
int stack_sample(struct collector *collector, struct collector_ring *ring,
		 const struct record *record, bool patient, struct stack_gap *gap);

/* ---- module_files.c: modules' rows and files ---- */

/* The row of a frame, and of its module (NULL: an address outside every mapping). 0, -ENOSPC or -ENOMEM. */
int module_frame_id(struct collector *collector, struct module *module, uint64_t address,
		    struct frame_id *id);
/* False for a gap: main has to be asked for the file, or to see the module's row before the file is read. */
bool module_file_is_known(const struct collector *collector, struct module *module,
			  const struct stack_gap *gap);
/* Makes it known. 0; -ENOBUFS: main cannot be asked now; -ENOSPC, -ENOMEM or what else ended the asking. */
int module_file_ask(struct collector *collector, const struct stack_gap *gap);
/* The module's file came (fd is taken over), with what main says of it, or did not (-1). */
void module_file_take(struct collector *collector, struct module *module, int fd,
		      const struct module_identity *identity);

/* ---- bound.c: memory ---- */

/* Call it between records. 0 or -ENOMEM. */
int bound_memory(struct collector *collector);

/* ---- duplicates.c: threads attached twice ---- */

/* A row of the ids is new. 0 or -ENOMEM. */
int duplicates_add_own(struct collector *collector, uint32_t row);
/* True when the sample repeats another one and is not to be counted. Fine to ask again about the same record. */
bool duplicates_is_second(struct collector *collector, struct collector_ring *ring,
			  struct event_id *event, const struct record *record);
/* The thread's life begins or ends. */
void duplicates_forget(struct collector *collector, int32_t tid);

/* ---- sets.c: which set of the events is sampled ---- */

void sets_begin(struct collector *collector);
/* Main enables that set now, then disables the one before. */
void sets_use(struct collector *collector, const struct message_set *message);
/* There is more than one of this event's. */
bool sets_differ(const struct collector *collector, const struct event_id *event);
/* At that time an event may have been in two sets. */
bool sets_are_switching(const struct collector *collector, uint64_t time_ns);
/* After the rings were looked at: asks main for another set, where this one is not right. */
void sets_look(struct collector *collector);
/* Of a paced event. */
uint64_t sets_period(const struct collector *collector, const struct event_id *event);
/* True when a sample of this event was counted in the set in use already. */
bool sets_is_double(struct collector *collector, struct event_id *event);

/* ---- stack.c: which event a sample is of ---- */

/* NULL: no id of ours. */
struct event_id *stack_find_event(const struct collector *collector, uint64_t id);

/* ---- round.c: what is done with records, wherever they come from ---- */

/*
 * The record at a position of a source is in hand. 1: parsed; 0: passed over, counted where that is a loss.
 */
int round_parse(struct collector *collector, int32_t cpu, uint64_t position, const void *bytes,
		size_t size, struct record *record);
/* 0; -EAGAIN or -ENOSPC: the record must come again; else the end of the collector. */
int round_take(struct collector *collector, struct collector_ring *ring,
	       const struct record *record, bool patient);
/*
 * Publishes rows and samples, and gives up what they were made of: if we die, a successor
 * takes no record twice. The record in hand is not given up.
 */
void round_publish(struct collector *collector);
/*
 * The record in hand is done with, and its source has moved on. The tables show their samples now and then
 * in the middle of a round: then what they were made of must be given up, too.
 */
void round_consumed(struct collector *collector);
/* Ends a round with what the last record had for an answer. 0, or -errno that ends the collector. */
int round_end(struct collector *collector, int result);

/* ---- merge.c: the kernel's rings as a source, in time order ---- */

/* Takes what is old enough (everything, when stopping) from all rings. 0 or -errno that ends the collector. */
int merge_round(struct collector *collector);
/* True when every ring is empty. */
bool merge_drained(const struct collector *collector);

/* ---- file.c: a perf.data file as a source ---- */

/* Opens the file, and tells the tables what it says of itself. 0, or -errno with cause and remedy. */
int file_start(struct collector *collector, struct error *error);
void file_close(struct collector *collector);
/* Takes some records, as long as the reader of the samples keeps up. 0 or -errno that ends the collector. */
int file_round(struct collector *collector);
/* True when all was taken. */
bool file_drained(const struct collector *collector);
/* True while the ring of samples is full. */
bool file_wants_room(const struct collector *collector);
/* How far it is published. */
void file_publish(struct collector *collector);
/* What was wrong with the file; "" when nothing was. Borrowed. */
const char *file_note(const struct collector *collector);
/* A new kernel module row is to say what the file says of its kernel. */
void file_describe_kernel(struct collector *collector);

#endif
