/* SPDX-License-Identifier: MIT */
#include <ctop/machine/memory.h>

#include <assert.h>

#include <ctop/elf/object.h>

/* Nothing of a process lies above this, with five-level page tables either. */
#define USER_ADDRESS_END (UINT64_C(1) << 56)

enum stack_reason memory_read(const struct memory *memory, uint64_t address, size_t size,
			      uint64_t *value)
{
	assert(size >= 1 && size <= sizeof(*value));
	uint64_t offset = address - memory->start;
	uint64_t dumped = memory->end - memory->start;
	*value = 0;
	if (offset < dumped && dumped - offset >= size) {
		memcpy(value, memory->stack + offset, size);
		return STACK_REASON_NONE;
	}
	if (memory->object && object_read(memory->object, address - memory->bias, value, size))
		return STACK_REASON_NONE;
	*value = 0;
	if (address < memory->start || address >= USER_ADDRESS_END)
		return STACK_REASON_BAD_ADDRESS;
	return STACK_REASON_DUMP_END;
}
