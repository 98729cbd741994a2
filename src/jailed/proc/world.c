/* SPDX-License-Identifier: MIT */
#include <ctop/proc/world.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/kernel/maps.h>

#include "space.h"

struct name {
	UT_hash_handle hh;
	bool used; /* only while world_drop_names() looks */
	char string[];
};

/* Programs' comms have 15 bytes; those of the kernel's workers up to this many. */
enum { COMM_MAX = 64 };

/*
 * There is no munmap record: what a process maps elsewhere again and again piles up. Above the
 * limit its maps are asked for anew; that leaves room, so that asking stays rare.
 */
enum { MAPS_MAX = 16384, MAPS_SET_MAX = MAPS_MAX / 2 };

struct thread {
	int32_t tid;
	bool named; /* false: forked by one whose name is not known */
	char comm[COMM_MAX];
	UT_hash_handle hh;
};

struct world_process {
	int32_t pid;
	uint32_t exec_count;
	uint32_t nr_execs; /* seen of this process */
	uint64_t generation;
	uint64_t started_ns; /* 0: not known */
	bool doubtful;
	struct space *space;
	struct thread *threads;
	char comm[COMM_MAX]; /* the leader's, also when it has exited */
	UT_hash_handle hh;
};

struct world {
	struct world_process *processes;
	struct name *names;
	uint64_t last_generation;
	uint32_t last_image; /* of exec_count: no pid sees a number again, though it is reused */
};

/* ---- life ---- */

struct world *world_new(void)
{
	return calloc(1, sizeof(struct world));
}

static void forget_thread(struct world_process *process, struct thread *thread)
{
	HASH_DEL(process->threads, thread);
	free(thread);
}

static void forget_threads(struct world_process *process)
{
	struct thread *thread, *next;
	HASH_ITER (hh, process->threads, thread, next) {
		forget_thread(process, thread);
	}
}

static void forget_process(struct world *world, struct world_process *process)
{
	forget_threads(process);
	space_leave(process->space);
	HASH_DEL(world->processes, process);
	free(process);
	world->last_image++;
}

void world_forget_all(struct world *world)
{
	struct world_process *process, *next;
	HASH_ITER (hh, world->processes, process, next) {
		forget_process(world, process);
	}
}

void world_free(struct world *world)
{
	if (!world)
		return;
	world_forget_all(world);
	struct name *name, *next_name;
	HASH_ITER (hh, world->names, name, next_name) {
		HASH_DEL(world->names, name);
		free(name);
	}
	free(world);
}

/* NULL: out of memory. */
static const char *intern(struct world *world, const char *string, size_t size)
{
	struct name *name;
	HASH_FIND(hh, world->names, string, size, name);
	if (name)
		return name->string;
	name = calloc(1, sizeof(*name) + size + 1);
	if (!name)
		return NULL;
	memcpy(name->string, string, size);
	HASH_ADD_KEYPTR(hh, world->names, name->string, size, name);
	if (name->hh.tbl)
		return name->string;
	free(name); /* uthash had no memory */
	return NULL;
}

static void mark_name(void *context, struct world_process *process, struct world_map *map)
{
	struct world *world = context;
	struct name *name;
	(void)process;
	HASH_FIND(hh, world->names, map->path, strlen(map->path), name);
	if (name)
		name->used = true;
}

void world_drop_names(struct world *world)
{
	world_each_map(world, mark_name, world);
	struct name *name, *next;
	HASH_ITER (hh, world->names, name, next) {
		if (!name->used) {
			HASH_DEL(world->names, name);
			free(name);
		} else {
			name->used = false;
		}
	}
}

/* ---- look-ups ---- */

struct world_process *world_find(struct world *world, int32_t pid)
{
	struct world_process *process;
	HASH_FIND(hh, world->processes, &pid, sizeof(pid), process);
	return process;
}

static void touch(struct world *world, struct world_process *process)
{
	process->generation = ++world->last_generation;
}

struct world_process *world_process(struct world *world, int32_t pid)
{
	struct world_process *process = world_find(world, pid);
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->space = space_new();
	if (!process->space) {
		free(process);
		return NULL;
	}
	process->pid = pid;
	process->exec_count = world->last_image;
	process->doubtful = true;
	touch(world, process);
	HASH_ADD(hh, world->processes, pid, sizeof(process->pid), process);
	if (process->hh.tbl)
		return process;
	space_leave(process->space);
	free(process);
	return NULL;
}

int32_t world_process_pid(const struct world_process *process)
{
	return process->pid;
}

bool world_process_doubtful(const struct world_process *process)
{
	return process->doubtful;
}

uint64_t world_process_start(const struct world_process *process)
{
	return process->started_ns;
}

void world_process_set_start(struct world_process *process, uint64_t started_ns)
{
	process->started_ns = started_ns;
}

uint64_t world_generation(const struct world_process *process)
{
	return process->generation;
}

uint32_t world_process_exec_count(const struct world_process *process)
{
	return process->exec_count;
}

uint32_t world_process_nr_execs(const struct world_process *process)
{
	return process->nr_execs;
}

struct world_map *world_map_at(struct world_process *process, uint64_t process_address)
{
	/* The caller may set a module there, which is no business of who shares the space since a fork. */
	if (process->space->nr_users > 1 && space_own(&process->space))
		return NULL;
	return space_at(process->space, process_address);
}

void world_each_map(struct world *world,
		    void (*each)(void *context, struct world_process *process,
				 struct world_map *map),
		    void *context)
{
	struct world_process *process, *next;
	HASH_ITER (hh, world->processes, process, next) {
		for (size_t i = 0; i < process->space->nr; i++)
			each(context, process, &process->space->items[i]);
	}
}

static struct thread *find_thread(const struct world_process *process, int32_t tid)
{
	struct thread *thread;
	HASH_FIND(hh, process->threads, &tid, sizeof(tid), thread);
	return thread;
}

static const struct world_process *find_const(const struct world *world, int32_t pid)
{
	struct world_process *process;
	HASH_FIND(hh, world->processes, &pid, sizeof(pid), process);
	return process;
}

const char *world_comm_of(const struct world *world, int32_t pid, int32_t tid)
{
	const struct world_process *process = find_const(world, pid);
	if (!process)
		return "";
	const struct thread *thread = find_thread(process, tid);
	return thread && thread->named ? thread->comm : process->comm;
}

bool world_knows_thread(const struct world *world, int32_t pid, int32_t tid)
{
	const struct world_process *process = find_const(world, pid);
	const struct thread *thread = process ? find_thread(process, tid) : NULL;
	return thread && thread->named;
}

/* ---- threads ---- */

static struct thread *make_thread(struct world_process *process, int32_t tid)
{
	struct thread *thread = find_thread(process, tid);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD(hh, process->threads, tid, sizeof(thread->tid), thread);
	if (thread->hh.tbl)
		return thread;
	free(thread);
	return NULL;
}

static void copy_comm(char to[COMM_MAX], const char *from)
{
	size_t size = strnlen(from, COMM_MAX - 1);
	memmove(to, from, size);
	to[size] = '\0';
}

static int set_comm(struct world_process *process, int32_t tid, const char *comm)
{
	struct thread *thread = make_thread(process, tid);
	if (!thread)
		return -ENOMEM;
	thread->named = true;
	copy_comm(thread->comm, comm);
	if (tid == process->pid)
		copy_comm(process->comm, comm);
	return 0;
}

int world_set_thread(struct world *world, int32_t pid, int32_t tid, const char *comm)
{
	struct world_process *process = world_process(world, pid);
	return process ? set_comm(process, tid, comm) : -ENOMEM;
}

/* ---- records ---- */

/* Forgets all mappings but the newest: /proc knows which of them are left. */
static int start_over(struct world_process *process, const struct world_map *newest)
{
	process->doubtful = true;
	process->space->nr = 0;
	return space_add(process->space, newest);
}

int world_mmap(struct world *world, int32_t pid, const struct world_map *map, const char *path,
	       bool executable)
{
	if (map->end <= map->start)
		return 0;
	struct world_process *process = world_process(world, pid);
	if (!process)
		return -ENOMEM;
	/* Data where no code was: what is known of the code stays right. */
	if (!executable && !space_has_any(process->space, map->start, map->end))
		return 0;
	if (space_own(&process->space))
		return -ENOMEM;
	touch(world, process);
	if (!executable)
		return space_cut(process->space, map->start, map->end);
	struct world_map added = *map;
	added.path = intern(world, path, strlen(path));
	added.module = NULL;
	if (!added.path)
		return -ENOMEM;
	return process->space->nr < MAPS_MAX ? space_add(process->space, &added)
					     : start_over(process, &added);
}

/* A new thread is called as the one that made it, if that is known. */
static int inherit_comm(const struct world *world, struct world_process *process, int32_t tid,
			int32_t parent_pid, int32_t parent_tid)
{
	const char *comm = world_comm_of(world, parent_pid, parent_tid);
	if (comm[0])
		return set_comm(process, tid, comm);
	return make_thread(process, tid) ? 0 : -ENOMEM;
}

int world_fork(struct world *world, int32_t pid, int32_t tid, int32_t parent_pid,
	       int32_t parent_tid)
{
	if (pid != parent_pid) {
		/* A pid that is there already was reused: its end went unseen. */
		struct world_process *stale = world_find(world, pid);
		if (stale)
			forget_process(world, stale);
	}
	struct world_process *process = world_process(world, pid);
	if (!process)
		return -ENOMEM;
	const struct world_process *parent = find_const(world, parent_pid);
	if (parent && parent != process) {
		space_leave(process->space);
		process->space = space_share(parent->space);
		process->doubtful = parent->doubtful;
	}
	return inherit_comm(world, process, tid, parent_pid, parent_tid);
}

static int exec(struct world *world, struct world_process *process, int32_t tid)
{
	struct space *fresh = space_new();
	if (!fresh)
		return -ENOMEM;
	space_leave(process->space);
	process->space = fresh;
	process->exec_count = ++world->last_image;
	process->nr_execs++;
	process->doubtful = false; /* its mappings follow as records */
	touch(world, process);
	/* Only the thread that called exec is left, under the leader's id. */
	struct thread *thread, *next;
	HASH_ITER (hh, process->threads, thread, next) {
		if (thread->tid != tid)
			forget_thread(process, thread);
	}
	return 0;
}

int world_comm(struct world *world, int32_t pid, int32_t tid, const char *comm, bool is_exec)
{
	struct world_process *process = world_process(world, pid);
	if (!process)
		return -ENOMEM;
	int result = is_exec ? exec(world, process, tid) : 0;
	return result ? result : set_comm(process, tid, comm);
}

int world_exit(struct world *world, int32_t pid, int32_t tid)
{
	struct world_process *process = world_find(world, pid);
	if (!process)
		return 0;
	struct thread *thread = find_thread(process, tid);
	if (thread)
		forget_thread(process, thread);
	if (!process->threads)
		forget_process(world, process);
	return 0;
}

/* ---- what /proc says ---- */

static int add_line(struct world *world, struct space *space, const struct maps_line *line)
{
	char path[PATH_MAX];
	size_t path_bytes = maps_path(line, path, sizeof(path));
	const struct world_map map = {
		.start = line->start,
		.end = line->end,
		.file_offset = line->file_offset,
		.identity = {.device_major = line->device_major,
			     .device_minor = line->device_minor,
			     .inode = line->inode},
		.path = intern(world, path, path_bytes),
	};
	return map.path ? space_add(space, &map) : -ENOMEM;
}

int world_set_maps(struct world *world, int32_t pid, const char *text, size_t size)
{
	struct world_process *process = world_process(world, pid);
	struct space *space = space_new();
	if (!process || !space) {
		space_leave(space);
		return -ENOMEM;
	}
	size_t at = 0, nr = 0;
	struct maps_line line;
	int got, result = 0;
	while (!result && (got = maps_next(text, size, &at, &line))) {
		if (got < 0)
			continue;
		nr++;
		if (line.executable && space->nr < MAPS_SET_MAX)
			result = add_line(world, space, &line);
	}
	if (!result && !nr)
		result = -EAGAIN;
	if (result) {
		space_leave(space);
		return result;
	}
	space_leave(process->space);
	process->space = space;
	process->doubtful = false;
	touch(world, process);
	return 0;
}

void world_doubt_all(struct world *world)
{
	struct world_process *process, *next;
	HASH_ITER (hh, world->processes, process, next) {
		process->doubtful = true;
	}
}
