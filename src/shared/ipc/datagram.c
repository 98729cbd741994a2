/* SPDX-License-Identifier: MIT */
#include <ctop/ipc/datagram.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Space for one descriptor, aligned as the kernel reads it. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int datagram_send(int socket, const void *bytes, size_t size, int fd, int flags)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};
	if (fd >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	}
	ssize_t sent;
	do
		sent = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static int descriptor_of(struct msghdr *header)
{
	const struct cmsghdr *rights = CMSG_FIRSTHDR(header);
	int fd = -1;
	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
	    rights->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	return fd;
}

ssize_t datagram_receive(int socket, void *bytes, size_t size, int flags, int *fd, int *said)
{
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {0};
	if (fd) {
		*fd = -1;
		/* For exactly one: CMSG_SPACE's padding would let two in. */
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_LEN(sizeof(int));
	}
	ssize_t got;
	do
		got = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (fd)
		*fd = descriptor_of(&header);
	if (said)
		*said = header.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	return got;
}
