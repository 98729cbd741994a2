/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PROC_PROCESS_TABLE_H
#define CTOP_PROC_PROCESS_TABLE_H

/*
 * The processes as the records tell of them, in time order: which thread belongs
 * to which process, what it is called, and what is mapped where. Knows nothing
 * of files or unwinding: a mapping carries the kernel's words and an opaque
 * pointer that belongs to the collector. Collector only.
 *
 * An address space is executable mappings only, sorted, without overlaps: a new
 * mapping cuts what it covers (there is no munmap record). Every change gives it
 * a new generation, unique over all spaces and times. A space with thousands of mappings, most of them
 * surely gone, is forgotten and asked for again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/module_identity.h>

struct mapping {
	uint64_t start, end, file_offset;
	struct module_identity identity; /* as far as the kernel tells it */
	const char *path; /* interned in the process table, lives as long as it does */
	void *module;	  /* the collector's; NULL: it has set none yet */
	bool shared;	  /* MAP_SHARED */
};

struct process_table;
struct process;

struct process_table *process_table_new(void); /* NULL: out of memory */
void process_table_free(struct process_table *processes);

/* ---- records, in time order. 0 or -ENOMEM ---- */
int process_table_mmap(struct process_table *processes, int32_t pid, const struct mapping *map,
		       const char *path, bool executable);
int process_table_fork(struct process_table *processes, int32_t pid, int32_t tid,
		       int32_t parent_pid, int32_t parent_tid);
int process_table_comm(struct process_table *processes, int32_t pid, int32_t tid, const char *comm,
		       bool exec);
int process_table_exit(struct process_table *processes, int32_t pid,
		       int32_t tid); /* a process goes with its last thread */

/* ---- what main read from /proc ---- */
/* Replaces the space of pid with the text of its maps. 0, -ENOMEM, or -EAGAIN when it has no line at all: ask again. */
int process_table_set_maps(struct process_table *processes, int32_t pid, const char *text,
			   size_t size);
/*
 * Where /proc has nothing to say of a process that has ended: it was forked from pid, neither has executed since, so the
 * maps of the one are the other's. A fork's record says it, too. Nothing happens where either is known to have executed.
 */
void process_table_set_same_image(struct process_table *processes, struct process *process,
				  int32_t pid);
/* The pid of the one whose maps a doubtful process would have; 0 where nobody is known, or its maps are. */
int32_t process_table_same_image(struct process_table *processes, const struct process *process);
/* A doubtful process takes the maps of that one. 0, -ENOMEM, or -EAGAIN: they are not known. */
int process_table_share_maps(struct process_table *processes, struct process *process);
/* As /proc has it: the last one it told holds until a record names the thread. 0 or -ENOMEM. */
int process_table_set_thread(struct process_table *processes, int32_t pid, int32_t tid,
			     const char *comm);
/* Records were lost: every space must be asked for again. */
void process_table_doubt_all(struct process_table *processes);
/* Forgets the paths that no map has any more. Whoever borrowed one of a map that is gone must not use it again. */
void process_table_drop_names(struct process_table *processes);
/* Nobody watched for a while: every process is unknown again. */
void process_table_forget_all(struct process_table *processes);

/* ---- look-ups ---- */
/* NULL when nothing was heard of pid yet. */
struct process *process_table_find(struct process_table *processes, int32_t pid);
/* Creates an empty one, doubtful, when there is none. NULL: out of memory. */
struct process *process_table_add(struct process_table *processes, int32_t pid);
int32_t process_pid(const struct process *process);
/* True until maps were set or followed from birth (fork of a known one; exec). */
bool process_doubtful(const struct process *process);
/* When it started, by CLOCK_MONOTONIC, as somebody knew; 0: nobody has said so. */
uint64_t process_start(const struct process *process);
void process_set_start(struct process *process, uint64_t started_ns);
/* When it executed another program last; 0: nobody has said so. */
uint64_t process_exec_ns(const struct process *process);
void process_set_exec(struct process *process, uint64_t exec_ns);
uint64_t process_generation(const struct process *process);
/*
 * Changes with every exec, and when a pid is reused (0 until anything executed or ended): an old answer to
 * a request for maps must not be applied to a later image.
 */
uint32_t process_exec_count(const struct process *process);
/* How many of its own were seen: that of its image, from 0. */
uint32_t process_nr_execs(const struct process *process);
/*
 * True from an exec on until process_note_user(): the task may still be in the system call, and the registers that it
 * entered the kernel with are the old program's.
 */
bool process_may_be_in_exec(const struct process *process);
void process_note_user(struct process *process);
/* The executable mapping that covers the address, or NULL. Borrowed until the next record of pid, or module of it. */
const struct mapping *process_mapping_at(const struct process *process, uint64_t process_address);
/*
 * Sets the module of the mapping that covers the address, and of what else is mapped of the same file and has none,
 * for this process alone. 0 or -ENOMEM.
 */
int process_set_module(struct process *process, uint64_t process_address, void *module);
/* Any mapping changes of what `module` points to are the collector's: it walks all maps with this. */
void process_table_each_mapping(struct process_table *processes,
				void (*each)(void *context, struct process *process,
					     struct mapping *map),
				void *context);
/* The thread's comm; falls back to the process's leader, then "". Borrowed until the next record of pid. */
const char *process_table_comm_of(const struct process_table *processes, int32_t pid, int32_t tid);
/* Moves on with whatever may change what process_table_comm_of() says of anybody. */
uint64_t process_table_nr_changes(const struct process_table *processes);
/* True when the thread's comm was ever heard of. */
bool process_table_knows_thread(const struct process_table *processes, int32_t pid, int32_t tid);

#endif
