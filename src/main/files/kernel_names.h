/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_KERNEL_NAMES_H
#define CTOP_FILES_KERNEL_NAMES_H

/*
 * The kernel's functions, kept between runs (kernel/names_text.h): the kernel takes 30 ms to print its 120,000 each time. They are kept under the
 * boot's id, and are used while the same kernel runs with the same modules at the same addresses. Whoever may see no addresses by
 * himself has none kept: not even where ctop could see them. In the opener.
 */

#include <stdint.h>

#include <ctop/files/opener.h>

/* Beyond so many bytes nothing is kept; so many boots' (of machines that share a directory) at most. */
enum { KERNEL_NAMES_MAX = 16 << 20, KERNEL_NAMES_BOOTS_MAX = 4 };

/*
 * From the cache in that directory (own_cache.h), or printed by the kernel now and put there; *from says which. A descriptor to be read from its
 * start on, or -errno, with which /proc/kallsyms is there as ever: -EPERM: it shows no addresses; -EAGAIN: modules came or went
 * meanwhile; -EFBIG.
 */
int kernel_names_open(int directory_fd, enum kernel_names_from *from);

#endif
