/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_DWARF_BYTES_H
#define CTOP_ELF_DWARF_BYTES_H

/*
 * The numbers that DWARF and call frame information are made of, read one after the other from untrusted bytes. What does not fit is
 * remembered, and everything after it is 0: who reads asks once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct dwarf_bytes {
	const uint8_t *at, *end;
	bool bad; /* more was asked for than there is, or a number has no end */
};

static inline struct dwarf_bytes dwarf_bytes(const uint8_t *bytes, size_t size)
{
	return (struct dwarf_bytes){.at = bytes, .end = bytes + size};
}

static inline size_t dwarf_left(const struct dwarf_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static inline void dwarf_fail(struct dwarf_bytes *bytes)
{
	bytes->bad = true;
	bytes->at = bytes->end;
}

static inline void dwarf_skip(struct dwarf_bytes *bytes, uint64_t size)
{
	if (size > dwarf_left(bytes))
		dwarf_fail(bytes);
	else
		bytes->at += size;
}

/* A little-endian number of up to eight bytes. */
static inline uint64_t dwarf_fixed(struct dwarf_bytes *bytes, size_t size)
{
	uint64_t value = 0;
	if (size > dwarf_left(bytes) || size > sizeof(value)) {
		dwarf_fail(bytes);
		return 0;
	}
	memcpy(&value, bytes->at, size);
	bytes->at += size;
	return value;
}

static inline uint8_t dwarf_u8(struct dwarf_bytes *bytes)
{
	return (uint8_t)dwarf_fixed(bytes, 1);
}

/* The low bits of a LEB128 number, and how many: 63 at most, of which compilers need half. */
static inline uint64_t dwarf_leb(struct dwarf_bytes *bytes, unsigned *nr_bits)
{
	enum { MAX_BITS = 63, BITS = 7, MORE = 0x80 };
	uint64_t value = 0;
	for (unsigned shift = 0; shift < MAX_BITS && bytes->at < bytes->end; shift += BITS) {
		const uint8_t byte = *bytes->at++;
		value |= (uint64_t)(byte & (MORE - 1)) << shift;
		*nr_bits = shift + BITS;
		if (!(byte & MORE))
			return value;
	}
	dwarf_fail(bytes);
	*nr_bits = MAX_BITS;
	return 0;
}

static inline uint64_t dwarf_uleb(struct dwarf_bytes *bytes)
{
	unsigned nr_bits;
	return dwarf_leb(bytes, &nr_bits);
}

static inline int64_t dwarf_sleb(struct dwarf_bytes *bytes)
{
	unsigned nr_bits;
	const uint64_t value = dwarf_leb(bytes, &nr_bits);
	const bool negative = value >> (nr_bits - 1) & 1;
	return (int64_t)(negative ? value | UINT64_MAX << nr_bits : value);
}

/* Of any size. */
static inline void dwarf_skip_leb(struct dwarf_bytes *bytes)
{
	while (dwarf_u8(bytes) & 0x80)
		;
}

/* NULL: it has no end. */
static inline const char *dwarf_string(struct dwarf_bytes *bytes)
{
	const char *string = (const char *)bytes->at;
	const uint8_t *end =
		bytes->at < bytes->end ? memchr(bytes->at, '\0', dwarf_left(bytes)) : NULL;
	if (!end) {
		dwarf_fail(bytes);
		return NULL;
	}
	bytes->at = end + 1;
	return string;
}

/* The length that a unit begins with: what is behind the unit is cut off. Returns how large its offsets are: 4 bytes, or 8. */
static inline size_t dwarf_enter(struct dwarf_bytes *bytes)
{
	size_t offset_bytes = 4;
	uint64_t length = dwarf_fixed(bytes, offset_bytes);
	if (length == UINT32_MAX) {
		offset_bytes = 8;
		length = dwarf_fixed(bytes, offset_bytes);
	}
	if (length < dwarf_left(bytes))
		bytes->end = bytes->at + length;
	return offset_bytes;
}

#endif
