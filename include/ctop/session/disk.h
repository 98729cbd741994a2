/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_DISK_H
#define CTOP_SESSION_DISK_H

/*
 * A process that writes a file for main, so that a slow or hanging disk stalls nobody: main
 * puts bytes into a pipe that never blocks. It may die: what it has not written yet is main's to keep, and a
 * successor goes on there. A file is then as if nothing had happened; so is one that is appended to, as long as nobody else
 * does; a pipe or a device, in which nobody can go back, may have got what was in hand, PIPE_BUF bytes at most, twice.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ctop/session/worker.h>

struct disk {
	struct worker writer;
	int output_fd; /* for successors; -1: none is to come */
	off_t start;   /* where in the file the first byte went; -1: it is none to go back in */
	off_t appended_from; /* of a file that is appended to: its size before; else -1 */
	bool may_repeat;     /* it was, and what its writer wrote last is not known */
	int result;	     /* of the writer, once it ended */
};

void disk_init(struct disk *disk);
/* Starts the process and takes fd over. *pipe_fd: where to write, non-blocking, the caller's to close. 0 or -errno. */
int disk_start(struct disk *disk, int fd, int *pipe_fd);
/* Bytes that the output has taken, by the writer's word. */
uint64_t disk_written(const struct disk *disk);
/* True once the process has ended: disk_wait() tells at once how. */
bool disk_has_ended(const struct disk *disk);
/*
 * Waits until the writer has ended, or wake_fd gets readable (-1: never). It ends when the pipe does: 0 if all
 * is written; -EINTR: wake_fd; else the writer's -errno, also when asked again; -EAGAIN: it died, let another go on;
 * -ECHILD: that was once too often.
 */
int disk_wait(struct disk *disk, int wake_fd);
/*
 * After -EAGAIN: a writer that is killed has written what it had no time to say. Of the bytes that come behind `written`, how
 * many stand in a file that is appended to? `written` and these. may_repeat: others have appended, or it cannot be read.
 */
uint64_t disk_find(struct disk *disk, uint64_t written, const uint8_t *bytes, size_t size);
/* After -EAGAIN: another process, which is given a pipe of its own, goes on behind the first `written` bytes. 0 or -errno. */
int disk_restart(struct disk *disk, uint64_t written, int *pipe_fd);
uint64_t disk_cpu_ns(const struct disk *disk);
uint64_t disk_anon_bytes(const struct disk *disk);
/* A writer that has not finished goes on without us. */
void disk_release(struct disk *disk);

#endif
