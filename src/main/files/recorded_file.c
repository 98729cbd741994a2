/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/files/locate.h>

#include "locate_internal.h"

enum { BUILD_ID_BYTES_MAX = 20 };

/* perf record keeps copies of the files it saw, by build-id: "elf", and perhaps their "debug" files. */
static int open_cached(const struct locate_request *request, const char *name)
{
	const char *home = own_directory("HOME");
	char directory[PATH_MAX], path[PATH_MAX], suffix[16];
	if (!home ||
	    (size_t)snprintf(directory, sizeof(directory), "%s/.debug", home) >= sizeof(directory))
		return -ENOENT;
	snprintf(suffix, sizeof(suffix), "/%s", name);
	if (!build_id_path(path, sizeof(path), directory, request->build_id, request->build_id_size,
			   suffix))
		return -ENOENT;
	return if_owned(open_regular_in(AT_FDCWD, path, 0), 0);
}

static bool everybody_may_read(int fd)
{
	struct stat status;
	return fstat(fd, &status) == 0 && status.st_mode & S_IROTH;
}

/* A claim without a build-id, of whoever made the file: as root, only what is nobody's secret. */
static int by_inode(const struct locate_request *request, int fd)
{
	if (fd < 0 || (is_file_of_request(fd, request) && (geteuid() || everybody_may_read(fd))))
		return fd;
	close(fd);
	return -ESTALE;
}

int locate_recorded_module(const struct locate_request *request, unsigned candidate, bool *by_name)
{
	*by_name = request->build_id_size > 0;
	if (strcmp(request->path, "[vdso]") == 0)
		return candidate ? -ENOENT : *by_name ? copy_own_vdso() : -ESTALE;
	if (request->path[0] != '/')
		return -EINVAL;
	if (!*by_name)
		return candidate ? -ENOENT
				 : by_inode(request, open_regular_in(AT_FDCWD, request->path, 0));
	int fd = if_owned(open_regular_in(AT_FDCWD, request->path, 0), 0);
	if (fd >= 0 && candidate-- == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	int cached = candidate ? -ENOENT : open_cached(request, "elf");
	return cached >= 0 || fd >= 0 ? cached : fd;
}

int locate_cached_debug_file(const struct locate_request *request)
{
	return open_cached(request, "debug");
}

/* ---- the kernel ---- */

static bool is_own_build_id(const uint8_t *build_id, size_t size)
{
	uint8_t own[BUILD_ID_BYTES_MAX];
	const size_t own_size = own_kernel_build_id(own);
	return own_size && own_size == size && memcmp(own, build_id, size) == 0;
}

/* Whether kallsyms has the beginning of the kernel's text there: 0, -ESTALE, -EPERM where it shows us no addresses. */
static int prove_text(uint64_t address)
{
	int fd = privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, "/proc/kallsyms",
				  O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	FILE *file = fdopen(fd, "r");
	char *line = NULL;
	size_t capacity = 0;
	int result = file ? -ESTALE : -errno;
	if (!file) {
		close(fd);
		return result;
	}
	while (result == -ESTALE && getline(&line, &capacity, file) > 0) {
		uint64_t start;
		char name[8];
		if (sscanf(line, "%" SCNx64 " %*c %7s", &start, name) != 2 ||
		    (strcmp(name, "_text") != 0 && strcmp(name, "_stext") != 0))
			continue;
		if (start == 0)
			result = -EPERM; /* kernel.kptr_restrict */
		else if (start == address)
			result = 0;
	}
	free(line);
	fclose(file);
	return result;
}

/* Two builds of one release differ in where they are: a boot puts its kernel anywhere. 0 or -errno. */
static int prove_kernel(const struct recorded_kernel *kernel, bool here)
{
	struct utsname own;
	if (kernel->build_id_size && !is_own_build_id(kernel->build_id, kernel->build_id_size))
		return -ESTALE;
	if (kernel->build_id_size && !here)
		return 0;
	if (!kernel->build_id_size &&
	    (uname(&own) || !own.release[0] || strcmp(own.release, kernel->release) != 0))
		return -ESTALE;
	return kernel->text_address ? prove_text(kernel->text_address) : -ESTALE;
}

int locate_recorded_kernel(const struct recorded_kernel *kernel)
{
	int result = prove_kernel(kernel, true);
	if (result)
		return result;
	int fd = privilege_openat(PRIVILEGE_KERNEL_NAMES, AT_FDCWD, "/proc/kallsyms",
				  O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int locate_recorded_vdso(const struct recorded_kernel *kernel)
{
	int result = prove_kernel(kernel, false);
	return result ? result : copy_own_vdso();
}
