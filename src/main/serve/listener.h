/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_LISTENER_H
#define CTOP_SERVE_LISTENER_H

/* The socket of ctop serve, and the token that its clients have. */

#include <sys/stat.h>

#include <ctop/base/error.h>
#include <ctop/ipc/http_protocol.h>
#include <ctop/options/listen_address.h>

struct listener {
	int fd;
	struct listen_address address;
	dev_t device; /* of a unix socket's file, which is removed at the end */
	ino_t inode;
};

/*
 * A unix socket is made so that only this user and root can connect; what a former ctop has left in its place is removed, anything
 * else is not. 0 or -errno with cause and remedy.
 */
int listener_open(struct listener *listener, struct error *error);
void listener_close(struct listener *listener);

/* One line of a file that belongs to this user or root, and that nobody else may read. token: HTTP_TOKEN_MAX + 1 bytes. */
int token_read(const char *path, char *token, struct error *error);

#endif
