/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FUZZ_H
#define CTOP_FUZZ_H

/*
 * What the targets share. A target defines LLVMFuzzerTestOneInput(): it feeds the bytes to one
 * parser and ends the program where the parser breaks a promise; a crash speaks for itself.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A promise that holds whatever the input is. */
#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__,         \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* ---- an input that is taken apart; zeroes behind its end ---- */

struct input {
	const uint8_t *at;
	size_t left;
};

static inline void input_take(struct input *input, void *to, size_t size)
{
	size_t has = size < input->left ? size : input->left;
	memset(to, 0, size);
	if (has)
		memcpy(to, input->at, has);
	input->at += has;
	input->left -= has;
}

static inline uint8_t input_u8(struct input *input)
{
	uint8_t value;
	input_take(input, &value, sizeof(value));
	return value;
}

static inline uint16_t input_u16(struct input *input)
{
	uint16_t value;
	input_take(input, &value, sizeof(value));
	return value;
}

static inline uint32_t input_u32(struct input *input)
{
	uint32_t value;
	input_take(input, &value, sizeof(value));
	return value;
}

static inline uint64_t input_u64(struct input *input)
{
	uint64_t value;
	input_take(input, &value, sizeof(value));
	return value;
}

/* The next bytes where they lie, at most size: *size says how many. */
static inline const uint8_t *input_bytes(struct input *input, size_t *size)
{
	const uint8_t *bytes = input->at;
	if (*size > input->left)
		*size = input->left;
	input->at += *size;
	input->left -= *size;
	return bytes;
}

/* ---- the input in the shape that a parser wants ---- */

/* A block of exactly that size on the heap, where a byte too far is seen. The caller frees it. */
static inline void *fuzz_copy(const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);
	REQUIRE(copy != NULL);
	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

/* A file in memory that holds the bytes, read from its start. The caller closes it. */
static inline int fuzz_file(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, bytes, size) == (ssize_t)size);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* How many descriptors are open: what a target opened or was sent must be closed again. */
static inline int fuzz_open_descriptors(void)
{
	int nr = 0;
	for (int fd = 0; fd < 128; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

#endif
