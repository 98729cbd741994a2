/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_MEMORY_H
#define CTOP_MACHINE_MEMORY_H

/*
 * The target's memory as far as it is known: the dumped stack bytes, then the
 * constant data of the module at hand. Nothing else is ever read.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ctop/stack_end.h>

struct object;

struct memory {
	const uint8_t *stack;
	uint64_t start, end;	     /* process addresses of the dumped bytes */
	const struct object *object; /* the current frame's module, or NULL */
	uint64_t bias;
};

/*
 * A little-endian value of 1 to 8 bytes. STACK_REASON_NONE, or why it could not be read: DUMP_END for what
 * lies above the dumped bytes (where the rest of the stack is), BAD_ADDRESS for anywhere else.
 */
enum stack_reason memory_read(const struct memory *memory, uint64_t address, size_t size,
			      uint64_t *value);

static inline enum stack_reason memory_read_address(const struct memory *memory, uint64_t address,
						    uint64_t *value)
{
	uint64_t offset = address - memory->start;
	uint64_t size = memory->end - memory->start;
	if (offset < size && size - offset >= sizeof(*value)) {
		memcpy(value, memory->stack + offset, sizeof(*value));
		__asm__("" : "+r"(*value)); /* read once: a mapped file may change */
		return STACK_REASON_NONE;
	}
	return memory_read(memory, address, sizeof(*value), value);
}

#endif
