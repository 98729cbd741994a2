/* SPDX-License-Identifier: MIT */
#include <ctop/session/disk.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A second of a busy recording; larger ones need privilege. */
enum { PIPE_BYTES = 1 << 20 };

/* What a disk that is not stuck needs, and who is in a hurry does not notice. */
enum { GRACE_MS = 300 };

void disk_init(struct disk *disk)
{
	*disk = (struct disk){.output_fd = -1, .start = -1, .appended_from = -1};
	worker_init(&disk->writer);
}

static int send_fd(const struct disk *disk, enum message_kind kind, int fd)
{
	const struct message message = {.kind = kind};
	return protocol_send(disk->writer.channel, &message, fd);
}

static int start_writer(struct disk *disk, int *pipe_fd)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* else it is smaller: that does, too */
	int result = fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	if (!result)
		result = worker_start(&disk->writer, "writer");
	if (!result)
		result = send_fd(disk, MESSAGE_SOURCE, ends[0]);
	if (!result)
		result = send_fd(disk, MESSAGE_OUTPUT, disk->output_fd);
	if (!result)
		result = send_fd(disk, MESSAGE_START, -1);
	close(ends[0]);
	if (result == -EPIPE)
		result = 0; /* it died at once: its pidfd tells */
	if (result)
		close(ends[1]);
	else
		*pipe_fd = ends[1];
	return result;
}

/* Where bytes written now go; -1 where that is not to be chosen. */
static off_t position_of(int fd)
{
	struct stat stat;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || flags & O_APPEND || fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		return -1;
	return lseek(fd, 0, SEEK_CUR);
}

/* -1: it is not appended to, or no file. */
static off_t size_appended_to(int fd)
{
	struct stat stat;
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && flags & O_APPEND && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)
		       ? stat.st_size
		       : -1;
}

int disk_start(struct disk *disk, int fd, int *pipe_fd)
{
	disk->output_fd = fd;
	disk->appended_from = size_appended_to(fd);
	disk->start = position_of(fd);
	return start_writer(disk, pipe_fd);
}

uint64_t disk_written(const struct disk *disk)
{
	const struct child_status *status = disk->writer.status;
	return status ? atomic_load(&status->written) : 0;
}

/* One that is not there yet is like a disk that hangs: what it is to have waits. */
static void listen_for_hello(const struct disk *disk)
{
	if (disk->writer.pid)
		channel_await_hello(disk->writer.channel, 0);
}

bool disk_has_ended(const struct disk *disk)
{
	listen_for_hello(disk);
	struct pollfd fd = {.fd = disk->writer.pid_fd, .events = POLLIN};
	return !disk->writer.pid || poll(&fd, 1, 0) == 1;
}

/* Whether these bytes stand there in the file. */
static bool stands_there(int fd, off_t at, const uint8_t *bytes, size_t size)
{
	uint8_t there[4096];
	while (size > 0) {
		const size_t part = size < sizeof(there) ? size : sizeof(there);
		const ssize_t got = pread(fd, there, part, at);
		if (got <= 0 || memcmp(there, bytes, (size_t)got) != 0)
			return false;
		at += got;
		bytes += got;
		size -= (size_t)got;
	}
	return true;
}

uint64_t disk_find(struct disk *disk, uint64_t written, const uint8_t *bytes, size_t size)
{
	struct stat stat;
	char path[32];
	if (disk->appended_from < 0 || fstat(disk->output_fd, &stat) < 0)
		return written;
	const off_t at = disk->appended_from + (off_t)written;
	const size_t more = stat.st_size > at ? (size_t)(stat.st_size - at) : 0;
	if (!more && stat.st_size == at)
		return written;
	/* It was opened for writing, as a rule. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", disk->output_fd);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool is_ours = fd >= 0 && more && more <= size && stands_there(fd, at, bytes, more);
	if (fd >= 0)
		close(fd);
	disk->may_repeat |= !is_ours;
	return is_ours ? written + more : written;
}

int disk_restart(struct disk *disk, uint64_t written, int *pipe_fd)
{
	/* Nobody else has the page, nor the file, now. What the last one has written without saying so is written again. */
	atomic_store(&disk->writer.status->written, written);
	disk->result = 0;
	if (disk->start >= 0 && lseek(disk->output_fd, disk->start + (off_t)written, SEEK_SET) < 0)
		disk->result = -errno;
	if (!disk->result)
		disk->result = start_writer(disk, pipe_fd);
	if (disk->result && disk->writer.pid)
		worker_release(&disk->writer);
	return disk->result;
}

static void close_output(struct disk *disk)
{
	if (disk->output_fd >= 0)
		close(disk->output_fd);
	disk->output_fd = -1;
}

/* What the writer said last; -EAGAIN when it was killed before it could. */
static int last_word(const struct disk *disk)
{
	struct message message;
	int fd = -1;
	int got = protocol_receive(disk->writer.channel, &message, &fd);
	if (fd >= 0)
		close(fd);
	return got == 1 && message.kind == MESSAGE_DONE ? message.result.error : -EAGAIN;
}

static void bury(struct disk *disk)
{
	int wait_status;
	bool too_often;
	disk->result = last_word(disk);
	worker_reap(&disk->writer, &wait_status, &too_often);
	if (disk->result == -EAGAIN && too_often)
		disk->result = -ECHILD;
	if (disk->result != -EAGAIN)
		close_output(disk);
}

int disk_wait(struct disk *disk, int wake_fd)
{
	const struct worker *writer = &disk->writer;
	while (writer->pid) {
		const bool held = channel_held(writer->channel);
		struct pollfd fds[] = {
			{.fd = writer->pid_fd, .events = POLLIN},
			{.fd = wake_fd, .events = POLLIN},
			{.fd = held ? channel_fd(writer->channel) : -1, .events = POLLIN},
		};
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return -errno;
		listen_for_hello(disk);
		if (fds[1].revents && !fds[0].revents && poll(fds, 1, GRACE_MS) != 1)
			return -EINTR;
		if (fds[0].revents)
			bury(disk);
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
	close_output(disk);
}
