/* SPDX-License-Identifier: MIT */
#ifndef CTOP_IPC_DATAGRAM_H
#define CTOP_IPC_DATAGRAM_H

/* A datagram through a Unix socket, with a descriptor beside it or none (unix(7)). */

#include <stddef.h>
#include <sys/types.h>

/* fd: -1: none; it stays the caller's. No signal when nobody is there any more. 0 or -errno. */
int datagram_send(int socket, const void *bytes, size_t size, int fd, int flags);
/*
 * Its bytes, 0: the end, or -errno. *fd: what came beside it, close-on-exec, the caller's, or -1; NULL: there is no room for
 * one, and the kernel closes it. *said: MSG_TRUNC and MSG_CTRUNC as recvmsg(2) has them; NULL: not wanted.
 */
ssize_t datagram_receive(int socket, void *bytes, size_t size, int flags, int *fd, int *said);

#endif
