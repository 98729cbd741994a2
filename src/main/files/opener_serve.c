/* SPDX-License-Identifier: MIT */
/* The opener's side, and how a request is put into a datagram. */
#include "opener_protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>
#include <ctop/base/promptness.h>
#include <ctop/base/write_all.h>
#include <ctop/files/file_identity.h>
#include <ctop/ipc/datagram.h>
#include <ctop/ipc/protocol.h>
#include <ctop/system/proc_text.h>

#include "kernel_code.h"
#include "kernel_names.h"
#include "locate_internal.h"
#include "own_cache.h"
#include "own_mount.h"
#include "process_code.h"

/* The largest maps seen in the wild are a few MiB. */
enum { MAPS_TEXT_MAX = 64 << 20 };

int opener_message_fill(struct opener_message *message, const struct opener_request *request)
{
	const struct locate_request *of = &request->request;
	const char *path = of->path ? of->path : "";
	const char *debuglink = request->debuglink ? request->debuglink : "";
	if (strlen(path) >= sizeof(message->path) ||
	    strlen(debuglink) >= sizeof(message->debuglink) ||
	    of->build_id_size > sizeof(message->build_id))
		return -E2BIG;
	*message = (struct opener_message){
		.kind = request->kind,
		.candidate = request->candidate,
		.pid = of->pid,
		.device_major = of->device_major,
		.device_minor = of->device_minor,
		.generation = of->generation,
		.start = of->start,
		.end = of->end,
		.file_offset = of->file_offset,
		.inode = of->inode,
		.uid = of->uid,
		.since_ns = of->since_ns,
		.until_ns = of->until_ns,
		.build_id_size = (uint32_t)of->build_id_size,
	};
	if (of->build_id_size)
		memcpy(message->build_id, of->build_id, of->build_id_size);
	strcpy(message->path, path);
	strcpy(message->debuglink, debuglink);
	return 0;
}

static int open_maps(int32_t pid, const char *thread)
{
	char path[320], byte;
	snprintf(path, sizeof(path), "/proc/%d/task/%s/maps", pid, thread);
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &byte, 1, 0) == 1)
		return fd;
	close(fd);
	return -ENODATA;
}

/* Through the first thread that has any: those of a leader that has exited are empty. */
static int open_maps_of_any(int32_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = proc_opendir(path);
	const struct dirent *entry;
	int fd = dir ? -ENODATA : -errno;
	while (fd == -ENODATA && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fd = open_maps(pid, entry->d_name);
	if (dir)
		closedir(dir);
	return fd;
}

static int copy_text(int from, int to, size_t most)
{
	char bytes[64 << 10];
	size_t size = 0;
	ssize_t got;
	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		size += (size_t)got;
		int result = size > most ? -EFBIG : write_all(to, bytes, (size_t)got);
		if (result)
			return result;
	}
	return got < 0 ? -errno : size ? 0 : -ENODATA;
}

/* What was written, for nobody to change. A descriptor of sealed memory, or -errno. */
static int seal(int to, int result)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	if (!result && (lseek(to, 0, SEEK_SET) < 0 || fcntl(to, F_ADD_SEALS, seals)))
		result = -errno;
	if (result && to >= 0)
		close(to);
	return result ? result : to;
}

/* The text as it is now, once: main and its child read the same. */
static int copy_maps(int32_t pid)
{
	int from = open_maps_of_any(pid);
	if (from < 0)
		return from;
	int to = memfd_create("maps", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = to < 0 ? -errno : copy_text(from, to, MAPS_TEXT_MAX);
	close(from);
	return seal(to, result);
}

static int copy_command(int32_t pid)
{
	char text[OPENER_COMMAND_MAX];
	const size_t size = proc_text(pid, "cmdline", text, sizeof(text));
	int to = memfd_create("cmdline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = to < 0 ? -errno : write_all(to, text, size);
	return seal(to, result);
}

static int copy_code(const struct locate_request *request)
{
	static uint8_t bytes[PROTOCOL_CODE_MAX];
	if (request->start >= request->end || request->end - request->start > sizeof(bytes))
		return -EINVAL;
	const ssize_t got = process_code_read(request->pid, request->start, request->end, bytes);
	if (got < 0)
		return (int)got;
	int to = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = to < 0 ? -errno : write_all(to, bytes, (size_t)got);
	return seal(to, result);
}

static int copy_kernel_code(const struct opener_message *message, uint64_t *whole_bytes)
{
	static uint8_t bytes[OPENER_KERNEL_CODE_MAX];
	const ssize_t got =
		kernel_code_read(message->start, message->path[0] ? message->path : NULL, bytes,
				 sizeof(bytes), whole_bytes);
	if (got < 0)
		return (int)got;
	int to = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result = to < 0 ? -errno : write_all(to, bytes, (size_t)got);
	return seal(to, result);
}

/* Looked up and opened as the user who called ctop, who may be less than we are: whoever made a program chose the path. */
static int open_as_invoking(const char *path)
{
	const uid_t uid = invoking_uid();
	if (uid == geteuid())
		return open_regular_in(AT_FDCWD, path, 0);
	const struct privilege_before before = privilege_raise(PRIVILEGE_BECOME);
	int fd = -EPERM;
	const bool has_no_groups = setgroups(0, NULL) == 0;
	setfsgid(invoking_gid());
	setfsuid(uid);
	if (has_no_groups && setfsuid((uid_t)-1) == (int)uid)
		fd = open_regular_in(AT_FDCWD, path, 0);
	setfsuid(geteuid());
	setfsgid(getegid());
	privilege_restore(&before);
	return fd;
}

static int copy_source(const char *path, int64_t *written_ns)
{
	struct stat status = {0};
	int from = open_as_invoking(path);
	if (from < 0)
		return from;
	int result = fstat(from, &status) ? -errno : 0;
	if (!result && status.st_size > OPENER_SOURCE_MAX)
		result = -EFBIG;
	int to = result ? result : memfd_create("source", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (!result)
		result = to < 0 ? -errno : copy_text(from, to, OPENER_SOURCE_MAX);
	close(from);
	*written_ns = (int64_t)status.st_mtim.tv_sec * (int64_t)NS_PER_SECOND +
		      (int64_t)status.st_mtim.tv_nsec;
	return to < 0 ? result : seal(to, result);
}

/* Names come behind samples: an opener of its own does this, which nobody waits for, and is as prompt as others. */
static int kernel_names(enum kernel_names_from *from)
{
	prctl(PR_SET_NAME, "ctop-names");
	promptness_end();
	int directory_fd = own_cache_open();
	if (directory_fd < 0)
		return directory_fd;
	int fd = kernel_names_open(directory_fd, from);
	close(directory_fd);
	return fd;
}

int opener_open(const struct opener_message *message, struct opener_reply *reply)
{
	bool *by_name = &reply->by_name;
	const struct locate_request request = {
		.pid = message->pid,
		.path = message->path,
		.start = message->start,
		.end = message->end,
		.file_offset = message->file_offset,
		.device_major = message->device_major,
		.device_minor = message->device_minor,
		.inode = message->inode,
		.generation = message->generation,
		.build_id = message->build_id,
		.build_id_size = message->build_id_size,
	};
	*by_name = true;
	switch ((enum opener_kind)message->kind) {
	case OPENER_MODULE:
		return locate_module(&request, by_name);
	case OPENER_RECORDED_MODULE:
		return locate_recorded_module(&request, message->candidate, by_name);
	case OPENER_CACHED_DEBUG:
		return message->candidate ? -ENOENT : locate_cached_debug_file(&request);
	case OPENER_DEBUG_BUILD_ID:
		return locate_debug_by_build_id(request.pid, request.build_id,
						request.build_id_size, message->candidate);
	case OPENER_DEBUG_LINK:
		return locate_debug_by_link(request.pid, request.path, message->debuglink,
					    message->candidate);
	case OPENER_DEBUG_COMMON:
		return locate_common_debug_file(request.pid, request.path, message->debuglink,
						message->candidate);
	case OPENER_VMLINUX:
		return locate_vmlinux(request.path[0] ? request.path : NULL, request.build_id,
				      request.build_id_size, message->candidate);
	case OPENER_SPLIT:
		return locate_split_file(request.pid, request.path);
	case OPENER_PERF_MAP:
		*by_name = false;
		return locate_perf_map(request.pid);
	case OPENER_LEFT_PERF_MAP:
		*by_name = false;
		return locate_left_perf_map(request.pid, message->uid, message->since_ns,
					    message->until_ns);
	case OPENER_MAPS:
		*by_name = false;
		return copy_maps(request.pid);
	case OPENER_CODE:
		*by_name = false;
		return copy_code(&request);
	case OPENER_KERNEL_CODE:
		*by_name = false;
		return copy_kernel_code(message, &reply->whole_bytes);
	case OPENER_SOURCE:
		*by_name = false;
		return copy_source(message->path, &reply->written_ns);
	case OPENER_KERNEL_NAMES:
		*by_name = false;
		return kernel_names(&reply->kernel_names);
	case OPENER_COMMAND:
		*by_name = false;
		return copy_command(request.pid);
	}
	return -EINVAL;
}

/* A module that is found by its name is proved by what is in it; of a debug file it matters whose it is. */
static bool has_identity(const struct opener_message *message, const struct opener_reply *reply)
{
	return message->kind == OPENER_DEBUG_BUILD_ID || message->kind == OPENER_DEBUG_LINK ||
	       message->kind == OPENER_DEBUG_COMMON || message->kind == OPENER_SPLIT ||
	       (message->kind == OPENER_MODULE && !reply->by_name);
}

void opener_run(int socket)
{
	struct opener_message message;
	for (;;) {
		if (datagram_receive(socket, &message, sizeof(message), 0, NULL, NULL) !=
		    (ssize_t)sizeof(message))
			return;
		struct opener_reply reply = {0};
		int fd = opener_open(&message, &reply);
		reply.error = fd < 0 ? fd : 0;
		/* Here, as a file system of somebody's may hang in any of it. */
		if (fd >= 0 && has_identity(&message, &reply))
			reply.identity = file_identity(fd, message.pid);
		/* Which mount it is on is part of whose it is: not before. */
		if (fd >= 0 && message.kind != OPENER_MAPS && message.kind != OPENER_SOURCE)
			fd = own_mount(fd);
		if (message.kind == OPENER_PERF_MAP)
			reply.identity.owner_plus_1 = locate_perf_map_owner(message.pid);
		const int sent = datagram_send(socket, &reply, sizeof(reply), fd, 0);
		if (fd >= 0)
			close(fd);
		if (sent)
			return;
	}
}
