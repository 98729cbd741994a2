/* SPDX-License-Identifier: MIT */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

/* ---- the socket ---- */

static int cannot_listen(const struct listen_address *address, int code, struct error *error)
{
	if (address->is_tcp)
		error_set(error, code, "cannot listen at port %u: %s", address->port,
			  strerror(-code));
	else
		error_set(error, code, "cannot listen at '%s': %s",
			  address->address.unix_path.sun_path, strerror(-code));
	return error_remedy(error, code == -EADDRINUSE
					   ? "another listens there: end it, or name another "
					     "place with --listen"
					   : "name another place with --listen");
}

/* A socket of ours that nobody listens at any more is removed: its ctop was killed. */
static void remove_stale(const struct listen_address *address)
{
	const char *path = address->address.unix_path.sun_path;
	struct stat status;
	if (lstat(path, &status) || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
		return;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, &address->address.any, address->size) && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}

static int bind_to(struct listener *listener)
{
	const struct listen_address *address = &listener->address;
	static const int on = 1;
	if (address->is_tcp) {
		setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(listener->fd, &address->address.any, address->size) ? -errno : 0;
	}
	remove_stale(address);
	const mode_t before = umask(0177);
	const int result = bind(listener->fd, &address->address.any, address->size) ? -errno : 0;
	umask(before);
	struct stat status;
	if (!result && lstat(address->address.unix_path.sun_path, &status) == 0) {
		listener->device = status.st_dev;
		listener->inode = status.st_ino;
	}
	return result;
}

int listener_open(struct listener *listener, struct error *error)
{
	const int family = listener->address.address.any.sa_family;
	listener->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return cannot_listen(&listener->address, -errno, error);
	int result = bind_to(listener);
	socklen_t size = listener->address.size;
	if (!result && (listen(listener->fd, BACKLOG) ||
			getsockname(listener->fd, &listener->address.address.any, &size)))
		result = -errno;
	if (listener->address.is_tcp) /* of IPv6 it is at the same place */
		listener->address.port = ntohs(listener->address.address.ip4.sin_port);
	if (!result)
		return 0;
	listener_close(listener);
	return cannot_listen(&listener->address, result, error);
}

void listener_close(struct listener *listener)
{
	const char *path = listener->address.address.unix_path.sun_path;
	struct stat status;
	if (listener->fd >= 0)
		close(listener->fd);
	listener->fd = -1;
	if (listener->inode && lstat(path, &status) == 0 && status.st_dev == listener->device &&
	    status.st_ino == listener->inode)
		unlink(path);
	listener->inode = 0;
}

/* ---- the token ---- */

static int bad_token(const char *path, struct error *error, const char *why, const char *remedy)
{
	error_set(error, -EPERM, "the token of '%.200s' is not used: %s", path, why);
	return error_remedy(error, "%s", remedy);
}

/* Group root's may stand for an access list, which is how systemd hands on credentials. */
static bool is_private(const struct stat *status)
{
	const mode_t others = S_IRWXO | S_IWGRP | S_IXGRP;
	return !(status->st_mode & others) &&
	       (!(status->st_mode & S_IRGRP) || (status->st_uid == 0 && status->st_gid == 0));
}

static int check_token(const char *path, const char *token, struct error *error)
{
	const size_t size = strlen(token);
	for (size_t i = 0; i < size; i++)
		if (token[i] <= ' ' || token[i] > '~')
			return bad_token(path, error, "it has other than printable ASCII",
					 "make one: head -c 32 /dev/urandom | base64");
	if (size >= HTTP_TOKEN_LEAST && size <= HTTP_TOKEN_MAX)
		return 0;
	return bad_token(path, error, "it has fewer than 16 or more than 255 characters",
			 "make one: head -c 32 /dev/urandom | base64");
}

int token_read(const char *path, char *token, struct error *error)
{
	struct stat status;
	char bytes[HTTP_TOKEN_MAX + 3];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status)) {
		const int code = -errno;
		if (fd >= 0)
			close(fd);
		error_set(error, code, "cannot read '%.200s': %s", path, strerror(-code));
		return error_remedy(error, "name a file with one line, the token: --token-file "
					   "FILE");
	}
	const ssize_t got = S_ISREG(status.st_mode) ? read(fd, bytes, sizeof(bytes) - 1) : 0;
	close(fd);
	if (!S_ISREG(status.st_mode))
		return bad_token(path, error, "it is no regular file", "name a file");
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return bad_token(path, error, "it is another user's file",
				 "name one that belongs to you or root");
	if (!is_private(&status))
		return bad_token(path, error, "others may read it", "chmod 600 FILE");
	bytes[got > 0 ? got : 0] = '\0';
	bytes[strcspn(bytes, "\r\n")] = '\0';
	int result = check_token(path, bytes, error);
	if (!result)
		memcpy(token, bytes, strlen(bytes) + 1);
	explicit_bzero(bytes, sizeof(bytes));
	return result;
}
