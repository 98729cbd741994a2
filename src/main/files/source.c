/* SPDX-License-Identifier: MIT */
#include <ctop/files/source.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/write_all.h>
#include <ctop/file_kind.h>

/* A file of a directory, which may be anybody's: no link, and nothing that waits. A descriptor or -errno. */
static int open_in(int directory, const char *name)
{
	struct stat status;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/* perf record --threads: "data" has the header, "data.0", "data.1", ... the records; --kcore: "data" has all. */
static int open_directory(struct source *source, const char *path, int directory,
			  struct error *error)
{
	char name[32];
	source->fd = open_in(directory, "data");
	while (source->fd >= 0 && source->nr_parts < PERFDATA_MAX_PARTS) {
		snprintf(name, sizeof(name), "data.%zu", source->nr_parts);
		int part = open_in(directory, name);
		if (part < 0)
			break;
		source->parts[source->nr_parts++] = part;
	}
	close(directory);
	if (source->fd >= 0)
		return 0;
	error_set(error, source->fd,
		  "'%s' is a directory, but has no file 'data' as perf record --threads writes it",
		  path);
	return error_remedy(error, "name a file, or what perf record -o wrote");
}

static int open_path(struct source *source, const char *path, struct error *error)
{
	struct stat status;
	*source = (struct source){.fd = -1};
	const bool is_input = strcmp(path, "-") == 0;
	if (is_input && isatty(STDIN_FILENO)) {
		error_set(error, -EINVAL, "standard input is a terminal, not a recording");
		return error_remedy(error, "as in perf record -o - -- CMD | ctop report -");
	}
	int fd = is_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;
		error_set(error, code, "cannot open '%s': %s", path, strerror(-code));
		return error_remedy(
			error, code == -ENOENT ? "make one with ctop record, or name another file"
					       : "check the file's permissions");
	}
	if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
		return open_directory(source, path, fd, error);
	source->fd = fd;
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t size = strlen(text), end_size = strlen(end);
	return size > end_size && !strcmp(text + size - end_size, end);
}

/* The file that a word would name, or, of a directory, the one with the header. A descriptor or -errno. */
static int open_word(const char *word)
{
	int directory = open(word, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
	if (directory < 0)
		return open_in(AT_FDCWD, word);
	int fd = open_in(directory, "data");
	close(directory);
	return fd;
}

bool source_is_meant(const char *word)
{
	unsigned char head[8];
	if (strchr(word, '/') || !strcmp(word, "-") || ends_with(word, ".ctop") ||
	    ends_with(word, ".data"))
		return true;
	int fd = open_word(word);
	if (fd < 0)
		return false;
	const ssize_t got = pread(fd, head, sizeof(head), 0);
	close(fd);
	return got > 0 && (recording_is(head, (size_t)got) || perfdata_is(head, (size_t)got));
}

/*
 * Waits for more. False: none comes, as we were told to end. Who was told with us, as by ^C in a shell's pipeline, has a moment to
 * write its last.
 */
static bool wait_for_more(int pipe_fd, uint64_t *until_ns)
{
	enum { LOOK_MS = 100 };
	struct pollfd fd = {.fd = pipe_fd, .events = POLLIN};
	for (;;) {
		if (!*until_ns && end_pending())
			*until_ns = clock_now_ns() + 2 * NS_PER_SECOND;
		if (*until_ns && clock_now_ns() > *until_ns)
			return false;
		if (poll(&fd, 1, LOOK_MS) > 0)
			return true;
	}
}

/* What a pipe's first bytes are, without taking them: as many as the other end has written yet, which may be one. */
static bool brings_perfdata(int pipe_fd)
{
	enum { HEAD_BYTES = 8 };
	unsigned char head[HEAD_BYTES];
	int copy[2];
	if (pipe2(copy, O_CLOEXEC))
		return false;
	uint64_t until_ns = 0;
	ssize_t got = wait_for_more(pipe_fd, &until_ns)
			      ? tee(pipe_fd, copy[1], sizeof(head), SPLICE_F_NONBLOCK)
			      : -1;
	bool is = got > 0 && read(copy[0], head, sizeof(head)) == got &&
		  perfdata_may_begin(head, (size_t)got);
	close(copy[0]);
	close(copy[1]);
	return is;
}

/* All that a pipe brings, in a file without a name: its reader goes back and forth. A descriptor or -errno. */
static int put_into_file(int pipe_fd)
{
	uint64_t until_ns = 0;
	static unsigned char bytes[1 << 16];
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create("perf.data", MFD_CLOEXEC);
	int result = fd < 0 ? -errno : 0;
	while (!result && wait_for_more(pipe_fd, &until_ns)) {
		ssize_t got = read(pipe_fd, bytes, sizeof(bytes));
		if (got == 0)
			break;
		if (got > 0)
			result = write_all(fd, bytes, (size_t)got);
		else if (errno != EINTR)
			result = -errno;
	}
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

/* perf.data is not read as it comes: rounds, and a header's file, are gone back in. */
static int take_from_pipe(struct source *source, const char *path, struct error *error)
{
	struct stat status;
	if (fstat(source->fd, &status) || !S_ISFIFO(status.st_mode) || !brings_perfdata(source->fd))
		return 0;
	int fd = put_into_file(source->fd);
	close(source->fd);
	source->fd = fd;
	if (fd >= 0)
		return 0;
	error_set(error, fd, "cannot copy '%s' to a file in /tmp: %s", path, strerror(-fd));
	return error_remedy(error, "perf record -o FILE, then name it");
}

int source_open(struct source *source, const char *path, struct error *error)
{
	unsigned char head[8] = {0};
	int code = open_path(source, path, error);
	if (!code)
		code = take_from_pipe(source, path, error);
	if (code)
		return code;
	ssize_t got = pread(source->fd, head, sizeof(head), 0);
	source->is_perfdata = got > 0 && perfdata_is(head, (size_t)got);
	if ((got < 0 && errno == ESPIPE) || (got > 0 && recording_is(head, (size_t)got)) ||
	    source->is_perfdata)
		return 0;
	code = got < 0 ? -errno : -EINVAL;
	if (got == 0)
		error_set(error, code, "'%s' is empty", path);
	else if (got < 0)
		error_set(error, code, "cannot read '%s': %s", path, strerror(-code));
	else
		error_set(error, code, "'%s' is neither a ctop recording nor a perf.data file",
			  path);
	error_remedy(error, "make one with ctop record -o FILE");
	source_close(source);
	return code;
}

int source_again(struct source *source, const struct source *before, const char *path,
		 struct error *error)
{
	*source = (struct source){.fd = -1, .is_perfdata = before->is_perfdata};
	bool failed = false;
	source->fd =
		lseek(before->fd, 0, SEEK_SET) < 0 ? -1 : fcntl(before->fd, F_DUPFD_CLOEXEC, 0);
	failed = source->fd < 0;
	while (!failed && source->nr_parts < before->nr_parts) {
		int part = fcntl(before->parts[source->nr_parts], F_DUPFD_CLOEXEC, 0);
		failed = part < 0;
		if (!failed)
			source->parts[source->nr_parts++] = part;
	}
	if (!failed)
		return 0;
	int code = -errno;
	source_close(source);
	error_set(error, code, "'%s' has too many samples to be kept, and cannot be read twice: %s",
		  path, strerror(-code));
	return error_remedy(error, "write it to a file first, and name that");
}

int64_t source_written_ns(const struct source *source)
{
	struct stat status;
	return fstat(source->fd, &status)
		       ? 0
		       : (int64_t)status.st_mtim.tv_sec * (int64_t)NS_PER_SECOND +
				 status.st_mtim.tv_nsec;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	for (size_t i = 0; i < source->nr_parts; i++)
		close(source->parts[i]);
	*source = (struct source){.fd = -1};
}
