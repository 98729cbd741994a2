/* SPDX-License-Identifier: MIT */
#include <ctop/proc/process_table.h>

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
	bool used; /* only while process_table_drop_names() looks */
	char string[];
};

/* Programs' comms have 15 bytes; those of the kernel's workers up to this many. */
enum { COMM_MAX = 64 };

/*
 * There is no munmap record: what a process maps elsewhere again and again piles up. Above the
 * limit its maps are asked for again; that leaves room, so that asking stays rare.
 */
enum { MAPS_MAX = 16384, MAPS_SET_MAX = MAPS_MAX / 2 };

struct thread {
	int32_t tid;
	bool named;	   /* false: forked by one whose name is not known */
	bool is_of_record; /* its name, not /proc's */
	char comm[COMM_MAX];
	UT_hash_handle hh;
};

struct process {
	int32_t pid;
	uint32_t exec_count;
	uint32_t nr_execs; /* seen of this process */
	uint64_t generation;
	uint64_t started_ns; /* 0: not known */
	uint64_t exec_ns;    /* of its last exec; 0: none was seen */
	bool doubtful;
	bool may_be_in_exec;
	int32_t same_image; /* while doubtful: whose maps are its own; 0: nobody's known */
	uint32_t image;	    /* that one's exec_count */
	struct space *space;
	struct thread *threads;
	char comm[COMM_MAX]; /* the leader's, also when it has exited */
	UT_hash_handle hh;
};

struct process_table {
	struct process *processes;
	struct name *names;
	uint64_t last_generation;
	uint64_t nr_changes; /* of names */
	uint32_t last_image; /* of exec_count: no pid sees a number again, though it is reused */
};

/* ---- life ---- */

struct process_table *process_table_new(void)
{
	return calloc(1, sizeof(struct process_table));
}

static void forget_thread(struct process *process, struct thread *thread)
{
	HASH_DEL(process->threads, thread);
	free(thread);
}

static void forget_threads(struct process *process)
{
	struct thread *thread, *next;
	HASH_ITER (hh, process->threads, thread, next) {
		forget_thread(process, thread);
	}
}

static void forget_process(struct process_table *processes, struct process *process)
{
	processes->nr_changes++;
	forget_threads(process);
	space_leave(process->space);
	HASH_DEL(processes->processes, process);
	free(process);
	processes->last_image++;
}

void process_table_forget_all(struct process_table *processes)
{
	struct process *process, *next;
	HASH_ITER (hh, processes->processes, process, next) {
		forget_process(processes, process);
	}
}

void process_table_free(struct process_table *processes)
{
	if (!processes)
		return;
	process_table_forget_all(processes);
	struct name *name, *next_name;
	HASH_ITER (hh, processes->names, name, next_name) {
		HASH_DEL(processes->names, name);
		free(name);
	}
	free(processes);
}

/* NULL: out of memory. */
static const char *intern(struct process_table *processes, const char *string, size_t size)
{
	struct name *name;
	HASH_FIND(hh, processes->names, string, size, name);
	if (name)
		return name->string;
	name = calloc(1, sizeof(*name) + size + 1);
	if (!name)
		return NULL;
	memcpy(name->string, string, size);
	HASH_ADD_KEYPTR(hh, processes->names, name->string, size, name);
	if (name->hh.tbl)
		return name->string;
	free(name); /* uthash had no memory */
	return NULL;
}

static void mark_name(void *context, struct process *process, struct mapping *map)
{
	struct process_table *processes = context;
	struct name *name;
	(void)process;
	HASH_FIND(hh, processes->names, map->path, strlen(map->path), name);
	if (name)
		name->used = true;
}

void process_table_drop_names(struct process_table *processes)
{
	process_table_each_mapping(processes, mark_name, processes);
	struct name *name, *next;
	HASH_ITER (hh, processes->names, name, next) {
		if (!name->used) {
			HASH_DEL(processes->names, name);
			free(name);
		} else {
			name->used = false;
		}
	}
}

/* ---- look-ups ---- */

struct process *process_table_find(struct process_table *processes, int32_t pid)
{
	struct process *process;
	HASH_FIND(hh, processes->processes, &pid, sizeof(pid), process);
	return process;
}

static void touch(struct process_table *processes, struct process *process)
{
	process->generation = ++processes->last_generation;
}

struct process *process_table_add(struct process_table *processes, int32_t pid)
{
	struct process *process = process_table_find(processes, pid);
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
	process->exec_count = processes->last_image;
	process->doubtful = true;
	touch(processes, process);
	HASH_ADD(hh, processes->processes, pid, sizeof(process->pid), process);
	if (process->hh.tbl)
		return process;
	space_leave(process->space);
	free(process);
	return NULL;
}

int32_t process_pid(const struct process *process)
{
	return process->pid;
}

bool process_doubtful(const struct process *process)
{
	return process->doubtful;
}

uint64_t process_start(const struct process *process)
{
	return process->started_ns;
}

void process_set_start(struct process *process, uint64_t started_ns)
{
	process->started_ns = started_ns;
}

uint64_t process_generation(const struct process *process)
{
	return process->generation;
}

uint32_t process_exec_count(const struct process *process)
{
	return process->exec_count;
}

uint64_t process_exec_ns(const struct process *process)
{
	return process->exec_ns;
}

void process_set_exec(struct process *process, uint64_t exec_ns)
{
	process->exec_ns = exec_ns;
}

bool process_may_be_in_exec(const struct process *process)
{
	return process->may_be_in_exec;
}

void process_note_user(struct process *process)
{
	process->may_be_in_exec = false;
}

uint32_t process_nr_execs(const struct process *process)
{
	return process->nr_execs;
}

const struct mapping *process_mapping_at(const struct process *process, uint64_t process_address)
{
	return space_at(process->space, process_address);
}

int process_set_module(struct process *process, uint64_t process_address, void *module)
{
	/* Who shares the space since a fork is another process, with modules of its own. */
	if (space_own(&process->space))
		return -ENOMEM;
	struct mapping *of = space_at(process->space, process_address);
	if (!of)
		return 0;
	of->module = module;
	for (size_t i = 0; i < process->space->nr; i++) {
		struct mapping *map = &process->space->items[i];
		if (!map->module && map->path == of->path &&
		    module_identity_same(&map->identity, &of->identity))
			map->module = module;
	}
	return 0;
}

void process_table_each_mapping(struct process_table *processes,
				void (*each)(void *context, struct process *process,
					     struct mapping *map),
				void *context)
{
	struct process *process, *next;
	HASH_ITER (hh, processes->processes, process, next) {
		for (size_t i = 0; i < process->space->nr; i++)
			each(context, process, &process->space->items[i]);
	}
}

static struct thread *find_thread(const struct process *process, int32_t tid)
{
	struct thread *thread;
	HASH_FIND(hh, process->threads, &tid, sizeof(tid), thread);
	return thread;
}

static const struct process *find_const(const struct process_table *processes, int32_t pid)
{
	struct process *process;
	HASH_FIND(hh, processes->processes, &pid, sizeof(pid), process);
	return process;
}

const char *process_table_comm_of(const struct process_table *processes, int32_t pid, int32_t tid)
{
	const struct process *process = find_const(processes, pid);
	if (!process)
		return "";
	const struct thread *thread = find_thread(process, tid);
	return thread && thread->named ? thread->comm : process->comm;
}

uint64_t process_table_nr_changes(const struct process_table *processes)
{
	return processes->nr_changes;
}

bool process_table_knows_thread(const struct process_table *processes, int32_t pid, int32_t tid)
{
	const struct process *process = find_const(processes, pid);
	const struct thread *thread = process ? find_thread(process, tid) : NULL;
	return thread && thread->named;
}

/* ---- threads ---- */

static struct thread *make_thread(struct process *process, int32_t tid)
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

static int set_comm(struct process *process, int32_t tid, const char *comm)
{
	struct thread *thread = make_thread(process, tid);
	if (!thread)
		return -ENOMEM;
	thread->named = thread->is_of_record = true;
	copy_comm(thread->comm, comm);
	if (tid == process->pid)
		copy_comm(process->comm, comm);
	return 0;
}

int process_table_set_thread(struct process_table *processes, int32_t pid, int32_t tid,
			     const char *comm)
{
	struct process *process = process_table_add(processes, pid);
	struct thread *thread = process ? make_thread(process, tid) : NULL;
	processes->nr_changes++;
	if (!thread)
		return -ENOMEM;
	if (thread->is_of_record)
		return 0;
	const int result = set_comm(process, tid, comm);
	thread->is_of_record = false;
	return result;
}

/* ---- records ---- */

/* Forgets all mappings but the newest: /proc knows which of them are left. */
static int start_over(struct process *process, const struct mapping *newest)
{
	process->doubtful = true;
	process->space->nr = 0;
	return space_add(process->space, newest);
}

int process_table_mmap(struct process_table *processes, int32_t pid, const struct mapping *map,
		       const char *path, bool executable)
{
	if (map->end <= map->start)
		return 0;
	struct process *process = process_table_add(processes, pid);
	if (!process)
		return -ENOMEM;
	/* Data where no code was: what is known of the code stays right. */
	if (!executable && !space_has_any(process->space, map->start, map->end))
		return 0;
	if (space_own(&process->space))
		return -ENOMEM;
	touch(processes, process);
	if (!executable)
		return space_cut(process->space, map->start, map->end);
	struct mapping added = *map;
	added.path = intern(processes, path, strlen(path));
	added.module = NULL;
	if (!added.path)
		return -ENOMEM;
	return process->space->nr < MAPS_MAX ? space_add(process->space, &added)
					     : start_over(process, &added);
}

/* A new thread is called as the one that made it, if that is known. */
static int inherit_comm(const struct process_table *processes, struct process *process, int32_t tid,
			int32_t parent_pid, int32_t parent_tid)
{
	const char *comm = process_table_comm_of(processes, parent_pid, parent_tid);
	if (comm[0])
		return set_comm(process, tid, comm);
	return make_thread(process, tid) ? 0 : -ENOMEM;
}

static void note_same_image(struct process *process, const struct process *of)
{
	process->same_image = of->pid;
	process->image = of->exec_count;
}

/* The one that has the maps of process, if it is still there and still has them. */
static struct process *find_same_image(struct process_table *processes,
				       const struct process *process)
{
	struct process *of =
		process->same_image ? process_table_find(processes, process->same_image) : NULL;
	return of && of->exec_count == process->image ? of : NULL;
}

void process_table_set_same_image(struct process_table *processes, struct process *process,
				  int32_t pid)
{
	const struct process *of = process_table_find(processes, pid);
	if (of && of != process && process->doubtful && !process->nr_execs && !of->nr_execs)
		note_same_image(process, of);
}

int32_t process_table_same_image(struct process_table *processes, const struct process *process)
{
	const struct process *of = find_same_image(processes, process);
	return of && of->doubtful ? of->pid : 0;
}

int process_table_share_maps(struct process_table *processes, struct process *process)
{
	const struct process *of = find_same_image(processes, process);
	if (!process->doubtful || !of || of->doubtful)
		return -EAGAIN;
	struct space *space = space_share(of->space);
	const struct space *told = process->space; /* what records told of it is its own */
	int result = told->nr ? space_own(&space) : 0;
	for (size_t i = 0; !result && i < told->nr; i++)
		result = space_add(space, &told->items[i]);
	space_leave(result ? space : process->space);
	if (result)
		return result;
	process->space = space;
	process->doubtful = false;
	touch(processes, process);
	return 0;
}

int process_table_fork(struct process_table *processes, int32_t pid, int32_t tid,
		       int32_t parent_pid, int32_t parent_tid)
{
	if (pid != parent_pid) {
		/* A pid that is there already was reused: its end went unseen. */
		struct process *stale = process_table_find(processes, pid);
		if (stale)
			forget_process(processes, stale);
	}
	struct process *process = process_table_add(processes, pid);
	processes->nr_changes++;
	if (!process)
		return -ENOMEM;
	const struct process *parent = find_const(processes, parent_pid);
	if (parent && parent != process) {
		space_leave(process->space);
		process->space = space_share(parent->space);
		process->doubtful = parent->doubtful;
		note_same_image(process, parent);
	}
	return inherit_comm(processes, process, tid, parent_pid, parent_tid);
}

static int exec(struct process_table *processes, struct process *process, int32_t tid)
{
	struct space *fresh = space_new();
	if (!fresh)
		return -ENOMEM;
	space_leave(process->space);
	process->space = fresh;
	process->exec_count = ++processes->last_image;
	process->nr_execs++;
	process->may_be_in_exec = true;
	process->doubtful = false; /* its mappings follow as records */
	process->same_image = 0;
	touch(processes, process);
	/* Only the thread that called exec is left, under the leader's id. */
	struct thread *thread, *next;
	HASH_ITER (hh, process->threads, thread, next) {
		if (thread->tid != tid)
			forget_thread(process, thread);
	}
	return 0;
}

int process_table_comm(struct process_table *processes, int32_t pid, int32_t tid, const char *comm,
		       bool is_exec)
{
	struct process *process = process_table_add(processes, pid);
	processes->nr_changes++;
	if (!process)
		return -ENOMEM;
	int result = is_exec ? exec(processes, process, tid) : 0;
	return result ? result : set_comm(process, tid, comm);
}

int process_table_exit(struct process_table *processes, int32_t pid, int32_t tid)
{
	struct process *process = process_table_find(processes, pid);
	if (!process)
		return 0;
	struct thread *thread = find_thread(process, tid);
	processes->nr_changes++;
	if (thread)
		forget_thread(process, thread);
	if (!process->threads)
		forget_process(processes, process);
	return 0;
}

/* ---- what /proc says ---- */

static int add_line(struct process_table *processes, struct space *space,
		    const struct maps_line *line)
{
	char path[PATH_MAX];
	size_t path_bytes = maps_path(line, path, sizeof(path));
	const struct mapping map = {
		.start = line->start,
		.end = line->end,
		.file_offset = line->file_offset,
		.identity = {.device_major = line->device_major,
			     .device_minor = line->device_minor,
			     .inode = line->inode},
		.path = intern(processes, path, path_bytes),
		.shared = line->shared,
	};
	return map.path ? space_add(space, &map) : -ENOMEM;
}

int process_table_set_maps(struct process_table *processes, int32_t pid, const char *text,
			   size_t size)
{
	struct process *process = process_table_add(processes, pid);
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
			result = add_line(processes, space, &line);
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
	touch(processes, process);
	return 0;
}

void process_table_doubt_all(struct process_table *processes)
{
	struct process *process, *next;
	struct thread *thread, *next_thread;
	HASH_ITER (hh, processes->processes, process, next) {
		process->doubtful = true;
		process->same_image = 0;
		HASH_ITER (hh, process->threads, thread, next_thread)
			thread->is_of_record = false;
	}
}
