/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_PROTOBUF_H
#define CTOP_FORMAT_PROTOBUF_H

/* Fields of a protocol buffer's message: https://protobuf.dev/programming-guides/encoding. */

#include <ctop/recording/varint.h>

/* Leaves out a zero, which is what a field without a value is. */
static inline void put_number(struct buffer *message, unsigned field, uint64_t value)
{
	if (!value)
		return;
	put_varint(message, field << 3);
	put_varint(message, value);
}

/* A string, a message inside the message, or packed numbers. */
static inline void put_bytes(struct buffer *message, unsigned field, const void *bytes, size_t size)
{
	put_varint(message, field << 3 | 2);
	put_string(message, bytes, size);
}

static inline void put_message(struct buffer *message, unsigned field, struct buffer *inner)
{
	put_bytes(message, field, inner->bytes, inner->size);
	message->failed |= inner->failed;
	inner->size = 0;
}

#endif
