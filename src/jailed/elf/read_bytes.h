/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_READ_BYTES_H
#define CTOP_ELF_READ_BYTES_H

/* Numbers of a little-endian file on a little-endian machine, aligned or not. */

#include <stdint.h>
#include <string.h>

static inline uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

#endif
