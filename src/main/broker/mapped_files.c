/* SPDX-License-Identifier: MIT */
#include <ctop/broker/mapped_files.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/kernel/maps.h>
#include <ctop/system/proc_text.h>

/* Of a machine that was watched for days: a file takes some 200 bytes, a process 64. */
enum { FILES_MAX = 32768, PROCESSES_MAX = 262144 };
/* Mappings remembered of one file: of the processes that mapped it last. */
enum { PLACES_MAX = 4 };
/* Files remembered of one path: a target that replaces its file for ever makes no long lists. */
enum { FILES_OF_PATH_MAX = 16 };

struct place {
	int32_t pid;
	uint64_t start, end, file_offset;
};

struct file_id {
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint32_t generation;
};

struct named_file {
	struct file_id id;
	struct place places[PLACES_MAX];
	unsigned nr_places; /* ever */
	struct path *path;
	struct named_file *next_of_path;
	struct named_file *prev, *next; /* of all, oldest first */
};

struct path {
	struct named_file *files;
	bool is_dump;
	UT_hash_handle hh;
	char string[];
};

struct process {
	int32_t pid;
	bool leader_ended;
	uint64_t seen_ns;	       /* it had its pid then: who started later is another */
	int32_t parent_pid;	       /* whom it was forked from; 0: no record told */
	uint64_t forked_ns, mapped_ns; /* when it mapped code last */
	UT_hash_handle hh;
};

struct mapped_files {
	struct path *paths;
	struct named_file *files;
	size_t nr_files;
	struct process *processes;
	bool everybody;
	bool among_others;
};

struct mapped_files *mapped_files_new(void)
{
	return calloc(1, sizeof(struct mapped_files));
}

static void drop_path(struct mapped_files *files, struct path *path)
{
	HASH_DEL(files->paths, path);
	free(path);
}

static void drop_file(struct mapped_files *files, struct named_file *file)
{
	DL_DELETE(files->files, file);
	LL_DELETE2(file->path->files, file, next_of_path);
	if (!file->path->files)
		drop_path(files, file->path);
	free(file);
	files->nr_files--;
}

static void drop_process(struct mapped_files *files, struct process *process)
{
	HASH_DEL(files->processes, process);
	free(process);
}

void mapped_files_free(struct mapped_files *files)
{
	if (!files)
		return;
	while (files->files)
		drop_file(files, files->files);
	while (files->processes)
		drop_process(files, files->processes);
	free(files);
}

/* ---- processes ---- */

void mapped_files_take_everybody(struct mapped_files *files)
{
	files->everybody = true;
}

void mapped_files_expect_others(struct mapped_files *files)
{
	files->among_others = true;
}

static struct process *find_process(const struct mapped_files *files, int32_t pid)
{
	struct process *process;
	HASH_FIND_INT(files->processes, &pid, process);
	return process;
}

/* Other threads may outlive the leader: then it shows as a zombie. Who has the number later does not. */
static bool is_zombie(int32_t pid)
{
	struct stat_line line;
	return proc_stat_line(pid, pid, &line) && line.state == 'Z';
}

bool mapped_files_has_process(const struct mapped_files *files, int32_t pid)
{
	if (files->everybody)
		return pid > 0;
	const struct process *process = find_process(files, pid);
	const uint64_t started_ns = process ? proc_start_ns(pid) : 0;
	return started_ns && started_ns <= process->seen_ns &&
	       (!process->leader_ended || is_zombie(pid));
}

size_t mapped_files_processes(const struct mapped_files *files, int32_t *pids, size_t most)
{
	const struct process *process, *next;
	size_t nr = 0;
	for (process = files->processes; process && nr < most; process = next) {
		next = process->hh.next;
		if (!process->leader_ended)
			pids[nr++] = process->pid;
	}
	return nr;
}

static void drop_ended(struct mapped_files *files)
{
	struct process *process, *next;
	HASH_ITER (hh, files->processes, process, next)
		if (process->leader_ended)
			drop_process(files, process);
}

static struct process *need_process(struct mapped_files *files, int32_t pid)
{
	struct process *process = find_process(files, pid);
	if (process || files->everybody || pid <= 0)
		return process;
	if (HASH_COUNT(files->processes) >= PROCESSES_MAX)
		drop_ended(files);
	if (HASH_COUNT(files->processes) >= PROCESSES_MAX)
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD_INT(files->processes, pid, process);
	return process;
}

/* The rings of several CPUs are read one after the other: what comes later may be older. */
static void see_process(struct process *process, uint64_t seen_ns, bool leader_ended)
{
	if (!process || seen_ns < process->seen_ns)
		return;
	process->seen_ns = seen_ns;
	process->leader_ended = leader_ended;
}

void mapped_files_add_process(struct mapped_files *files, int32_t pid, uint64_t seen_ns)
{
	see_process(need_process(files, pid), seen_ns, false);
}

static void see_fork(struct process *process, int32_t parent_pid, uint64_t time_ns)
{
	if (!process || time_ns < process->forked_ns)
		return;
	process->parent_pid = parent_pid;
	process->forked_ns = time_ns;
}

static void see_code(struct process *process, uint64_t time_ns)
{
	if (process && process->mapped_ns < time_ns)
		process->mapped_ns = time_ns;
}

int32_t mapped_files_same_image(const struct mapped_files *files, int32_t pid)
{
	const struct process *process = find_process(files, pid);
	const struct process *parent =
		process && process->parent_pid ? find_process(files, process->parent_pid) : NULL;
	/* exec maps code. The parent's own fork may be newer than the child's: its pid was given again. */
	if (!parent || process->mapped_ns >= process->forked_ns ||
	    parent->mapped_ns >= process->forked_ns || parent->forked_ns >= process->forked_ns)
		return 0;
	return parent->pid;
}

/* ---- files ---- */

static struct path *find_path(const struct mapped_files *files, const char *string)
{
	struct path *path;
	HASH_FIND_STR(files->paths, string, path);
	return path;
}

static bool is_dump(const char *path)
{
	static const char before[] = "/jit-", behind[] = ".dump";
	const char *name = strrchr(path, '/');
	if (!name || strncmp(name, before, sizeof(before) - 1) != 0)
		return false;
	name += sizeof(before) - 1;
	const size_t digits = strspn(name, "0123456789");
	return digits && strcmp(name + digits, behind) == 0;
}

static struct path *need_path(struct mapped_files *files, const char *string)
{
	struct path *path = find_path(files, string);
	if (path)
		return path;
	size_t size = strlen(string) + 1;
	path = calloc(1, sizeof(*path) + size);
	if (!path)
		return NULL;
	memcpy(path->string, string, size);
	path->is_dump = is_dump(string);
	HASH_ADD_KEYPTR(hh, files->paths, path->string, size - 1, path);
	return path;
}

static bool same_file(const struct file_id *a, const struct file_id *b)
{
	/* Maps know no generation. */
	return a->inode == b->inode && a->device_major == b->device_major &&
	       a->device_minor == b->device_minor &&
	       (!a->generation || !b->generation || a->generation == b->generation);
}

static struct named_file *need_file(struct mapped_files *files, const char *string,
				    const struct file_id *id)
{
	struct path *path = need_path(files, string);
	struct named_file *file, *oldest = NULL;
	unsigned nr = 0;
	if (!path)
		return NULL;
	LL_FOREACH2(path->files, file, next_of_path)
	{
		if (same_file(&file->id, id))
			return file;
		oldest = file;
		nr++;
	}
	file = calloc(1, sizeof(*file));
	if (!file) {
		if (!path->files)
			drop_path(files, path);
		return NULL;
	}
	file->id = *id;
	file->path = path;
	LL_PREPEND2(path->files, file, next_of_path);
	DL_APPEND(files->files, file);
	files->nr_files++;
	if (nr >= FILES_OF_PATH_MAX)
		drop_file(files, oldest);
	else if (files->nr_files > FILES_MAX)
		drop_file(files, files->files);
	return file;
}

/* The file, if it was not known before; NULL. */
static const struct named_file *take_mapping(struct mapped_files *files, const char *path,
					     const struct file_id *id, const struct place *place)
{
	if (path[0] != '/' || !id->inode)
		return NULL;
	struct named_file *file = need_file(files, path, id);
	if (!file)
		return NULL;
	bool is_fresh = !file->nr_places;
	if (id->generation)
		file->id.generation = id->generation;
	for (unsigned i = 0; i < PLACES_MAX && i < file->nr_places; i++)
		if (file->places[i].pid == place->pid && file->places[i].start == place->start)
			return NULL;
	file->places[file->nr_places++ % PLACES_MAX] = *place;
	return is_fresh ? file : NULL;
}

static struct mapped_file file_at(const struct named_file *file, const struct place *place)
{
	return (struct mapped_file){
		.path = file->path->string,
		.device_major = file->id.device_major,
		.device_minor = file->id.device_minor,
		.inode = file->id.inode,
		.generation = file->id.generation,
		.pid = place->pid,
		.start = place->start,
		.end = place->end,
		.file_offset = place->file_offset,
	};
}

static bool take_mmap(struct mapped_files *files, const struct record *record,
		      struct mapped_file *fresh)
{
	const struct record_mmap *mmap = &record->mmap;
	const struct file_id id = {
		.inode = mmap->inode,
		.device_major = mmap->device_major,
		.device_minor = mmap->device_minor,
		.generation = (uint32_t)mmap->generation,
	};
	const struct place place = {record->pid, mmap->start, mmap->start + mmap->length,
				    mmap->file_offset};
	const struct named_file *file = mmap->executable && !mmap->build_id_size
						? take_mapping(files, mmap->path, &id, &place)
						: NULL;
	if (file)
		*fresh = file_at(file, &place);
	return file != NULL;
}

/* Whose record it is: of a fork, the parent. */
static int32_t whose(const struct record *record)
{
	return record->type == PERF_RECORD_FORK ? record->fork.parent_pid : record->pid;
}

bool mapped_files_take(struct mapped_files *files, const struct record *record,
		       struct mapped_file *fresh)
{
	if (files->among_others && !find_process(files, whose(record))) {
		/* The number of one of ours is somebody else's child's now. */
		struct process *former =
			record->type == PERF_RECORD_FORK && record->pid == record->tid
				? find_process(files, record->pid)
				: NULL;
		if (former && record->time_ns >= former->seen_ns)
			drop_process(files, former);
		return false;
	}
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		see_process(need_process(files, record->pid), record->time_ns, false);
		if (record->mmap.executable)
			see_code(find_process(files, record->pid), record->time_ns);
		return take_mmap(files, record, fresh);
	case PERF_RECORD_FORK:
		if (record->pid == record->tid)
			see_process(need_process(files, record->pid), record->time_ns, false);
		if (record->pid != record->fork.parent_pid)
			see_fork(find_process(files, record->pid), record->fork.parent_pid,
				 record->time_ns);
		break;
	case PERF_RECORD_EXIT:
		if (record->pid == record->tid)
			see_process(find_process(files, record->pid), record->time_ns, true);
		break;
	default:
		break;
	}
	return false;
}

void mapped_files_take_maps(struct mapped_files *files, int32_t pid, const char *text, size_t size)
{
	struct maps_line line;
	size_t at = 0;
	int got;
	while ((got = maps_next(text, size, &at, &line))) {
		char path[PATH_MAX];
		if (got < 0 || !line.executable)
			continue;
		maps_path(&line, path, sizeof(path));
		const struct file_id id = {
			.inode = line.inode,
			.device_major = line.device_major,
			.device_minor = line.device_minor,
		};
		const struct place place = {pid, line.start, line.end, line.file_offset};
		take_mapping(files, path, &id, &place);
	}
}

/* ---- look-ups ---- */

static const struct place *place_of(const struct named_file *file, int32_t pid, uint64_t start,
				    bool *exact)
{
	const unsigned nr = file->nr_places < PLACES_MAX ? file->nr_places : PLACES_MAX;
	for (unsigned i = 0; i < nr; i++) {
		*exact = file->places[i].pid == pid && file->places[i].start == start;
		if (*exact)
			return &file->places[i];
	}
	return &file->places[(file->nr_places - 1) % PLACES_MAX];
}

bool mapped_files_find(const struct mapped_files *files, const char *path, uint64_t inode,
		       int32_t pid, uint64_t start, struct mapped_file *found)
{
	const struct path *of_path = find_path(files, path);
	const struct named_file *file, *best = NULL;
	const struct place *place = NULL;
	bool exact = false;
	for (file = of_path ? of_path->files : NULL; file && !exact; file = file->next_of_path) {
		if (!file->nr_places || (inode && file->id.inode != inode))
			continue;
		const struct place *here = place_of(file, pid, start, &exact);
		if (best && !exact)
			continue; /* the newest is the first */
		best = file;
		place = here;
	}
	if (!best)
		return false;
	*found = file_at(best, place);
	return true;
}

bool mapped_files_find_dump(const struct mapped_files *files, int32_t pid,
			    struct mapped_file *found)
{
	const struct named_file *file = files->files ? files->files->prev : NULL;
	for (size_t i = 0; i < files->nr_files; i++, file = file->prev) {
		const unsigned nr = file->nr_places < PLACES_MAX ? file->nr_places : PLACES_MAX;
		for (unsigned place = 0; file->path->is_dump && place < nr; place++)
			if (file->places[place].pid == pid) {
				*found = file_at(file, &file->places[place]);
				return true;
			}
	}
	return false;
}
