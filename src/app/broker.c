/* SPDX-License-Identifier: MIT */
#include "broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>
#include <ctop/object/locate.h>

#include "proc_text.h"

/* Files kept open at most; further ones are opened anew for each child that asks. */
enum { KEPT_FILES_MAX = 2048 };
/* Threads of a process that are named to the collector; the rest show their leader's comm. */
enum { THREADS_MAX = 100000 };

struct file_key {
	uint32_t kind;
	uint32_t reserved;
	struct module_identity file;
	uint64_t path_hash;
	int64_t pid; /* of generated code: a map is its process's own; else 0 */
};

struct kept_file {
	struct file_key key;
	int fd;		  /* -1: opened anew for each who asks */
	unsigned refused; /* to these readers (enum broker_reader) */
	bool is_told;	  /* that there is none */
	UT_hash_handle hh;
};

struct broker {
	struct kept_file *files;
	bool recorded;
	/* Modules of a file without one here: another has their place, or none. */
	struct absent {
		size_t nr;
		char first[128];
	} others, missing, debug_only;
	char notice[512];
	struct {
		char **items; /* see broker_unreadable() */
		size_t nr, capacity;
	} unreadable;
};

struct broker *broker_new(void)
{
	return calloc(1, sizeof(struct broker));
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	struct kept_file *file, *next;
	HASH_ITER (hh, broker->files, file, next) {
		HASH_DEL(broker->files, file);
		if (file->fd >= 0)
			close(file->fd);
		free(file);
	}
	for (size_t i = 0; i < broker->unreadable.nr; i++)
		free(broker->unreadable.items[i]);
	free(broker->unreadable.items);
	free(broker);
}

/* A row and its path, copied out of shared memory before anything is decided by them. */
struct module_copy {
	struct module_row row;
	char path[PATH_MAX];
};

static bool copy_module(const struct tables *tables, uint32_t module, struct module_copy *copy)
{
	struct tables_reader reader;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	if (!tables_module(&reader, (struct module_id){module}, &copy->row))
		return false;
	const char *path = tables_string(&reader, copy->row.path);
	size_t size = strnlen(path, sizeof(copy->path) - 1);
	memcpy(copy->path, path, size);
	copy->path[size] = '\0';
	if (copy->row.identity.build_id_size > BUILD_ID_MAX)
		copy->row.identity.build_id_size = 0;
	return true;
}

static struct file_key key_of(const struct module_copy *copy)
{
	struct file_key key;
	memset(&key, 0, sizeof(key)); /* uthash compares padding too */
	key.kind = copy->row.kind;
	module_identity_file_key(&copy->row.identity, &key.file);
	key.pid = copy->row.kind == MODULE_ANON ? copy->row.pid : 0;
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	for (const char *at = copy->path; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	key.path_hash = hash;
	return key;
}

static struct kept_file *find_kept(const struct broker *broker, const struct file_key *key)
{
	struct kept_file *file;
	HASH_FIND(hh, broker->files, key, sizeof(*key), file);
	return file;
}

static struct kept_file *keep(struct broker *broker, const struct file_key *key, int fd)
{
	struct kept_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->key = *key;
	file->fd = fd;
	HASH_ADD(hh, broker->files, key, sizeof(file->key), file);
	return file;
}

void broker_serve_recorded(struct broker *broker)
{
	broker->recorded = true;
}

/* The vdso of the kernel that the tables name, when its own build-id is not known. */
static int open_vdso(const struct tables *tables)
{
	struct tables_reader reader;
	struct module_row row;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	for (uint32_t i = 1; i < reader.nr[TABLE_MODULES]; i++)
		if (tables_module(&reader, (struct module_id){i}, &row) &&
		    row.kind == MODULE_KERNEL && row.identity.build_id_size <= BUILD_ID_MAX)
			return locate_recorded_vdso(row.identity.build_id,
						    row.identity.build_id_size);
	return -ESTALE;
}

static void note_absent(struct broker *broker, const struct module_copy *copy, int code);

static int open_recorded(struct broker *broker, const struct module_copy *copy,
			 const struct locate_request *request)
{
	int fd = locate_recorded_module(request);
	if (fd >= 0 || copy->row.kind != MODULE_FILE)
		return fd;
	int debug = locate_recorded_debug_file(request);
	if (debug < 0)
		return fd;
	note_absent(broker, copy, 0);
	return debug;
}

static int open_file(struct broker *broker, const struct module_copy *copy)
{
	const struct locate_request request = {
		.pid = copy->row.pid,
		.path = copy->path,
		.start = copy->row.start,
		.end = copy->row.end,
		.file_offset = copy->row.file_offset,
		.device_major = copy->row.identity.device_major,
		.device_minor = copy->row.identity.device_minor,
		.inode = copy->row.identity.inode,
		.build_id = copy->row.identity.build_id,
		.build_id_size = copy->row.identity.build_id_size,
	};
	return broker->recorded ? open_recorded(broker, copy, &request) : locate_module(&request);
}

/* Said of the first one only: a map that its maker got wrong is asked for again and again. */
static void note_refused_map(struct broker *broker, int32_t pid, int code)
{
	if (code == -ENOENT || broker->notice[0])
		return;
	const char *why = code == -EPERM		      ? "it is not the process's own file"
			  : code == -EFBIG		      ? "it is too large"
			  : code == -EINVAL || code == -ELOOP ? "it is not a regular file"
			  : code == -EUCLEAN		      ? "it could not be read"
							      : strerror(-code);
	snprintf(broker->notice, sizeof(broker->notice),
		 "the perf map of process %d is not used: %s", pid, why);
}

static int open_perf_map(struct broker *broker, int32_t pid)
{
	int fd = locate_perf_map(pid);
	if (fd < 0)
		note_refused_map(broker, pid, fd);
	return fd;
}

/* The file of a module that has one, as it was opened first; *kept: it stays the broker's. */
static int kept_descriptor(struct broker *broker, const struct file_key *key,
			   struct kept_file *file, const struct module_copy *copy, bool *kept)
{
	*kept = true;
	if (file && file->fd >= 0)
		return file->fd;
	int fd = open_file(broker, copy);
	file = find_kept(broker, key); /* what was said of it is kept, too */
	bool has_room = fd >= 0 && HASH_COUNT(broker->files) < KEPT_FILES_MAX;
	if (has_room && file)
		file->fd = fd;
	else if (!has_room || !keep(broker, key, fd))
		*kept = false;
	return fd;
}

static int open_kernel(const struct broker *broker, const struct module_row *row)
{
	if (broker->recorded)
		return locate_recorded_kernel(row->identity.build_id,
					      row->identity.build_id_size, row->start);
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A descriptor or -errno; *kept: it stays the broker's. */
static int descriptor_for(struct broker *broker, enum broker_reader reader,
			  const struct module_copy *copy, bool *kept)
{
	const struct file_key key = key_of(copy);
	struct kept_file *file = find_kept(broker, &key);
	*kept = false;
	if (file && file->refused & reader)
		return -EUCLEAN;
	switch (copy->row.kind) {
	case MODULE_KERNEL:
		return open_kernel(broker, &copy->row);
	case MODULE_ANON:
		return broker->recorded ? -ENOENT : open_perf_map(broker, copy->row.pid);
	case MODULE_FILE:
	case MODULE_VDSO:
		return kept_descriptor(broker, &key, file, copy, kept);
	default:
		return -EINVAL;
	}
}

static void add_absent(struct text *text, const struct absent *absent, const char *why)
{
	if (!absent->nr)
		return;
	text_addf(text, "%s%zu module%s %s (", text->size ? "; " : "", absent->nr,
		  absent->nr == 1 ? "" : "s", why);
	text_add_safe(text, absent->first);
	text_add(text, absent->nr > 1 ? ", ...)" : ")");
}

/* Each module of a file once, whoever asks for it. A code of 0: only its debug file is here. */
static void note_absent(struct broker *broker, const struct module_copy *copy, int code)
{
	const struct file_key key = key_of(copy);
	struct kept_file *file = find_kept(broker, &key);
	if (!file)
		file = keep(broker, &key, -1);
	if (!file || file->is_told || code == -EUCLEAN || copy->row.kind == MODULE_ANON)
		return;
	file->is_told = true;
	struct absent *absent = code >= 0	  ? &broker->debug_only
				: code == -ENOENT ? &broker->missing
						  : &broker->others;
	if (!absent->nr++)
		snprintf(absent->first, sizeof(absent->first), "%.127s", copy->path);
	struct text text = {0};
	add_absent(&text, &broker->others,
		   "without names: what is here is not proved to be what was recorded");
	add_absent(&text, &broker->missing, "without names: not here");
	add_absent(&text, &broker->debug_only,
		   "with names, but without code: only the debug file is here");
	snprintf(broker->notice, sizeof(broker->notice), "%s", text_string(&text));
	text_release(&text);
}

const char *broker_notice(const struct broker *broker)
{
	return broker->notice;
}

static int answer(struct channel *channel, enum message_kind kind,
		  const struct message_module *request, int fd, bool kept)
{
	struct message message = {.kind = kind, .module = *request};
	message.module.error = fd < 0 ? fd : 0;
	int result = protocol_send(channel, &message, fd < 0 ? -1 : fd);
	if (fd >= 0 && !kept)
		close(fd);
	return result;
}

int broker_answer_module(struct broker *broker, struct channel *channel, enum broker_reader reader,
			 const struct message_module *request, const struct tables *tables)
{
	struct module_copy copy;
	bool kept = false;
	int fd = -ENOENT;
	if (tables && copy_module(tables, request->module, &copy)) {
		fd = descriptor_for(broker, reader, &copy, &kept);
		if (broker->recorded && fd < 0 && copy.row.kind == MODULE_VDSO &&
		    !copy.row.identity.build_id_size)
			fd = open_vdso(tables);
		if (fd < 0 && broker->recorded)
			note_absent(broker, &copy, fd);
	}
	return answer(channel, MESSAGE_MODULE, request, fd, kept);
}

static bool is_refused(const struct broker *broker, enum broker_reader reader,
		       const struct module_copy *copy)
{
	const struct file_key key = key_of(copy);
	const struct kept_file *file = find_kept(broker, &key);
	return file && file->refused & reader;
}

int broker_answer_debug_file(struct broker *broker, struct channel *channel,
			     enum broker_reader reader, const struct message_module *request,
			     const struct tables *tables)
{
	struct module_copy copy;
	int fd = -ENOENT;
	if (tables && copy_module(tables, request->module, &copy))
		fd = is_refused(broker, reader, &copy)
			     ? -EUCLEAN
			     : locate_debug_file(request->build_id, request->build_id_size,
						 request->name[0] ? request->name : NULL,
						 copy.path);
	return answer(channel, MESSAGE_DEBUG_FILE, request, fd, false);
}

/* Out of memory only means that nobody is told. */
static void note_unreadable(struct broker *broker, enum broker_reader reader, const char *path)
{
	struct text text = {0};
	text_addf(&text, "%s (%s)", path, reader == BROKER_COLLECTOR ? "stacks" : "names");
	char *copy = text.failed ? NULL : strdup(text_string(&text));
	if (copy && !vec_reserve(&broker->unreadable, broker->unreadable.nr + 1))
		broker->unreadable.items[broker->unreadable.nr++] = copy;
	else
		free(copy);
	text_release(&text);
}

void broker_set_unreadable(struct broker *broker, enum broker_reader reader,
			   const struct tables *tables, uint32_t module)
{
	struct module_copy copy;
	if (!copy_module(tables, module, &copy))
		return;
	const struct file_key key = key_of(&copy);
	struct kept_file *file = find_kept(broker, &key);
	if (!file)
		file = keep(broker, &key, -1);
	if (!file || file->refused & reader)
		return;
	file->refused |= reader;
	if (copy.row.kind == MODULE_ANON)
		note_refused_map(broker, copy.row.pid, -EUCLEAN);
	else
		note_unreadable(broker, reader, copy.path);
}

const char *const *broker_unreadable(const struct broker *broker, size_t *nr)
{
	*nr = broker->unreadable.nr;
	return (const char *const *)broker->unreadable.items;
}

/* ---- processes ---- */

static void read_comm(int32_t pid, int32_t tid, char comm[COMM_MAX])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	memset(comm, 0, COMM_MAX);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t size = read(fd, comm, COMM_MAX - 1);
	close(fd);
	if (size > 0 && comm[size - 1] == '\n')
		comm[size - 1] = '\0';
}

/* The maps through a thread: those of a leader that has exited are empty. A descriptor or -errno. */
static int open_maps(int32_t pid, int32_t tid)
{
	char path[64], byte;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &byte, 1, 0) == 1)
		return fd;
	close(fd);
	return -ENODATA;
}

static int send_threads(struct channel *channel, struct message *message)
{
	int result = message->threads.nr ? protocol_send(channel, message, -1) : 0;
	message->threads.nr = 0;
	return result;
}

/* Names every thread, and opens the maps through the first one that has any. */
static int list_threads(struct channel *channel, int32_t pid, int *maps_fd)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	*maps_fd = -ENODATA;
	DIR *dir = opendir(path);
	if (!dir) {
		*maps_fd = -errno;
		return 0;
	}
	struct message message = {.kind = MESSAGE_THREADS, .threads = {.pid = pid}};
	const struct dirent *entry;
	int result = 0, nr = 0;
	while (!result && nr++ < THREADS_MAX && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (*maps_fd == -ENODATA)
			*maps_fd = open_maps(pid, tid);
		uint32_t at = message.threads.nr++;
		message.threads.threads[at].tid = tid;
		read_comm(pid, tid, message.threads.threads[at].comm);
		if (message.threads.nr == PROTOCOL_THREADS_MAX)
			result = send_threads(channel, &message);
	}
	closedir(dir);
	return result ? result : send_threads(channel, &message);
}

int broker_answer_process(struct channel *channel, const struct message_process *request)
{
	int maps_fd = -1;
	int result = list_threads(channel, request->pid, &maps_fd);
	struct message message = {.kind = MESSAGE_PROCESS, .process = *request};
	message.process.error = maps_fd < 0 ? maps_fd : 0;
	if (!result)
		result = protocol_send(channel, &message, maps_fd < 0 ? -1 : maps_fd);
	if (maps_fd >= 0)
		close(maps_fd);
	return result;
}

int broker_answer_owner(struct channel *channel, const struct message_owner *request)
{
	struct message message = {.kind = MESSAGE_OWNER, .owner = {.pid = request->pid}};
	struct message_owner *owner = &message.owner;
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/status", request->pid);
	FILE *file = fopen(path, "re");
	owner->error = -ESRCH;
	while (file && owner->error && fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %u %u", &owner->uid, &owner->effective_uid) == 2)
			owner->error = 0;
	if (file)
		fclose(file);
	return protocol_send(channel, &message, -1);
}

/* Descendants that are told of: far more than are ever born in the moment that matters. */
enum { DESCENDANTS_MAX = 256 };

/* The children of one thread, as text (proc_tid_children(5)); empty where the kernel does not tell. */
static void read_children(int32_t pid, int32_t tid, char *text, size_t size)
{
	char what[64];
	snprintf(what, sizeof(what), "task/%d/children", tid);
	proc_text(pid, what, text, size);
}

static void list_children(int32_t pid, int32_t *pids, size_t *nr)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		read_children(pid, tid, text, sizeof(text));
		char *at = text, *end;
		for (long child; *nr < DESCENDANTS_MAX && (child = strtol(at, &end, 10)) > 0;
		     at = end)
			pids[(*nr)++] = (int32_t)child;
	}
	if (dir)
		closedir(dir);
}

int broker_describe_tree(struct channel *channel, int32_t pid)
{
	int32_t pids[DESCENDANTS_MAX] = {pid};
	size_t nr = 1;
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct message_process process = {.pid = pids[i]};
		list_children(pids[i], pids, &nr);
		result = broker_answer_process(channel, &process);
	}
	return result;
}
