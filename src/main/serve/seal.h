/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_SEAL_H
#define CTOP_SERVE_SEAL_H

#include <errno.h>
#include <fcntl.h>

/*
 * From now on nobody writes to a memfd, whoever has it, or changes its size. 0 or -errno. F_SEAL_WRITE alone would fail with EBUSY as long
 * as somebody has it mapped for writing, or holds one of its pages for a moment, as the kernel itself does; Linux before 5.1 has nothing else.
 */
static inline int seal_written(int fd)
{
	const int shape = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	return fcntl(fd, F_ADD_SEALS, shape | F_SEAL_FUTURE_WRITE) == 0 ||
			       fcntl(fd, F_ADD_SEALS, shape | F_SEAL_WRITE) == 0
		       ? 0
		       : -errno;
}

#endif
