/* SPDX-License-Identifier: MIT */
/* The file that our own kernel was made of: by its build-id, which the kernel tells. */
#include <ctop/files/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/elf_notes.h>

#include "locate_internal.h"

enum { NOTES_BYTES_MAX = 16384 };

size_t own_kernel_build_id(uint8_t build_id[20])
{
	uint8_t notes[NOTES_BYTES_MAX];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, notes, sizeof(notes));
	close(fd);
	return got > 0 ? build_id_in_notes(notes, (size_t)got, 4, build_id) : 0;
}

/* As perf looks for it, and where Debian, Fedora and who builds his own have it; %s is the release. */
static const char *const places[] = {
	"/usr/lib/debug/boot/vmlinux-%s",	"/usr/lib/debug/lib/modules/%s/vmlinux",
	"/usr/lib/debug/boot/vmlinux-%s.debug", "/boot/vmlinux-%s",
	"/lib/modules/%s/build/vmlinux",
};
enum { NR_PLACES = sizeof(places) / sizeof(*places) };

/* The place of that number: "": there is none of these. False: that was the last. */
static bool place_of(const char *named, const struct utsname *own, unsigned number,
		     char path[PATH_MAX])
{
	path[0] = '\0';
	if (number == 0 && named)
		snprintf(path, PATH_MAX, "%s", named);
	else if (number > 0 && number <= NR_PLACES && own->release[0]) {
		const char *place = places[number - 1];
		const char *hole = strstr(place, "%s");
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)(hole - place), place, own->release,
			 hole + 2);
	}
	return number <= NR_PLACES;
}

int locate_vmlinux(const char *named, const uint8_t *build_id, size_t build_id_size,
		   unsigned candidate)
{
	struct utsname own;
	char path[PATH_MAX];
	int refusal = -ENOENT;
	if (uname(&own))
		own.release[0] = '\0';
	for (unsigned number = 0; place_of(named, &own, number, path); number++) {
		const int fd = path[0] ? if_owned(open_regular_in(AT_FDCWD, path, 0), 0) : -ENOENT;
		if (fd >= 0 && candidate-- == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		else if (fd != -ENOENT && fd != -ENOTDIR)
			refusal = fd;
	}
	const int fd = locate_debug_by_build_id(0, build_id, build_id_size, candidate);
	return fd == -ENOENT ? refusal : fd;
}
