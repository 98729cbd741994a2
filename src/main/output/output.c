/* SPDX-License-Identifier: MIT */
#include <ctop/output/output.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ASK_FIFO_MS = 50, NAMES_TRIED = 16 };

/* remedy NULL: the usual one. */
static int refuse(const struct output_request *request, struct error *error, int code,
		  const char *why, const char *remedy)
{
	enum { SHOWN_MOST = 300 };
	bool is_long = strlen(request->path) > SHOWN_MOST;
	error_set(error, code, "cannot write '%.*s%s': %s", SHOWN_MOST, request->path,
		  is_long ? "..." : "", why);
	if (remedy)
		error_remedy(error, "%s", remedy);
	else if (!request->option)
		error_remedy(error, "name another file, or - for standard output");
	else if (request->is_recording)
		error_remedy(error, "write elsewhere: -o FILE, or -o - for standard output");
	else
		error_remedy(error, "write elsewhere with %s FILE", request->option);
	return code;
}

static int refuse_errno(const struct output_request *request, struct error *error, int code)
{
	return refuse(request, error, code, strerror(-code), NULL);
}

/* ---- descriptors that ctop was started with ---- */

/* A number as the kernel writes it, at most `most`; -1: none. */
static int64_t number_of(const char *digits, int64_t most)
{
	enum { DIGITS_MOST = 10 };
	size_t size = strspn(digits, "0123456789");
	if (!size || size > DIGITS_MOST || digits[size] || (*digits == '0' && size > 1))
		return -1;
	int64_t number = atoll(digits);
	return number <= most ? number : -1;
}

int output_descriptor(const char *path)
{
	static const char *const directories[] = {"/dev/fd/", "/proc/self/fd/"};
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		if (!strncmp(path, directories[i], strlen(directories[i])))
			return (int)number_of(path + strlen(directories[i]), INT_MAX);
	return -1;
}

static int refuse_terminal(const struct output_request *request, struct error *error)
{
	return refuse(request, error, -ENOTTY, "a recording is not for a terminal", NULL);
}

static int duplicate(const struct output_request *request, int number, struct error *error)
{
	int kept = fcntl(number, F_GETFD), mode = fcntl(number, F_GETFL);
	/* What is closed by exec did not come through ours: it is a file of ctop's own. */
	if (kept < 0 || mode < 0 || kept & FD_CLOEXEC)
		return refuse(request, error, -EBADF, "no such descriptor is open", NULL);
	if ((mode & O_ACCMODE) == O_RDONLY || mode & O_PATH)
		return refuse(request, error, -EBADF, "the descriptor is not open for writing",
			      NULL);
	if (request->is_recording && isatty(number))
		return refuse_terminal(request, error);
	int fd = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? refuse_errno(request, error, -errno) : fd;
}

/* ---- fifos and devices ---- */

/* Who called sudo; -1: nobody did. */
static int64_t caller_of_sudo(void)
{
	const char *text = getuid() == 0 && geteuid() == 0 ? getenv("SUDO_UID") : NULL;
	return text ? number_of(text, UINT32_MAX - 1) : -1;
}

/* Where users have numbers of their own, as in a container, these may belong to nobody; and they take anything. */
static bool is_sink(const struct stat *stat)
{
	const dev_t sinks[] = {makedev(1, 3), makedev(1, 5), makedev(1, 7)}; /* null, zero, full */
	for (size_t i = 0; i < sizeof(sinks) / sizeof(*sinks); i++)
		if (S_ISCHR(stat->st_mode) && stat->st_rdev == sinks[i])
			return true;
	return false;
}

static bool is_trusted(const struct stat *stat)
{
	return stat->st_uid == 0 || stat->st_uid == getuid() || stat->st_uid == geteuid() ||
	       (int64_t)stat->st_uid == caller_of_sudo() || is_sink(stat);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       (a->st_mode & S_IFMT) == (b->st_mode & S_IFMT) && a->st_rdev == b->st_rdev;
}

/* The kernel does not tell when a fifo gets a reader: asks now and then. -errno, -EINTR: woken. */
static int open_patiently(const struct output_request *request, const struct output *output,
			  const struct stat *seen)
{
	struct pollfd wake = {.fd = request->wake_fd, .events = POLLIN};
	for (;;) {
		int fd = openat(output->directory_fd, output->name,
				O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0 || errno != ENXIO || !S_ISFIFO(seen->st_mode))
			return fd < 0 ? -errno : fd;
		if (poll(&wake, 1, ASK_FIFO_MS) > 0)
			return -EINTR;
	}
}

static int open_special(const struct output_request *request, const struct output *output,
			const struct stat *seen, struct error *error)
{
	struct stat opened;
	if (request->by_default)
		return refuse(request, error, -EEXIST, "it exists, and is not a regular file",
			      NULL);
	if (!is_trusted(seen))
		return refuse(request, error, -EPERM, "it belongs to another user",
			      "name one of your own, or of root's");
	int fd = open_patiently(request, output, seen);
	if (fd == -EINTR)
		return refuse(request, error, fd, "interrupted before anybody read it", NULL);
	if (fd == -ELOOP || (fd >= 0 && (fstat(fd, &opened) < 0 || !is_same(seen, &opened)))) {
		if (fd >= 0)
			close(fd);
		return refuse(request, error, -ESTALE, "it was replaced while it was opened",
			      "write to a directory that nobody else may change");
	}
	if (fd < 0)
		return refuse_errno(request, error, fd);
	if (request->is_recording && isatty(fd)) {
		close(fd);
		return refuse_terminal(request, error);
	}
	/* The writer may wait for its reader. */
	if (fcntl(fd, F_SETFL, 0) < 0) {
		int code = -errno;
		close(fd);
		return refuse_errno(request, error, code);
	}
	return fd;
}

/* ---- new files ---- */

static int create(const struct output *output, const char *name, mode_t mode)
{
	int fd = openat(output->directory_fd, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	return fd < 0 ? -errno : fd;
}

/* One that nobody knows beforehand, so that nobody can take it. 0 or -errno. */
static int choose_name(struct output *output)
{
	uint64_t number;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(output->made, sizeof(output->made), ".ctop-%016" PRIx64, number);
	return 0;
}

/* The name in /proc of an open descriptor, by which it can be linked. */
struct link_source {
	char path[32];
};
static struct link_source link_source(int fd)
{
	struct link_source source;
	snprintf(source.path, sizeof(source.path), "/proc/self/fd/%d", fd);
	return source;
}

/* A file without a name: whoever kills us, nothing of it is left. Not every file system has that. */
static int create_nameless(const struct output *output, mode_t mode)
{
	int fd = openat(output->directory_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	if (fd >= 0 && access(link_source(fd).path, F_OK) < 0) {
		close(fd);
		return -ENOENT;
	}
	return fd < 0 ? -errno : fd;
}

static int create_beside(struct output *output, mode_t mode)
{
	int fd = choose_name(output);
	if (!fd)
		fd = create_nameless(output, mode);
	output->is_nameless = fd >= 0;
	for (int i = 0; i < NAMES_TRIED && fd < 0 && (!i || fd == -EEXIST); i++) {
		fd = choose_name(output);
		if (!fd)
			fd = create(output, output->made, mode);
	}
	return fd;
}

/* A link takes nobody's place, so it gets another name first. */
static int give_name(const struct output *output)
{
	return linkat(AT_FDCWD, link_source(output->fd).path, output->directory_fd, output->made,
		      AT_SYMLINK_FOLLOW) < 0
		       ? -errno
		       : 0;
}

static int keep_old(const struct output *output)
{
	char old[NAME_MAX + 1];
	if ((size_t)snprintf(old, sizeof(old), "%s.old", output->name) >= sizeof(old))
		return -ENAMETOOLONG;
	return renameat(output->directory_fd, output->name, output->directory_fd, old) < 0 ? -errno
											   : 0;
}

static int open_new(const struct output_request *request, struct output *output, bool exists,
		    struct error *error)
{
	mode_t mode = request->is_recording ? 0600 : 0666;
	int fd = 0;
	if (exists && request->way == OUTPUT_NEW)
		fd = -EEXIST;
	if (exists && request->way == OUTPUT_KEEP_OLD)
		fd = keep_old(output);
	if (!fd && request->way == OUTPUT_REPLACE)
		fd = create_beside(output, mode);
	else if (!fd)
		fd = create(output, output->name, mode);
	if (fd >= 0 &&
	    (request->way == OUTPUT_NEW || (request->way == OUTPUT_KEEP_OLD && request->is_whole)))
		strcpy(output->made, output->name);
	return fd < 0 ? refuse_errno(request, error, fd) : fd;
}

/* ---- all of it ---- */

/* Opens the directory and keeps the name in it. 0 or -errno. */
static int open_directory(const char *path, struct output *output)
{
	char directory[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t size = slash ? (size_t)(slash - path) + (slash == path) : 0;
	if (!*path)
		return -ENOENT;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	if (size >= sizeof(directory) || strlen(name) >= sizeof(output->name))
		return -ENAMETOOLONG;
	if (slash)
		snprintf(directory, sizeof(directory), "%.*s", (int)size, path);
	strcpy(output->name, name);
	output->directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return output->directory_fd < 0 ? -errno : 0;
}

static int open_in_directory(const struct output_request *request, struct output *output,
			     struct error *error)
{
	struct stat seen;
	bool exists = fstatat(output->directory_fd, output->name, &seen, AT_SYMLINK_NOFOLLOW) == 0;
	if (!exists && errno != ENOENT)
		return refuse_errno(request, error, -errno);
	if (!exists || S_ISREG(seen.st_mode) || request->way == OUTPUT_NEW)
		return open_new(request, output, exists, error);
	if (S_ISLNK(seen.st_mode))
		return refuse(request, error, -ELOOP, "it is a symbolic link",
			      "name the file itself, or remove the link");
	if (S_ISDIR(seen.st_mode))
		return refuse_errno(request, error, -EISDIR);
	return open_special(request, output, &seen, error);
}

static void close_directory(struct output *output)
{
	if (output->directory_fd >= 0)
		close(output->directory_fd);
	output->directory_fd = -1;
}

int output_open(struct output *output, const struct output_request *request, struct error *error)
{
	*output = (struct output){.fd = -1, .directory_fd = -1};
	int number = output_descriptor(request->path);
	if (number >= 0 && request->way != OUTPUT_NEW) {
		output->fd = duplicate(request, number, error);
		return output->fd < 0 ? output->fd : 0;
	}
	int result = open_directory(request->path, output);
	if (result)
		return refuse_errno(request, error, result);
	output->fd = open_in_directory(request, output, error);
	if (output->fd < 0 || !output->made[0])
		close_directory(output);
	return output->fd < 0 ? output->fd : 0;
}

int output_end(struct output *output, int result)
{
	if (!result && output->is_nameless)
		result = give_name(output);
	/* close() is where some file systems report that they are full. */
	if (output->fd >= 0 && close(output->fd) < 0 && !result)
		result = -errno;
	output->fd = -1;
	if (!output->made[0])
		return result;
	if (!result && strcmp(output->made, output->name) != 0 &&
	    renameat(output->directory_fd, output->made, output->directory_fd, output->name) < 0)
		result = -errno;
	if (result)
		unlinkat(output->directory_fd, output->made, 0);
	output->made[0] = '\0';
	close_directory(output);
	return result;
}
