/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDING_VARINT_H
#define CTOP_RECORDING_VARINT_H

/* LEB128 integers (7 bits a byte, low ones first) and strings of counted bytes, into a buffer and out of one. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *bytes;
	size_t size, capacity;
	bool failed; /* out of memory: what did not fit is missing */
};

void buffer_release(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t size);
void put_varint(struct buffer *buffer, uint64_t value);
void put_signed(struct buffer *buffer, int64_t value); /* zigzag: small magnitudes stay short */
void put_string(struct buffer *buffer, const char *bytes, size_t size);

/* What is left of a payload. Once a get_ fails, all later ones do: look once, at the end. */
struct payload {
	const uint8_t *at, *end;
	bool failed;
};

uint64_t get_varint(struct payload *payload);
int64_t get_signed(struct payload *payload);
/* Borrowed from the payload, not terminated. */
const char *get_string(struct payload *payload, size_t *size);

#endif
