/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <ctop/format/recording.h>
#include <ctop/perfdata/perfdata.h>

int source_open(const char *path, bool *is_perfdata, struct error *error)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;
		error_set(error, code, "cannot open '%s': %s", path, strerror(-code));
		error_remedy(error, code == -ENOENT
					    ? "make one with ctop record, or name another file"
					    : "check the file's permissions");
		return code;
	}
	unsigned char head[8] = {0};
	ssize_t got = pread(fd, head, sizeof(head), 0);
	*is_perfdata = got > 0 && perfdata_is(head, (size_t)got);
	if ((got < 0 && errno == ESPIPE) || (got > 0 && recording_is(head, (size_t)got)) ||
	    *is_perfdata)
		return fd;
	int code = got < 0 ? -errno : -EINVAL;
	if (got == 0)
		error_set(error, code, "'%s' is empty", path);
	else if (code == -EISDIR)
		error_set(error, code,
			  "'%s' is a folder, which perf record --threads and --kcore make", path);
	else if (got < 0)
		error_set(error, code, "cannot read '%s': %s", path, strerror(-code));
	else
		error_set(error, code, "'%s' is neither a ctop recording nor a perf.data file",
			  path);
	error_remedy(error, code == -EISDIR ? "record without these, or name a file"
					    : "make one with ctop record -o FILE");
	close(fd);
	return code;
}

int source_again(int fd, const char *path, struct error *error)
{
	int again = lseek(fd, 0, SEEK_SET) < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (again >= 0)
		return again;
	int code = -errno;
	error_set(error, code, "'%s' has too many samples to be kept, and cannot be read twice: %s",
		  path, strerror(-code));
	error_remedy(error, "put it into a file first, and name that");
	return code;
}
