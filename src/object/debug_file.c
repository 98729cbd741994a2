/* SPDX-License-Identifier: MIT */
#include <ctop/object/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "locate_internal.h"

static const char debug_root[] = "/usr/lib/debug";

static bool has_build_id(int fd, const uint8_t *build_id, size_t size)
{
	uint8_t found[20];
	return read_build_id(fd, found) == size && memcmp(found, build_id, size) == 0;
}

static int open_by_build_id(const uint8_t *build_id, size_t size)
{
	char path[128];
	if (size < 2 || size > 20)
		return -ENOENT;
	int used = snprintf(path, sizeof(path), "%s/.build-id/%02x/", debug_root, build_id[0]);
	for (size_t i = 1; i < size; i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", build_id[i]);
	snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
	int fd = open_regular_in(AT_FDCWD, path, 0);
	if (fd < 0 || has_build_id(fd, build_id, size))
		return fd;
	close(fd);
	return -ESTALE;
}

/* The places that GDB's manual names for a debug link ("Debugging Information in Separate Files"). */
static int open_by_link(const uint8_t *build_id, size_t build_id_size, const char *debuglink,
			const char *module_path)
{
	static const struct {
		const char *before, *between;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {debug_root, "/"}};
	const char *slash = strrchr(module_path, '/');
	if (!slash || module_path[0] != '/' || strchr(debuglink, '/') || !debuglink[0])
		return -ENOENT;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[PATH_MAX];
		int used = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].before,
				    (int)(slash - module_path), module_path, places[i].between,
				    debuglink);
		if (used < 0 || (size_t)used >= sizeof(path) || strcmp(path, module_path) == 0)
			continue;
		int fd = open_regular_in(AT_FDCWD, path, 0);
		if (fd < 0)
			continue;
		/* Where a build-id is known, a name alone proves nothing. */
		if (!build_id_size || has_build_id(fd, build_id, build_id_size))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

int locate_debug_file(const uint8_t *build_id, size_t build_id_size, const char *debuglink,
		      const char *module_path)
{
	int fd = build_id_size ? open_by_build_id(build_id, build_id_size) : -ENOENT;
	if (fd < 0 && debuglink && module_path)
		fd = open_by_link(build_id, build_id_size, debuglink, module_path);
	return fd < 0 ? -ENOENT : fd;
}
