/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PROC_WORLD_H
#define CTOP_PROC_WORLD_H

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

struct world_map {
	uint64_t start, end, file_offset;
	struct module_identity identity; /* as far as the kernel tells it */
	const char *path;		 /* interned in the world, lives as long as it does */
	void *module;			 /* the collector's; NULL until it looked */
};

struct world;
struct world_process;

struct world *world_new(void); /* NULL: out of memory */
void world_free(struct world *world);

/* ---- records, in time order. 0 or -ENOMEM ---- */
int world_mmap(struct world *world, int32_t pid, const struct world_map *map, const char *path,
	       bool executable);
int world_fork(struct world *world, int32_t pid, int32_t tid, int32_t parent_pid,
	       int32_t parent_tid);
int world_comm(struct world *world, int32_t pid, int32_t tid, const char *comm, bool exec);
int world_exit(struct world *world, int32_t pid,
	       int32_t tid); /* a process goes with its last thread */

/* ---- what main read from /proc ---- */
/* Replaces the space of pid with the text of its maps. 0, -ENOMEM, or -EAGAIN when it has no line at all: ask again. */
int world_set_maps(struct world *world, int32_t pid, const char *text, size_t size);
int world_set_thread(struct world *world, int32_t pid, int32_t tid, const char *comm);
/* Records were lost: every space must be asked for again. */
void world_doubt_all(struct world *world);
/* Forgets the paths that no map has any more. Whoever borrowed one of a map that is gone must not use it again. */
void world_drop_names(struct world *world);
/* Nobody watched for a while: every process is a stranger again. */
void world_forget_all(struct world *world);

/* ---- look-ups ---- */
/* NULL when nothing was heard of pid yet. */
struct world_process *world_find(struct world *world, int32_t pid);
/* Creates an empty one, doubtful, when there is none. NULL: out of memory. */
struct world_process *world_process(struct world *world, int32_t pid);
int32_t world_process_pid(const struct world_process *process);
/* True until maps were set or followed from birth (fork of a known one; exec). */
bool world_process_doubtful(const struct world_process *process);
/* When it started, by CLOCK_MONOTONIC, as somebody knew; 0: nobody has said so. */
uint64_t world_process_start(const struct world_process *process);
void world_process_set_start(struct world_process *process, uint64_t started_ns);
uint64_t world_generation(const struct world_process *process);
/*
 * Changes with every exec, and when a pid is reused (0 until anything executed or ended): an old answer to
 * a request for maps must not be applied to a later image.
 */
uint32_t world_process_exec_count(const struct world_process *process);
/* How many of its own were seen: that of its image, from 0. */
uint32_t world_process_nr_execs(const struct world_process *process);
/*
 * The executable mapping that covers the address, or NULL (also when out of memory). Borrowed until the next
 * record of pid; module may be set through it, for this process alone.
 */
struct world_map *world_map_at(struct world_process *process, uint64_t process_address);
/* Any mapping changes of what `module` points to are the collector's: it walks all maps with this. */
void world_each_map(struct world *world,
		    void (*each)(void *context, struct world_process *process,
				 struct world_map *map),
		    void *context);
/* The thread's comm; falls back to the process's leader, then "". Borrowed until the next record of pid. */
const char *world_comm_of(const struct world *world, int32_t pid, int32_t tid);
/* True when the thread's comm was ever heard of. */
bool world_knows_thread(const struct world *world, int32_t pid, int32_t tid);

#endif
