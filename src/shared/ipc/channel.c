/* SPDX-License-Identifier: MIT */
#include <ctop/ipc/channel.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctop/ipc/datagram.h>

struct waiting_message {
	struct waiting_message *next;
	int fd; /* our duplicate, or -1 */
	size_t size;
	unsigned char bytes[];
};

struct channel {
	int fd;
	enum channel_end end;
	struct waiting_message *first, **last_next; /* what the socket did not take yet, in order */
	size_t nr_waiting;
	bool held;
	uint32_t hello_word;
};

/* What a child says first: no message of ipc/protocol.h begins like this. */
#define HELLO_MAGIC UINT32_C(0x21696821)

struct hello {
	uint32_t magic, word;
};

int channel_pair(int *main_fd, int *child_fd)
{
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return -errno;
	*main_fd = fds[0];
	*child_fd = fds[1];
	return 0;
}

struct channel *channel_new(int fd, enum channel_end end)
{
	struct channel *channel = calloc(1, sizeof(*channel));
	if (!channel) {
		close(fd);
		return NULL;
	}
	channel->fd = fd;
	channel->end = end;
	channel->last_next = &channel->first;
	return channel;
}

static void waiting_free(struct waiting_message *waiting)
{
	if (waiting->fd >= 0)
		close(waiting->fd);
	free(waiting);
}

static void drop_first(struct channel *channel)
{
	struct waiting_message *first = channel->first;
	channel->first = first->next;
	if (!channel->first)
		channel->last_next = &channel->first;
	channel->nr_waiting--;
	waiting_free(first);
}

void channel_free(struct channel *channel)
{
	if (!channel)
		return;
	while (channel->first)
		drop_first(channel);
	close(channel->fd);
	free(channel);
}

int channel_fd(const struct channel *channel)
{
	return channel->fd;
}

bool channel_waiting(const struct channel *channel)
{
	return channel->first && !channel->held;
}

void channel_hold(struct channel *channel)
{
	channel->held = true;
}

bool channel_held(const struct channel *channel)
{
	return channel->held;
}

uint32_t channel_hello_word(const struct channel *channel)
{
	return channel->hello_word;
}

/* -EAGAIN when the socket has no room now; other errors as sendmsg(2), -EPIPE when the peer is gone. */
static int transmit(const struct channel *channel, const void *message, size_t size, int fd)
{
	const int result = datagram_send(channel->fd, message, size, fd, MSG_DONTWAIT);
	switch (result) {
	case -ETOOMANYREFS: /* as many descriptors in flight as the user may have */
	case -ENOBUFS:
	case -ENOMEM:
		return -EAGAIN;
	case -ECONNRESET:
	case -ENOTCONN:
		return -EPIPE;
	default:
		return result;
	}
}

static int enqueue(struct channel *channel, const void *message, size_t size, int fd)
{
	if (channel->nr_waiting == CHANNEL_QUEUE_MAX)
		return -ENOBUFS;
	struct waiting_message *waiting = malloc(sizeof(*waiting) + size);
	if (!waiting)
		return -ENOMEM;
	waiting->next = NULL;
	waiting->size = size;
	memcpy(waiting->bytes, message, size);
	waiting->fd = -1;
	if (fd >= 0) {
		waiting->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (waiting->fd < 0) {
			int error = -errno;
			free(waiting);
			return error;
		}
	}
	*channel->last_next = waiting;
	channel->last_next = &waiting->next;
	channel->nr_waiting++;
	return 0;
}

int channel_send(struct channel *channel, const void *message, size_t size, int fd)
{
	if (size == 0 || size > CHANNEL_MESSAGE_MAX)
		return -EMSGSIZE;
	if (fd >= 0 && channel->end == CHANNEL_CHILD)
		return -EPERM;
	if (!channel->first && !channel->held) {
		int sent = transmit(channel, message, size, fd);
		if (sent != -EAGAIN)
			return sent;
	}
	return enqueue(channel, message, size, fd);
}

int channel_flush(struct channel *channel)
{
	while (channel->first && !channel->held) {
		const struct waiting_message *first = channel->first;
		int sent = transmit(channel, first->bytes, first->size, first->fd);
		if (sent == -EAGAIN)
			return 0;
		if (sent)
			return sent;
		drop_first(channel);
	}
	return 0;
}

/* As channel_receive(), without a hello's part in it. */
static ssize_t receive(const struct channel *channel, void *message, size_t size, int *fd)
{
	/* Main takes none: the kernel closes what a child sends before it becomes one of ours, and says so. */
	const bool takes_fd = channel->end == CHANNEL_CHILD;
	int said = 0;
	*fd = -1;
	ssize_t received = datagram_receive(channel->fd, message, size, MSG_DONTWAIT,
					    takes_fd ? fd : NULL, &said);
	if (received < 0)
		return received == -ECONNRESET ? 0 : received;
	if (!takes_fd && said & MSG_CTRUNC)
		return -EPROTO;
	if (said & MSG_TRUNC) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		return -EMSGSIZE;
	}
	return received;
}

int channel_say_hello(struct channel *channel, uint32_t word)
{
	const struct hello hello = {HELLO_MAGIC, word};
	return channel_send(channel, &hello, sizeof(hello), -1);
}

/* Takes the hello, and sends what has waited for it. 0, -EAGAIN when there is none yet, -EPIPE, -EPROTO. */
static int take_hello(struct channel *channel)
{
	struct hello hello;
	int fd = -1;
	ssize_t got = receive(channel, &hello, sizeof(hello), &fd);
	if (got == 0 || got == -EAGAIN)
		return got ? -EAGAIN : -EPIPE;
	if (got != (ssize_t)sizeof(hello) || hello.magic != HELLO_MAGIC)
		return -EPROTO; /* from main's end, no descriptor can have come along */
	channel->held = false;
	channel->hello_word = hello.word;
	return channel_flush(channel);
}

int channel_await_hello(struct channel *channel, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = channel->fd, .events = POLLIN};
	int result = 0;
	while (channel->held && !result) {
		int got = poll(&poll_fd, 1, timeout_ms);
		if (got < 0 && errno != EINTR)
			result = -errno;
		else if (got == 0)
			result = -ETIMEDOUT;
		else if (got > 0)
			result = take_hello(channel);
		if (result == -EAGAIN)
			result = 0;
	}
	return result;
}

ssize_t channel_receive(struct channel *channel, void *message, size_t size, int *fd)
{
	*fd = -1;
	int result = channel->held ? take_hello(channel) : 0;
	if (result)
		return result == -EPIPE ? 0 : result;
	return receive(channel, message, size, fd);
}
