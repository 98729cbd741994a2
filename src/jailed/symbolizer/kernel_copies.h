/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_KERNEL_COPIES_H
#define CTOP_SYMBOLIZER_KERNEL_COPIES_H

/* The kernel's functions whose code was asked for. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_COPIES_MAX = 64 };

struct kernel_copies {
	struct kernel_copy {
		uint64_t start;
		uint32_t function; /* row of the hot functions */
	} items[KERNEL_COPIES_MAX];
	size_t nr;
	bool is_refused; /* there are none here: no more are asked for */
};

#endif
