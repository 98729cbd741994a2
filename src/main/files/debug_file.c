/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "locate_internal.h"

static const char debug_root[] = "/usr/lib/debug";

/* Below the root of a process, or in our own (pid 0, or one that has gone, or is not ours to look into). */
static int open_below(int32_t pid, const char *path)
{
	int root_fd = open_root_of(pid);
	if (root_fd < 0)
		return if_owned(open_regular_in(AT_FDCWD, path, 0), pid);
	int fd = if_owned(open_regular_in(root_fd, path, 0), pid);
	close(root_fd);
	return fd;
}

/* There is one, and it may not be used: reported where no other is found. */
static int first_refusal(int before, int fd)
{
	const bool is_absent = fd == -ENOENT || fd == -ENOTDIR;
	return before == -ENOENT && !is_absent ? fd : before;
}

/* Whether it is the candidate wanted; else it is closed, and counted. */
static bool is_wanted(int fd, unsigned *candidate, int *refusal)
{
	if (fd < 0) {
		*refusal = first_refusal(*refusal, fd);
		return false;
	}
	if ((*candidate)-- == 0)
		return true;
	close(fd);
	return false;
}

/* What a debuginfod client of ours has fetched, for whichever tool. debuginfod_find_debuginfo(3) tells where these keep it. */
static int open_fetched(const uint8_t *build_id, size_t build_id_size)
{
	static const struct {
		const char *variable, *below;
	} caches[] = {{"DEBUGINFOD_CACHE_PATH", ""},
		      {"XDG_CACHE_HOME", "/debuginfod_client"},
		      {"HOME", "/.cache/debuginfod_client"}};
	char path[PATH_MAX], hex[BUILD_ID_HEX_BYTES];
	int refusal = -ENOENT;
	if (!build_id_hex(hex, build_id, build_id_size))
		return -ENOENT;
	for (size_t i = 0; i < sizeof(caches) / sizeof(*caches); i++) {
		const char *own = own_directory(caches[i].variable);
		if (!own || (size_t)snprintf(path, sizeof(path), "%s%s/%s/debuginfo", own,
					     caches[i].below, hex) >= sizeof(path))
			continue;
		int fd = if_owned(open_regular_in(AT_FDCWD, path, 0), 0);
		if (fd >= 0)
			return fd;
		refusal = first_refusal(refusal, fd);
	}
	return refusal;
}

int locate_debug_by_build_id(int32_t pid, const uint8_t *build_id, size_t build_id_size,
			     unsigned candidate)
{
	char path[128];
	const int32_t roots[] = {pid, 0};
	int refusal = -ENOENT;
	if (!build_id_path(path, sizeof(path), debug_root, build_id, build_id_size, ".debug"))
		return -ENOENT;
	for (size_t i = pid > 0 ? 0 : 1; i < sizeof(roots) / sizeof(*roots); i++) {
		int fd = open_below(roots[i], path);
		if (is_wanted(fd, &candidate, &refusal))
			return fd;
	}
	int fd = candidate ? -ENOENT : open_fetched(build_id, build_id_size);
	return fd >= 0 ? fd : first_refusal(refusal, fd);
}

/* The places that GDB's manual names for a debug link ("Debugging Information in Separate Files"). */
static const struct {
	const char *before, *between;
} places[] = {{"", "/"}, {"", "/.debug/"}, {debug_root, "/"}};
enum { NR_PLACES = sizeof(places) / sizeof(*places) };

int locate_debug_by_link(int32_t pid, const char *module_path, const char *debuglink,
			 unsigned candidate)
{
	const char *slash = strrchr(module_path, '/');
	int refusal = -ENOENT;
	if (!slash || module_path[0] != '/' || strchr(debuglink, '/') || !debuglink[0])
		return -ENOENT;
	for (unsigned i = 0; i < NR_PLACES; i++) {
		char path[PATH_MAX];
		int used = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].before,
				    (int)(slash - module_path), module_path, places[i].between,
				    debuglink);
		if (used < 0 || (size_t)used >= sizeof(path) || strcmp(path, module_path) == 0)
			continue;
		int fd = open_below(pid, path);
		if (is_wanted(fd, &candidate, &refusal))
			return fd;
	}
	return refusal;
}

/* Distributions have them all below one directory, which each name leads to by another way. */
int locate_common_debug_file(int32_t pid, const char *module_path, const char *name,
			     unsigned candidate)
{
	static const char directory[] = ".dwz/";
	const char *below = strstr(name, directory), *slash = strrchr(name, '/');
	const int32_t roots[] = {pid, 0};
	int refusal = -ENOENT;
	for (size_t i = pid > 0 ? 0 : 1; below && i < sizeof(roots) / sizeof(*roots); i++) {
		char path[PATH_MAX];
		int used = snprintf(path, sizeof(path), "%s/%s", debug_root, below);
		if (used < 0 || (size_t)used >= sizeof(path) || strstr(below, ".."))
			break;
		int fd = open_below(roots[i], path);
		if (is_wanted(fd, &candidate, &refusal))
			return fd;
	}
	int fd = locate_debug_by_link(pid, module_path, slash ? slash + 1 : name, candidate);
	return fd >= 0 ? fd : first_refusal(refusal, fd);
}

int locate_split_file(int32_t pid, const char *path)
{
	return path[0] == '/' ? open_below(pid, path) : -ENOENT;
}

bool split_place_path(enum split_place place, const char *module_path, const char *debuglink,
		      const char *name, char *path, size_t path_bytes)
{
	const char *slash = strrchr(module_path, '/'), *name_slash = strrchr(name, '/');
	const int directory = slash ? (int)(slash - module_path) : 0;
	int size = -1;
	switch (place) {
	case SPLIT_PACKAGE:
		size = snprintf(path, path_bytes, "%s.dwp", module_path);
		break;
	case SPLIT_PACKAGE_OF_LINK:
		if (debuglink && !strchr(debuglink, '/'))
			size = snprintf(path, path_bytes, "%.*s/%s.dwp", directory, module_path,
					debuglink);
		break;
	case SPLIT_NAMED:
		size = snprintf(path, path_bytes, "%s", name);
		break;
	case SPLIT_BESIDE:
		size = snprintf(path, path_bytes, "%.*s/%s", directory, module_path,
				name_slash ? name_slash + 1 : name);
		break;
	case NR_SPLIT_PLACES:
		break;
	}
	return size > 0 && (size_t)size < path_bytes && path[0] == '/' && slash;
}
