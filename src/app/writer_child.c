/* SPDX-License-Identifier: MIT */
#include "child_link.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <ctop/base/fault.h>
#include <ctop/base/write_all.h>

/*
 * Takes what comes through a pipe to the output, however slow that is. It has nothing of
 * main's but the two descriptors, and goes on to the pipe's end when main is killed.
 */

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
	return child->source_fd < 0 || child->output_fd < 0 ? -EPROTO : 0;
}

/* Until the pipe ends. 0 or -errno of the output. */
static int copy(const struct writer_child *child)
{
	static char bytes[64 << 10];
	for (;;) {
		fault_at("turn", "", child->link.channel);
		ssize_t got = read(child->source_fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		int result = write_all(child->output_fd, bytes, (size_t)got);
		if (result)
			return result;
	}
}

int writer_child_run(struct channel *channel)
{
	struct writer_child child = {.source_fd = -1, .output_fd = -1};
	child_link_init(&child.link, channel, false);
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of write() */
	/* It may outlive main, whose stderr somebody may be reading to its end: 0 is /dev/null. */
	if (dup2(STDIN_FILENO, STDOUT_FILENO) < 0 || dup2(STDIN_FILENO, STDERR_FILENO) < 0)
		return -errno;
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
