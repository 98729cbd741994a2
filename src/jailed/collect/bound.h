/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_BOUND_H
#define CTOP_COLLECT_BOUND_H

/* The memory that the collector may take. */

#include <stddef.h>
#include <stdint.h>

struct collector;

struct bound {
	size_t mib; /* of the heap; 0: not looked at yet */
	uint64_t looked_ns, forgot_ns;
};

/* Call it between records. 0 or -ENOMEM. */
int bound_memory(struct collector *collector);

#endif
