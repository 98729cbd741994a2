/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PROVED_H
#define CTOP_TEST_PROVED_H

/* What the broker makes of a file that was found by name: given if it proves to have the build-id that is asked for. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <ctop/elf/build_id.h>
#include <ctop/files/locate.h>

static inline bool has_id(int fd, const uint8_t *build_id, size_t size)
{
	uint8_t found[20];
	return size && read_build_id(fd, found) == size && memcmp(found, build_id, size) == 0;
}

/* Takes fd over. */
static inline int proved(int fd, bool by_name, const struct locate_request *request)
{
	if (fd < 0 || !by_name || has_id(fd, request->build_id, request->build_id_size))
		return fd;
	close(fd);
	return -ESTALE;
}

static inline int module_of(const struct locate_request *request)
{
	bool by_name;
	int fd = locate_module(request, &by_name);
	return proved(fd, by_name, request);
}

static inline int recorded_module(const struct locate_request *request)
{
	bool by_name, unproved = false;
	for (unsigned candidate = 0;; candidate++) {
		int fd = locate_recorded_module(request, candidate, &by_name);
		if (fd < 0)
			return unproved ? -ESTALE : fd;
		fd = proved(fd, by_name, request);
		if (fd >= 0)
			return fd;
		unproved = true;
	}
}

/* NULL: no name. Without a build-id the first of that name: its sum is not looked at here. */
static inline int debug_file(const uint8_t *build_id, size_t size, const char *link,
			     const char *module)
{
	int fd;
	for (unsigned i = 0; (fd = locate_debug_by_build_id(0, build_id, size, i)) >= 0; i++) {
		if (has_id(fd, build_id, size))
			return fd;
		close(fd);
	}
	for (unsigned i = 0; link && module && (fd = locate_debug_by_link(0, module, link, i)) >= 0;
	     i++) {
		if (!size || has_id(fd, build_id, size))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

#endif
