/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_DISK_H
#define CTOP_APP_DISK_H

/*
 * A process that writes a file for main, so that a slow or hanging disk stalls nobody: main
 * puts bytes into a pipe that never blocks.
 */

#include <stdint.h>

#include "worker.h"

struct disk {
	struct worker writer;
	int result; /* of the writer, once it ended */
};

void disk_init(struct disk *disk);
/* Starts the process and takes fd over. *pipe_fd: where to write, non-blocking, the caller's to close. 0 or -errno. */
int disk_start(struct disk *disk, int fd, int *pipe_fd);
/*
 * After the pipe was closed, or broke: waits until the writer is through, or wake_fd gets readable (-1: never).
 * 0: all is written; -EINTR: wake_fd; else the writer's -errno, also when asked again.
 */
int disk_wait(struct disk *disk, int wake_fd);
uint64_t disk_cpu_ns(const struct disk *disk);
uint64_t disk_anon_bytes(const struct disk *disk);
/* A writer that is not through by now goes on without us. */
void disk_release(struct disk *disk);

#endif
