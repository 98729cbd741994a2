/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_DISTRIBUTION_H
#define CTOP_SYSTEM_DISTRIBUTION_H

/*
 * Which family of distributions a machine's packages are of, by os-release(5): so that the command is named that brings a debug
 * file. It is one of a fixed list: none of the file's text goes any further.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum distribution {
	DISTRIBUTION_UNKNOWN,
	DISTRIBUTION_DEBIAN,
	DISTRIBUTION_UBUNTU,
	DISTRIBUTION_FEDORA,
	DISTRIBUTION_SUSE,
	DISTRIBUTION_ARCH,
	NR_DISTRIBUTIONS
};

/* By the text of an os-release: its ID, else the first of its ID_LIKE that is known. */
enum distribution distribution_of_text(const char *text);
/* Of our own root. */
enum distribution distribution_own(void);
/* A word for a recording; and back, UNKNOWN for NULL and all others. */
const char *distribution_word(enum distribution distribution);
enum distribution distribution_of_word(const char *word);
/* The process has mounts of its own: what is installed for it is another machine's, as in a container. */
bool has_other_root(int32_t pid);

#endif
