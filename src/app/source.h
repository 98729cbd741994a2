/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_SOURCE_H
#define CTOP_APP_SOURCE_H

/* A file with samples: a recording or perf.data, told apart by its first bytes. */

#include <stdbool.h>

#include <ctop/base/error.h>

/* "-" is standard input. A descriptor, or -errno with cause and remedy. */
int source_open(const char *path, bool *is_perfdata, struct error *error);
/* The same file from its start, whatever has its name now. A descriptor, or -errno with cause and remedy. */
int source_again(int fd, const char *path, struct error *error);

#endif
