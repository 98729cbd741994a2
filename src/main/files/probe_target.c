/* SPDX-License-Identifier: MIT */
#include <ctop/files/probe_target.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/end_pending.h>
#include <ctop/base/privilege.h>
#include <ctop/files/opener.h>
#include <ctop/files/probe_file.h>
#include <ctop/kernel/maps.h>

/* Between two looks at whether ctop is to end. */
enum { SLICE_MS = 100 };

static bool mounts_of(const char *process, struct stat *mounts)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%s/ns/mnt", process);
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	const bool known = fd >= 0 && fstat(fd, mounts) == 0;
	if (fd >= 0)
		close(fd);
	return known;
}

bool probe_target_is_elsewhere(int32_t pid)
{
	struct stat own, others;
	char process[16];
	snprintf(process, sizeof(process), "%d", pid);
	return mounts_of("self", &own) && mounts_of(process, &others) &&
	       own.st_ino != others.st_ino;
}

/* ---- the opener ---- */

struct answered {
	struct opener_answer answer;
	int fd;
	bool done;
};

static void take(void *context, const struct opener_answer *answer, int fd)
{
	struct answered *answered = context;
	*answered = (struct answered){*answer, fd, true};
}

/* Asks one question, which takes 2 s at most. A descriptor or -errno. */
static int ask(struct opener *opener, const struct opener_request *request, bool *by_name)
{
	struct answered answered = {.fd = -1};
	int result = opener_ask(opener, request, take, &answered);
	while (!result && !answered.done) {
		struct pollfd fd = {.fd = opener_fd(opener), .events = POLLIN};
		poll(&fd, 1, SLICE_MS);
		opener_serve(opener);
		if (!answered.done && end_pending())
			result = -EINTR;
	}
	if (result) {
		opener_forget(opener, &answered);
		return result;
	}
	*by_name = answered.answer.by_name;
	return answered.fd >= 0 ? answered.fd : answered.answer.error;
}

/* ---- maps ---- */

struct mapping {
	struct maps_line line;
	char path[PATH_MAX];
};

/* Whether this is what is meant, and better than what was found before. */
static bool is_meant(const char *path, const char *name, const char *found)
{
	const char *slash = strrchr(found, '/');
	if (strchr(name, '/'))
		return !found[0] && !strcmp(path, name);
	return path[0] == '/' &&
	       probe_file_is_better(strrchr(path, '/') + 1, name, slash ? slash + 1 : found);
}

static bool find_mapping(const char *text, size_t size, const char *name, struct mapping *found)
{
	struct maps_line line;
	size_t at = 0;
	int result;
	found->path[0] = '\0';
	while ((result = maps_next(text, size, &at, &line))) {
		char path[PATH_MAX];
		if (result < 0 || !line.inode || line.path_bytes >= sizeof(path))
			continue;
		maps_path(&line, path, sizeof(path));
		if (!is_meant(path, name, found->path))
			continue;
		found->line = line;
		memcpy(found->path, path, sizeof(path));
	}
	return found->path[0] != '\0';
}

static int find_in_maps(int maps_fd, const char *name, struct mapping *found)
{
	struct stat status;
	if (fstat(maps_fd, &status))
		return -errno;
	/* Sealed: it stays as long as it is. */
	const size_t size = (size_t)status.st_size;
	char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, maps_fd, 0);
	if (text == MAP_FAILED)
		return -errno;
	int result = find_mapping(text, size, name, found) ? 0 : -ENOENT;
	munmap(text, size);
	return result;
}

static int open_in(struct opener *opener, int32_t pid, const char *name, struct mapping *found)
{
	const struct opener_request maps = {.kind = OPENER_MAPS, .request = {.pid = pid}};
	bool by_name;
	int fd = ask(opener, &maps, &by_name);
	if (fd < 0)
		return fd;
	int result = find_in_maps(fd, name, found);
	close(fd);
	if (result)
		return result;
	const struct opener_request file = {
		.kind = OPENER_MODULE,
		.request =
			{
				.pid = pid,
				.path = found->path,
				.start = found->line.start,
				.end = found->line.end,
				.file_offset = found->line.file_offset,
				.device_major = found->line.device_major,
				.device_minor = found->line.device_minor,
				.inode = found->line.inode,
			},
	};
	fd = ask(opener, &file, &by_name);
	if (fd >= 0 && by_name) { /* another file has its name now */
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int probe_target_each(int32_t pid, void (*each)(void *context, const char *path), void *context)
{
	const struct opener_request maps = {.kind = OPENER_MAPS, .request = {.pid = pid}};
	struct opener *opener = opener_new();
	bool by_name;
	if (!opener)
		return -ENOMEM;
	int fd = ask(opener, &maps, &by_name);
	opener_free(opener);
	struct stat status;
	if (fd < 0 || fstat(fd, &status)) {
		int result = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return result;
	}
	const size_t size = (size_t)status.st_size;
	char *text = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (text == MAP_FAILED)
		return size ? -errno : 0;
	struct maps_line line;
	size_t at = 0;
	int result;
	while ((result = maps_next(text, size, &at, &line))) {
		char path[PATH_MAX];
		if (result < 0 || !line.executable || !line.inode)
			continue;
		maps_path(&line, path, sizeof(path));
		each(context, path);
	}
	munmap(text, size);
	return 0;
}

int probe_target_open(int32_t pid, const char *name, char *path, size_t size)
{
	struct mapping found = {.path = ""};
	struct opener *opener = opener_new();
	if (!opener)
		return -ENOMEM;
	int fd = open_in(opener, pid, name, &found);
	opener_free(opener);
	if (fd >= 0 && snprintf(path, size, "%s", found.path) >= (int)size) {
		close(fd);
		return -ENAMETOOLONG;
	}
	return fd;
}
