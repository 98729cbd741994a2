/* SPDX-License-Identifier: MIT */
#include "event_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

/* One that is mounted. */
static int open_mounted(const char *path)
{
	struct statfs status;
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fstatfs(fd, &status) && status.f_type == TRACEFS_MAGIC)
		return fd;
	close(fd);
	return -ENODEV;
}

/* One that is mounted nowhere: it is gone when it is closed. For root, fsopen(2). */
static int open_unmounted(void)
{
	long context = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	if (context < 0)
		return -errno;
	long fd = -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	int result = fd < 0 ? -errno : (int)fd;
	close((int)context);
	return result;
}

/* A directory of it, "events". A descriptor; -EACCES; -ENODEV when there is none to see. */
static int open_directory(const char *name)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int fd = -ENODEV;
	bool is_closed = false;
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		fd = open_mounted(places[i]);
		is_closed = is_closed || fd == -EACCES;
	}
	if (fd < 0) {
		struct privilege_before before = privilege_raise(PRIVILEGE_MOUNT);
		fd = open_unmounted();
		privilege_restore(&before);
	}
	if (fd < 0)
		return is_closed ? -EACCES : -ENODEV;
	int directory = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = errno;
	close(fd);
	if (directory >= 0)
		return directory;
	return error == EACCES || error == EPERM ? -EACCES : -ENODEV;
}

/* A directory's or a file's name: nothing that leads elsewhere. */
static size_t word_size(const char *text)
{
	size_t size = 0;
	while (isalnum((unsigned char)text[size]) || text[size] == '_' || text[size] == '-')
		size++;
	return size;
}

bool tracepoint_is(const char *name)
{
	size_t system = word_size(name);
	if (!system || name[system] != ':')
		return false;
	size_t point = word_size(name + system + 1);
	return point && !name[system + 1 + point];
}

/* A file of a tracepoint's directory as text, cut at size. */
static int read_text(const char *name, const char *file, char *text, size_t size)
{
	char path[EVENT_TEXT_BYTES + 16];
	const char *colon = strchr(name, ':');
	const int directory = open_directory("events");
	if (directory < 0)
		return directory;
	snprintf(path, sizeof(path), "%.*s/%s/%s", (int)(colon - name), name, colon + 1, file);
	const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -errno : 0;
	close(directory);
	size_t used = 0;
	while (!result && used < size - 1) {
		const ssize_t got = read(fd, text + used, size - 1 - used);
		if (got < 0)
			result = -errno;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	text[used] = '\0';
	return result == -EPERM ? -EACCES : result;
}

int tracepoint_id(const char *name, uint64_t *id)
{
	char text[32];
	const int result = read_text(name, "id", text, sizeof(text));
	if (result)
		return result;
	if (!isdigit((unsigned char)text[0]))
		return -ENOENT;
	*id = strtoull(text, NULL, 10);
	return 0;
}

int tracepoint_format(const char *name, char *text, size_t size)
{
	return read_text(name, "format", text, size);
}

int tracepoint_field(const char *name, const char *field, uint32_t *offset, uint32_t *bytes)
{
	enum { FORMAT_BYTES = 4096 };
	char format[FORMAT_BYTES], declared[64];
	const int result = tracepoint_format(name, format, sizeof(format));
	if (result)
		return result;
	snprintf(declared, sizeof(declared), " %s;\toffset:", field);
	const char *found = strstr(format, declared);
	if (!found ||
	    sscanf(found + strlen(declared), "%" SCNu32 ";\tsize:%" SCNu32, offset, bytes) != 2)
		return -ENOENT;
	return 0;
}

static void tell_system(const struct catalog_reader *reader, int events, const char *system)
{
	int fd = openat(events, system, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *entry; (entry = readdir(dir));) {
		char name[2 * sizeof(entry->d_name) + 2];
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s:%s", system, entry->d_name);
		reader->event(reader->context, EVENT_TRACEPOINT, name, "");
	}
	closedir(dir);
}

int tracepoint_each(const struct catalog_reader *reader)
{
	int directory = open_directory("events");
	if (directory < 0)
		return directory;
	DIR *dir = fdopendir(directory);
	if (!dir) {
		close(directory);
		return -ENOMEM;
	}
	for (const struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			tell_system(reader, directory, entry->d_name);
	closedir(dir);
	return 0;
}

const char *catalog_tracefs_cause(int code)
{
	return code == -EACCES ? "tracefs is closed to this user" : "tracefs is not mounted";
}

/* The numbers are for root and the group that tracefs is mounted for; its mode alone opens no file. */
const char *catalog_tracefs_remedy(int code)
{
	return code == -EACCES ? "run it with sudo, or open tracefs to your group: sudo mount -o "
				 "remount,mode=750,gid=$(id -g) /sys/kernel/tracing"
			       : "sudo mount -t tracefs -o mode=750,gid=$(id -g) nodev "
				 "/sys/kernel/tracing (a kernel without tracing has none)";
}

int tracepoint_advise(const char *name, int code, struct error *error)
{
	error_set(error, code, "cannot look up tracepoint '%s': %s", name,
		  catalog_tracefs_cause(code));
	return error_remedy(error, "%s", catalog_tracefs_remedy(code));
}
