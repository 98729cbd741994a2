/* SPDX-License-Identifier: MIT */
#include <ctop/recording/varint.h>

#include <stdlib.h>
#include <string.h>

void buffer_release(struct buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct buffer){0};
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t size)
{
	if (buffer->failed || !size)
		return;
	if (size > buffer->capacity - buffer->size) {
		size_t capacity = buffer->capacity ? buffer->capacity : 4096;
		while (capacity - buffer->size < size)
			capacity *= 2;
		uint8_t *grown = realloc(buffer->bytes, capacity);
		if (!grown) {
			buffer->failed = true;
			return;
		}
		buffer->bytes = grown;
		buffer->capacity = capacity;
	}
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

void put_varint(struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;
	while (value >= 0x80) {
		bytes[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)value;
	buffer_add(buffer, bytes, size);
}

void put_signed(struct buffer *buffer, int64_t value)
{
	put_varint(buffer, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void put_string(struct buffer *buffer, const char *bytes, size_t size)
{
	put_varint(buffer, size);
	buffer_add(buffer, bytes, size);
}

uint64_t get_varint(struct payload *payload)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && payload->at < payload->end; shift += 7) {
		uint8_t byte = *payload->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return payload->failed ? 0 : value;
	}
	payload->failed = true;
	return 0;
}

int64_t get_signed(struct payload *payload)
{
	uint64_t value = get_varint(payload);
	return (int64_t)(value >> 1 ^ -(value & 1));
}

static const void *get_bytes(struct payload *payload, size_t size)
{
	if (payload->failed || (size_t)(payload->end - payload->at) < size) {
		payload->failed = true;
		return NULL;
	}
	const void *bytes = payload->at;
	payload->at += size;
	return bytes;
}

const char *get_string(struct payload *payload, size_t *size)
{
	*size = get_varint(payload);
	const char *bytes = get_bytes(payload, *size);
	if (!bytes)
		*size = 0;
	return bytes ? bytes : "";
}
