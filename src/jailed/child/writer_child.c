/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/fault.h>

/*
 * Takes what comes through a pipe to the output, however slow that is. It has nothing of
 * main's but the two descriptors, and goes on to the pipe's end when main is killed. How much the
 * output took stands in the status, where a successor goes on.
 */

/* What is in hand at a time: of a file. A pipe takes so much (PIPE_BUF) whole or not at all. */
enum { FILE_BYTES = 64 << 10 };

struct writer_child {
	struct child_link link;
	int source_fd, output_fd;
	bool started;
};

/* Takes the descriptors. 0 or -errno. */
static int listen(struct writer_child *child)
{
	while (!child->started) {
		struct message message;
		int fd = -1;
		bool new_epoch;
		int got = protocol_receive(child->link.channel, &message, &fd);
		if (got == 0)
			return -EPIPE;
		if (got == -EAGAIN)
			got = child_link_wait(&child->link, -1);
		else if (got > 0)
			got = child_link_handle(&child->link, &message, fd, &new_epoch);
		else
			return got;
		if (got < 0)
			return got;
		if (got == 1 || fd < 0)
			child->started |= got == 0 && message.kind == MESSAGE_START;
		else if (message.kind == MESSAGE_SOURCE)
			child->source_fd = fd;
		else if (message.kind == MESSAGE_OUTPUT)
			child->output_fd = fd;
		else
			return -EPROTO;
	}
	bool has_all = child->source_fd >= 0 && child->output_fd >= 0 && child->link.status;
	return has_all ? 0 : -EPROTO;
}

/* All of it. 0 or -errno of the output. */
static int put(const struct writer_child *child, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t wrote = write(child->output_fd, bytes, size);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		status_add(&child->link.status->written, (uint64_t)wrote);
		bytes += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

/*
 * Until the pipe ends. 0 or -errno of the output. What cannot be gone back in is given little at a time, and only when there
 * is room: who is killed while it waits has written all that it says, and nothing else.
 */
static int copy(const struct writer_child *child)
{
	static char bytes[FILE_BYTES];
	struct stat stat;
	const bool is_file = fstat(child->output_fd, &stat) == 0 && S_ISREG(stat.st_mode);
	const size_t most = is_file ? sizeof(bytes) : PIPE_BUF;
	for (;;) {
		fault_at("turn", "", child->link.channel);
		ssize_t got = read(child->source_fd, bytes, most);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		struct pollfd output = {.fd = child->output_fd, .events = POLLOUT};
		while (!is_file && poll(&output, 1, -1) < 0 && errno == EINTR)
			;
		int result = put(child, bytes, (size_t)got);
		if (result)
			return result;
	}
}

int writer_child_run(struct channel *channel)
{
	struct writer_child child = {.source_fd = -1, .output_fd = -1};
	child_link_init(&child.link, channel, false);
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write() */
	int result = listen(&child);
	if (!result)
		result = copy(&child);
	/* Network file systems tell at the end what they could not keep. */
	if (child.output_fd >= 0 && close(child.output_fd) < 0 && !result)
		result = -errno;
	child_link_done(&child.link, result, "");
	if (child.source_fd >= 0)
		close(child.source_fd);
	child_link_release(&child.link);
	return result;
}
