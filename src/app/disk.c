/* SPDX-License-Identifier: MIT */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* A second of a busy recording; larger ones need privilege. */
enum { PIPE_BYTES = 1 << 20 };

/* What a disk that is not stuck needs, and who is in a hurry does not notice. */
enum { GRACE_MS = 300 };

void disk_init(struct disk *disk)
{
	worker_init(&disk->writer);
	disk->result = -EIO; /* until it said better */
}

static int send_fd(const struct disk *disk, enum message_kind kind, int fd)
{
	const struct message message = {.kind = kind};
	return protocol_send(disk->writer.channel, &message, fd);
}

int disk_start(struct disk *disk, int fd, int *pipe_fd)
{
	int ends[2];
	int result = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
	if (!result) {
		fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* else it is smaller: that does, too */
		result = fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
		if (!result)
			result = worker_start(&disk->writer, "writer");
		if (!result)
			result = send_fd(disk, MESSAGE_SOURCE, ends[0]);
		if (!result)
			result = send_fd(disk, MESSAGE_OUTPUT, fd);
		if (!result)
			result = send_fd(disk, MESSAGE_START, -1);
		close(ends[0]);
		if (result)
			close(ends[1]);
		else
			*pipe_fd = ends[1];
	}
	close(fd);
	return result;
}

/* What the writer said last; -EIO when it was killed before it could. */
static int last_word(const struct disk *disk)
{
	struct message message;
	int fd = -1;
	int got = protocol_receive(disk->writer.channel, &message, &fd);
	if (fd >= 0)
		close(fd);
	return got == 1 && message.kind == MESSAGE_DONE ? message.result.error : -EIO;
}

int disk_wait(struct disk *disk, int wake_fd)
{
	struct worker *writer = &disk->writer;
	while (writer->pid) {
		struct pollfd fds[] = {
			{.fd = writer->pid_fd, .events = POLLIN},
			{.fd = wake_fd, .events = POLLIN},
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents && !fds[0].revents && poll(fds, 1, GRACE_MS) != 1)
			return -EINTR;
		if (fds[0].revents) {
			int wait_status;
			bool too_often;
			disk->result = last_word(disk);
			worker_reap(writer, &wait_status, &too_often);
		}
	}
	return disk->result;
}

uint64_t disk_cpu_ns(const struct disk *disk)
{
	return worker_cpu_ns(&disk->writer);
}

uint64_t disk_anon_bytes(const struct disk *disk)
{
	return worker_anon_bytes(&disk->writer);
}

void disk_release(struct disk *disk)
{
	worker_abandon(&disk->writer);
}
