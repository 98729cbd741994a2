/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_PROTOCOL_H
#define CTOP_IPC_PROTOCOL_H

/*
 * What main and a jailed child say to each other: one fixed struct a datagram,
 * its kind first, at most one descriptor beside it (main to child only). Both ends
 * treat what arrives as input: size and ranges are checked by protocol_receive()
 * and by whoever uses a value.
 *
 * A child starts in this order: STATUS, TO_MAIN, TO_CHILD, then its role's own
 * (CONFIG, EVENT..., IDS..., PIDS..., RING..., TABLES / SOURCE / SOURCE, OUTPUT), then START. A collector
 * that is to read a perf.data file gets CONFIG, SOURCE, TABLES.
 *
 * Beside the channel stand two eventfds, one a direction, each signalled at
 * most once per round: to_main says "look at the tables or symbols", to_child says
 * "there are new frames" (symbolizer) or "there is room in the ring" (reader).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/event_sets.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/recording_read.h>
#include <ctop/kernel/record.h>
#include <ctop/module_identity.h>
#include <ctop/weight_unit.h>

enum message_kind {
	/* main to child */
	MESSAGE_STATUS = 1, /* fd: memfd of struct child_status */
	MESSAGE_TO_MAIN,    /* fd: eventfd */
	MESSAGE_TO_CHILD,   /* fd: eventfd */
	MESSAGE_CONFIG,
	MESSAGE_EVENT,
	MESSAGE_IDS,
	MESSAGE_PIDS,
	MESSAGE_RING,	/* fd: the event that owns a CPU's ring, or WAIT_RING_CPU's sealed memory */
	MESSAGE_TABLES, /* fd: a fresh region; ids start again */
	MESSAGE_SYMBOLS, /* fd: the symbols region of the same epoch; precedes TABLES */
	MESSAGE_SOURCE,	 /* fd: what to read */
	MESSAGE_OUTPUT,	 /* fd: where to write it */
	MESSAGE_MODULE,	 /* fd, or an error: answers NEED_MODULE */
	MESSAGE_DEBUG_FILE,
	MESSAGE_PROCESS,     /* fd of /proc/PID/maps, or an error: answers NEED_PROCESS */
	MESSAGE_THREADS,     /* threads of a process and their comms; precedes its PROCESS */
	MESSAGE_OWNER,	     /* a process's user, or an error: answers NEED_OWNER */
	MESSAGE_CODE,	     /* fd of sealed memory: a copy, or an error: answers NEED_CODE */
	MESSAGE_KERNEL_CODE, /* the same: answers NEED_KERNEL_CODE */
	MESSAGE_OWN,	     /* ctop's own processes: whenever there is another one */
	MESSAGE_SET, /* which set of events is enabled from now on: sent before it is, and when the others are not any more */
	MESSAGE_START,
	MESSAGE_PAUSE, /* the events are off: take what the rings hold, forget the processes, then PAUSED */
	MESSAGE_STOP, /* take what the rings hold, then DONE; symbolizer: look at perf maps a last time */
	MESSAGE_LINES, /* symbolizer: lines and inlined functions are wanted, too, in this epoch and those that follow */
	MESSAGE_KEEP_CODE, /* symbolizer: the code of hot functions is to be kept, likewise */
	/* child to main */
	MESSAGE_MAPPED, /* rings are mapped, the file is open, or an error */
	MESSAGE_PAUSED,
	MESSAGE_NEED_MODULE,
	MESSAGE_NEED_DEBUG_FILE,
	MESSAGE_NEED_PROCESS,
	MESSAGE_NEED_OWNER,
	MESSAGE_NEED_CODE,
	MESSAGE_NEED_KERNEL_CODE,
	MESSAGE_NEED_TABLES,
	MESSAGE_DOUBLE, /* a thread has an event twice */
	MESSAGE_READ,	/* reader: what the file had and had not; precedes DONE */
	MESSAGE_DONE,	/* with an error, and its cause for the user */
	NR_MESSAGE_KINDS
};

enum {
	PROTOCOL_IDS_MAX = 128,
	PROTOCOL_PIDS_MAX = 512,
	PROTOCOL_THREADS_MAX = 128,
	PROTOCOL_EVENT_MAX = 256, /* of an event's name */
	PROTOCOL_CAUSE_MAX = 512,
	PROTOCOL_CODE_MAX = 64 << 10, /* bytes of a copy */
	PROTOCOL_KERNEL_NAME_MAX = 256,
	COMM_MAX = 16
};

/*
 * A collector's part of a perf.data file. It follows what all records say of processes, and unwinds the samples of its own threads: each
 * share of the threads (unwind/stitching.h) is one collector's.
 */
enum { PROTOCOL_PARTS_MAX = 16, PROTOCOL_SKIPPED_MAX = 32 };
struct message_part {
	uint32_t number, nr; /* nr 0: there is one, which has all */
	/* Records by number on which predecessors died: skipped. */
	uint32_t nr_skipped;
	uint64_t skipped[PROTOCOL_SKIPPED_MAX];
};

struct message_config {
	struct record_format format;
	uint32_t ring_pages;
	uint32_t nr_rings;
	uint32_t dump_bytes;
	uint32_t rest_ms;    /* sampler_rest_ms() */
	bool is_calm;	     /* nor does a mapping hurry: main has records of its own of these */
	bool frame_pointers; /* user part of the kernel's callchain */
	bool leaf_only;	     /* --call-graph no */
	bool filters_pids;   /* keep samples of PIDS and their children only */
	bool drop_own;	     /* system-wide: leave out ctop's own processes, see OWN */
	bool filters_comm;   /* system-wide: keep samples of threads of this name only */
	bool filters_uid;    /* and of this user's processes */
	uint32_t
		wait_pages; /* of the ring of WAIT_RING_CPU; 0: there is none, nor an event of waits */
	/* Predecessors died too often: stacks by frame pointers and the kernel's chains, no file is asked for. */
	bool without_tables;
	uint32_t uid;
	char comm[COMM_MAX];
	struct sampler_sets
		sets[2]; /* of the events: of those that are paced by the kernel, by us */
	uint8_t in_use[SAMPLER_MAX_EVENTS]; /* of these, by each event */
	int32_t watched_pid;		    /* whose execs the status reports; 0: nobody's */
	uint64_t
		watched_started_ns; /* when that process started, by CLOCK_MONOTONIC; 0: not known */
	/* A predecessor died on the record at this position of this ring: skip it. cpu -1: none. */
	int32_t skip_cpu;
	uint64_t skip_position;
	struct message_part part;
};

struct message_event {
	char asked[PROTOCOL_EVENT_MAX], opened[PROTOCOL_EVENT_MAX];
	uint64_t period, frequency_hz;
	uint32_t unit;		    /* enum weight_unit */
	bool without_period, paced; /* as in struct sampler_opened */
};

struct message_ids {
	uint32_t nr;
	struct {
		uint64_t id;
		uint32_t event;
		int32_t tid; /* -1: a whole CPU */
		int32_t cpu;
		uint32_t set; /* as in struct sampler_id */
	} ids[PROTOCOL_IDS_MAX];
};

struct message_own {
	int32_t pids[9]; /* as main sees them: a child may be the first of its namespace; 0: none */
};

struct message_pids {
	uint32_t nr;
	int32_t pids[PROTOCOL_PIDS_MAX];
};

struct message_set {
	uint8_t sets[SAMPLER_MAX_EVENTS]; /* of each event */
	/* While it was switched, events were in two sets; until_ns is UINT64_MAX, and told again when it is over. */
	uint64_t since_ns, until_ns;
};

/* Of no CPU: where threads wait, written by main (store/wait_ring.h). */
enum { WAIT_RING_CPU = -2 };
struct message_ring {
	int32_t cpu;
};

/* TABLES and SYMBOLS: number of the epoch, from 1. */
struct message_epoch {
	uint32_t epoch;
};

/* MODULE, NEED_MODULE and DEBUG_FILE, NEED_DEBUG_FILE; a child asks about rows of the epoch it is in. */
struct message_module {
	uint32_t epoch;
	uint32_t module;
	int32_t error; /* 0, or -errno: no descriptor */
	/* NEED_DEBUG_FILE: hints at where it may be, which prove nothing */
	uint8_t build_id[20];
	uint32_t build_id_size;
	char name[256]; /* of the debug link */
	uint32_t which; /* NEED_DEBUG_FILE: enum debug_file */
	uint64_t unit;	/* NEED_DEBUG_FILE: the id of a unit that is in another file; 0: of none */
	struct module_identity identity; /* MODULE: what the descriptor says of the file */
};

struct message_process {
	int32_t pid;
	uint32_t exec_count; /* returned as it was asked */
	int32_t error;
	int32_t same_image; /* PROCESS: whom it was forked from, with the same code where it had it; 0: not known */
	uint64_t started_ns; /* PROCESS: by CLOCK_MONOTONIC, to a tick; 0: not known */
};

/* NEED_OWNER and OWNER; a request's users are 0. */
struct message_owner {
	int32_t pid;
	int32_t error;
	uint32_t uid, effective_uid;
};

/* NEED_CODE and CODE: code that a process has in memory and in no file, from start to end, whole pages. */
struct message_code {
	int32_t pid;
	int32_t error; /* CODE: 0, or -errno: no descriptor; -EBUSY: too much was asked for, later it may be had */
	uint64_t started_ns; /* the process's, by CLOCK_MONOTONIC, to a tick; 0: not known */
	uint64_t start, end; /* what is readable may end before: the descriptor's size says it */
	uint64_t read_ns;    /* CODE: before it was read, by CLOCK_MONOTONIC */
};

/* NEED_KERNEL_CODE and KERNEL_CODE: the first bytes of the kernel's function that begins there and is called that. */
struct message_kernel_code {
	int32_t error;	/* as in message_code */
	uint64_t start; /* its address */
	uint64_t
		whole_bytes; /* KERNEL_CODE: of the function; more, if the descriptor's size is less */
	uint64_t read_ns;    /* as in message_code */
	char name[PROTOCOL_KERNEL_NAME_MAX];
};

struct message_threads {
	int32_t pid;
	uint32_t nr;
	struct {
		int32_t tid;
		char comm[COMM_MAX];
	} threads[PROTOCOL_THREADS_MAX];
};

struct message_double {
	uint64_t id; /* of the thread's own event, which is to be closed */
};

/* MAPPED and DONE. DONE without an error: the cause is a note on a file that was read all the same. */
struct message_result {
	int32_t error;
	char cause[PROTOCOL_CAUSE_MAX]; /* a second line, if there is one, is the remedy */
};

struct message {
	uint32_t kind; /* enum message_kind */
	union {
		struct message_config config;
		struct message_event event;
		struct message_ids ids;
		struct message_pids pids;
		struct message_own own;
		struct message_set set;
		struct message_ring ring;
		struct message_epoch epoch;
		struct message_module module;
		struct message_process process;
		struct message_threads threads;
		struct message_owner owner;
		struct message_code code;
		struct message_kernel_code kernel_code;
		struct message_double duplicates;
		struct recording_read read;
		struct message_result result;
	};
};
_Static_assert(sizeof(struct message) <= CHANNEL_MESSAGE_MAX, "a message fits into a datagram");

/* Sends the kind's own size. As channel_send(). */
int protocol_send(struct channel *channel, const struct message *message, int fd);
/*
 * 1: a message whose size, counts and bools are right for its kind, strings terminated; *fd as channel_receive().
 * 0: the other end is gone; -EAGAIN: none now; -EPROTO: nonsense (fd, if any, is closed).
 */
int protocol_receive(struct channel *channel, struct message *message, int *fd);

/*
 * A page that a child shares with main: what it is working on, so that a successor
 * can step around what killed it, and counters that outlive it. One writer, the
 * child of the moment; main reads, and treats all of it as input.
 */
struct child_status {
	_Atomic uint64_t progress;	/* moves with every piece of work */
	_Atomic uint64_t turns;		/* moves with every turn of the child's loop, work or not */
	_Atomic int32_t busy_cpu;	/* ring of the record in hand; -1: none */
	_Atomic uint32_t busy_module;	/* 1 + row of the module being read; 0: none */
	_Atomic uint32_t busy_epoch;	/* of that row; stored before it */
	_Atomic uint64_t busy_position; /* of that record in its ring, or its number in a file */
	/* Records of a file whose samples, as far as they are of its part, are in the tables. */
	_Atomic uint64_t published;
	/* Of the collector's records, each round's at once: a successor counts what it reads again. */
	_Atomic uint64_t lost, late, throttled;
	_Atomic uint64_t hurried; /* as collect/output.h has it */
	/* Samples, and what could not be read: in the tables or in one of these. */
	_Atomic uint64_t drained;
	_Atomic uint64_t damaged, duplicates, skipped, own, foreign, comm, uid;
	/* Collector: which set of each event the rings have room for, or keeps its rate. */
	_Atomic uint32_t wanted_sets[SAMPLER_MAX_EVENTS];
	_Atomic uint64_t frames, cache_hits, cache_misses;
	_Atomic uint64_t
		exec_ns; /* when the process watched last became another program, or itself again; 0: never */
	_Atomic uint64_t named_frames; /* symbolizer: all frames below this one have final rows */
	_Atomic uint64_t named_epoch;  /* ... of this epoch */
	_Atomic uint64_t lined_frames; /* likewise, have their lines, or none are to be had */
	_Atomic uint64_t lined_epoch;
	_Atomic uint64_t looked_again; /* symbolizer: 1: at all perf maps, behind STOP */
	_Atomic uint64_t kept_code;    /* symbolizer: 1: all that there is room for, behind STOP */
	_Atomic uint64_t changed;      /* symbolizer: files that changed while they were read */
	_Atomic uint64_t written;      /* writer: bytes of the stream that the output took */
};

/* Publishes which module is being read from now on; status_read_none() when that is over. */
static inline void status_read(struct child_status *status, uint32_t epoch, uint32_t module)
{
	atomic_store_explicit(&status->busy_epoch, epoch, memory_order_relaxed);
	atomic_store_explicit(&status->busy_module, module + 1, memory_order_release);
}

static inline void status_read_none(struct child_status *status)
{
	atomic_store_explicit(&status->busy_module, 0, memory_order_release);
}

/* A counter with one writer: no locked instruction is needed. */
#define status_add(counter, n)                                                                     \
	atomic_store_explicit((counter),                                                           \
			      atomic_load_explicit((counter), memory_order_relaxed) + (n),         \
			      memory_order_relaxed)

#endif
