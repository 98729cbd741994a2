/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_PROCESS_MEMORY_H
#define CTOP_SYSTEM_PROCESS_MEMORY_H

/* Copies of another process's memory, without stopping it. Whoever may trace it may see that; the bytes are the target's. Main only. */

#include <stddef.h>
#include <stdint.h>

/* From an address on, as far as it is mapped. How many bytes that is. */
size_t process_read(int32_t pid, uint64_t address, void *bytes, size_t most);

enum { PROCESS_READ_PIECES = 1024 };
/* Pieces of one size, one behind the other, at most PROCESS_READ_PIECES. How many were whole, up to the first that was not. */
size_t process_read_pieces(int32_t pid, const uint64_t *addresses, size_t nr, void *bytes,
			   size_t size);

#endif
