/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SPLIT_NAMES_H
#define CTOP_LINES_SPLIT_NAMES_H

/*
 * What a file says of a unit that -gsplit-dwarf has put into another one, known by its id: for a jailed prober, on whose word main looks for
 * that other file, and gives it. The bytes are untrusted; what compressed sections unpack to must fit into a prober.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a program, or its debug file, says that the unit is: an absolute path, or one that is not. False: it says nothing of it that fits. */
bool split_name(int fd, uint64_t id, char *path, size_t path_bytes);
/* Whether the unit is in a .dwo file, or in a package of such files. */
bool split_is_in(int fd, uint64_t id);

#endif
