/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_STATS_H
#define CTOP_METADATA_STATS_H

/* `--stats FILE`: one JSON object of what was measured. */

#include <ctop/base/error.h>
#include <ctop/metadata/run_facts.h>

/*
 * Writes the object to path ("-": stdout). 0 or -errno with the cause; -EINTR once wake_fd is readable while nobody reads
 * what is written. wake_fd -1: waits for ever.
 */
int stats_write(const char *path, const struct run_facts *facts, int wake_fd, struct error *error);

#endif
