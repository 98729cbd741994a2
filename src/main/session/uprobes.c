/* SPDX-License-Identifier: MIT */
#include "uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/privilege.h>
#include <ctop/base/text.h>
#include <ctop/base/vec.h>
#include <ctop/files/probe_file.h>
#include <ctop/files/probe_target.h>
#include <ctop/ipc/channel.h>
#include <ctop/ipc/uprobe_protocol.h>
#include <ctop/jail/jail.h>

_Static_assert((int)EVENT_TEXT_BYTES <= (int)UPROBE_FUNCTION_MAX,
	       "every function's name can be asked about");

/* Reading the symbols of the largest programs takes a second or two. */
enum { PATIENCE_MS = 30000, SLICE_MS = 100 };
#define PLACE_OF_FD "/proc/self/fd/%d"

static int wait_for(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int got;
	do
		got = poll(&poll_fd, 1, timeout_ms);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got ? 0 : -ETIMEDOUT;
}

/*
 * Only what a program can be mapped from: opening a device might set it going. Root may name a file below /proc/PID/root, for which
 * it needs a capability.
 */
static int open_program(const char *path)
{
	struct stat status;
	char again[32];
	const int flags = O_PATH | O_CLOEXEC;
	int place = geteuid() ? open(path, flags)
			      : privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, flags);
	if (place < 0)
		return -errno;
	int fd = -EINVAL;
	snprintf(again, sizeof(again), PLACE_OF_FD, place);
	if (fstat(place, &status))
		fd = -errno;
	else if (S_ISREG(status.st_mode))
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	fd = fd == -1 ? -errno : fd;
	close(place);
	return fd;
}

/* The one that was found before is not opened again: that is up to the target's file system. */
static int open_found(const struct event *event)
{
	int found;
	if (sscanf(event->probe_place, PLACE_OF_FD, &found) != 1)
		return open_program(event->probe);
	int fd = fcntl(found, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int await_answer(struct channel *channel, int timeout_ms)
{
	return wait_for(channel_fd(channel), timeout_ms);
}

/* As long as the user has patience, too. 0 or -errno: -EINTR when ctop is told to end. */
static int await(struct channel *channel, int (*what)(struct channel *, int))
{
	const uint64_t until_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
	int result = -ETIMEDOUT;
	while (result == -ETIMEDOUT && clock_now_ns() < until_ns)
		result = end_pending() ? -EINTR : what(channel, SLICE_MS);
	return result;
}

static int ask(struct channel *channel, const char *function, int fd, struct function_place *place)
{
	struct uprobe_answer answer;
	int unused = -1;
	int result = channel_send(channel, function, strlen(function), fd);
	if (!result)
		result = await(channel, channel_await_hello);
	if (!result)
		result = await(channel, await_answer);
	if (result)
		return result;
	ssize_t got = channel_receive(channel, &answer, sizeof(answer), &unused);
	if (got != (ssize_t)sizeof(answer))
		return -EIO; /* it died, or talks nonsense */
	*place = answer.place;
	return answer.error < 0 && answer.error > -4096 ? answer.error : answer.error ? -EIO : 0;
}

/* Starts the child, asks, ends it. 0 or -errno. */
static int find_place(const char *function, int fd, struct function_place *place)
{
	struct jail_child child;
	int result = jail_spawn("uprobe", &child);
	if (result)
		return result;
	result = ask(child.channel, function, fd, place);
	jail_end(&child);
	return result;
}

static int explain(const struct event *event, int code, struct error *error)
{
	if (code == -EINTR) {
		error_set(error, code, "interrupted before '%s' was found in '%s'", event->function,
			  event->probe);
		error_remedy(error,
			     "nothing was sampled: run it again, and wait until sampling begins");
	} else if (code == -ENOENT) {
		error_set(error, code, "'%s' has no function '%s'", event->probe, event->function);
		error_remedy(error,
			     "readelf -Ws --dyn-syms %s lists them; a file without symbols "
			     "takes an offset: uprobe:%s+0x...",
			     event->probe, event->probe);
	} else if (code == -ENOTUNIQ) {
		error_set(error, code, "'%s' has several functions '%s'", event->probe,
			  event->function);
		error_remedy(error, "name one with its parameters, or as nm %s | grep lists them",
			     event->probe);
	} else if (code == -ENOEXEC) {
		error_set(error, code, "'%s' is not a program or library", event->probe);
		error_remedy(error, "a uprobe goes into an ELF file");
	} else {
		error_set(error, code, "cannot look for '%s' in '%s': %s", event->function,
			  event->probe, strerror(-code));
		error_remedy(error, "an offset in the file needs no symbols: uprobe:%s+0x...",
			     event->probe);
	}
	return code;
}

/* What follows the file as it was typed, which may be another text than its path. NULL: nothing does. */
static const char *behind_file(const struct event *event, const char *place)
{
	const char *behind = NULL;
	if (!event->function[0])
		return strrchr(place, '+');
	for (const char *at = strstr(place, event->function); at;
	     at = strstr(at + 1, event->function))
		if (at > place && at[-1] == ':')
			behind = at - 1;
	return behind;
}

/* Which file it is, is said, made safe: the path may be the target's choice. */
static void set_file(struct event *event, const char *path)
{
	struct text name = {0};
	const char *place = strchr(event->name, ':') + 1;
	text_addf(&name, "%.*s", (int)(place - event->name), event->name);
	text_add_safe(&name, path);
	const char *behind = behind_file(event, place);
	text_add(&name, behind ? behind : "");
	if (behind && !name.failed && name.size < sizeof(event->name))
		memcpy(event->name, text_string(&name), name.size + 1);
	text_release(&name);
	snprintf(event->probe, sizeof(event->probe), "%s", path);
}

/* A library or program that was named without its directory. */
static int find_file(struct event *event, struct error *error)
{
	char path[sizeof(event->probe)];
	int result = probe_file_find(event->probe, path, sizeof(path));
	if (result) {
		error_set(error, result, "no library or program named '%s'", event->probe);
		return error_remedy(error, "name its file, as in uprobe:/bin/bash:readline");
	}
	set_file(event, path);
	return 0;
}

/* What no process that lives elsewhere has mapped, main cannot mean either. */
static int not_mapped(const struct event *event, int32_t pid, int code, struct error *error)
{
	if (code == -ENOENT)
		error_set(error, code,
			  "process %d, in its own mount namespace, has not mapped '%s'", pid,
			  event->probe);
	else
		error_set(error, code,
			  "cannot open '%s' of process %d, in its own mount namespace: %s",
			  event->probe, pid, strerror(-code));
	return error_remedy(error, "name the file as /proc/%d/maps has it, or below /proc/%d/root",
			    pid, pid);
}

/* The kernel gets a descriptor: its own look-up would be in main's mounts, and may hang in a file system of the target's. */
static int use_file(struct event *event, const char *path, int fd, struct uprobe_files *files,
		    struct error *error)
{
	if (vec_reserve(files, files->nr + 1)) {
		close(fd);
		return error_set(error, -ENOMEM, "out of memory");
	}
	files->items[files->nr++] = fd;
	set_file(event, path);
	snprintf(event->probe_place, sizeof(event->probe_place), PLACE_OF_FD, fd);
	return 0;
}

/* Maps name files without links, as /lib/... is one where /lib is /usr/lib: here and, as a rule, in containers. */
static int open_by_real_path(int32_t pid, const char *typed, char *path, size_t size)
{
	char *real = realpath(typed, NULL);
	int fd = real && strcmp(real, typed) ? probe_target_open(pid, real, path, size) : -ENOENT;
	free(real);
	return fd;
}

/* What the processes of a target mean, so far. */
struct meant {
	int fd; /* -1: nothing yet */
	int32_t pid;
	bool is_elsewhere;
	char path[EVENT_TEXT_BYTES];
};

/* Containers of one image have a file in common, which the kernel probes in all of them, under devices of their own. */
static bool is_same_file(int a, int b)
{
	struct stat one, other;
	struct statfs system_of_one, system_of_other;
	if (fstat(a, &one) || fstat(b, &other) || one.st_ino != other.st_ino)
		return false;
	if (one.st_dev == other.st_dev)
		return true;
	return !fstatfs(a, &system_of_one) && !fstatfs(b, &system_of_other) &&
	       system_of_one.f_type == OVERLAYFS_SUPER_MAGIC &&
	       system_of_other.f_type == OVERLAYFS_SUPER_MAGIC && one.st_size == other.st_size &&
	       one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
	       one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

/* One event goes into one file: it is not for ctop to say whose. */
static int not_one_file(const struct event *event, const struct meant *first,
			const struct meant *other, struct error *error)
{
	error_set(error, -ENOTUNIQ,
		  "'%s' of process %d and of process %d are different files: '%s' and '%s'",
		  event->probe, first->pid, other->pid, first->path, other->path);
	return error_remedy(error, "profile them one by one: -p %d", first->pid);
}

/* Of one that has main's mounts a path is main's. A descriptor; -ENOENT: it has mapped none. */
static int open_meant(const struct event *event, struct meant *meant)
{
	const bool is_path = strchr(event->probe, '/');
	const size_t size = sizeof(meant->path);
	if (is_path && !meant->is_elsewhere) {
		snprintf(meant->path, size, "%s", event->probe);
		return open_program(event->probe);
	}
	int fd = probe_target_open(meant->pid, event->probe, meant->path, size);
	if (fd == -ENOENT && is_path)
		fd = open_by_real_path(meant->pid, event->probe, meant->path, size);
	return fd;
}

/* The file that the target means; where it means none that is mapped yet, main's. */
static int find_mapped_file(struct event *event, const int32_t *pids, size_t nr_pids,
			    struct uprobe_files *files, struct error *error)
{
	static const char processes[] = "/proc/";
	struct meant first = {.fd = -1};
	int code = 0, result = 0;
	int32_t without = 0; /* who lives elsewhere, and has mapped none */
	if (!strncmp(event->probe, processes, strlen(processes)))
		return 0;
	for (size_t i = 0; !result && i < nr_pids; i++) {
		struct meant meant = {
			.pid = pids[i],
			.is_elsewhere = probe_target_is_elsewhere(pids[i]),
		};
		meant.fd = open_meant(event, &meant);
		if (meant.fd < 0) {
			if (meant.fd == -EINTR)
				result = explain(event, meant.fd, error);
			if (meant.is_elsewhere && !without) {
				without = meant.pid;
				code = meant.fd;
			}
		} else if (first.fd < 0) {
			first = meant;
		} else {
			if (!is_same_file(first.fd, meant.fd))
				result = not_one_file(event, &first, &meant, error);
			close(meant.fd);
		}
	}
	const bool is_mains = strchr(event->probe, '/') && !first.is_elsewhere;
	if (!result && first.fd >= 0 && !is_mains)
		return use_file(event, first.path, first.fd, files, error);
	if (first.fd >= 0)
		close(first.fd);
	return !result && without ? not_mapped(event, without, code, error) : result;
}

static int find_event_file(struct event *event, const int32_t *pids, size_t nr_pids,
			   struct uprobe_files *files, struct error *error)
{
	int result = find_mapped_file(event, pids, nr_pids, files, error);
	if (!result && !strchr(event->probe, '/'))
		result = find_file(event, error);
	return result;
}

/* Behind the end of a function another one begins, or the middle of an instruction. */
static int outside(const struct event *event, const struct function_place *place,
		   struct error *error)
{
	error_set(error, -ERANGE,
		  "'%s' of '%s' is %" PRIu64 " bytes long: +%" PRIu64 " is past its end",
		  event->function, event->probe, place->size, event->config2);
	return error_remedy(
		error, "name the function that is meant, or an offset in the file: uprobe:%s+0x...",
		event->probe);
}

static int resolve(struct event *event, struct error *error)
{
	struct function_place place = {0};
	int fd = open_found(event);
	if (fd < 0) {
		error_set(error, fd, "cannot open '%s': %s", event->probe,
			  fd == -EINVAL ? "not a file" : strerror(-fd));
		return error_remedy(error, "a uprobe is written as in uprobe:/bin/bash:readline");
	}
	int result = find_place(event->function, fd, &place);
	close(fd);
	if (result)
		return explain(event, result, error);
	if (place.size && event->config2 >= place.size)
		return outside(event, &place, error);
	if (__builtin_add_overflow(place.offset, event->config2, &event->config2))
		return explain(event, -EOVERFLOW, error);
	event->function[0] = '\0';
	return 0;
}

void uprobe_files_close(struct uprobe_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		close(files->items[i]);
	free(files->items);
	*files = (struct uprobe_files){0};
}

int uprobes_resolve(struct event *events, size_t nr_events, const int32_t *pids, size_t nr_pids,
		    struct uprobe_files *files, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < nr_events; i++) {
		struct event *event = &events[i];
		if (event->probe[0] && event->happens_in_user)
			result = find_event_file(event, pids, nr_pids, files, error);
		if (!result && event->function[0])
			result = resolve(event, error);
	}
	return result;
}
