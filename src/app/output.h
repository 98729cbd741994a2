/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_OUTPUT_H
#define CTOP_APP_OUTPUT_H

/* Where a recording goes. */

#include <ctop/base/error.h>

/*
 * Opens the output: "-" is stdout; a device, a pipe or a fifo is written as it is; a regular file that is
 * there becomes PATH.old and a new one is made, never through a symlink. A terminal is refused. Waits for a fifo's
 * reader, unless wake_fd gets readable. A descriptor, or -errno with cause and remedy.
 */
int output_open(const char *path, int wake_fd, struct error *error);

#endif
