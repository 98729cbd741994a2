/* SPDX-License-Identifier: MIT */
/*
 * A JIT's dump: a word that says where the file ended when it was read first, then the file. Read in two pieces or as a whole the answers
 * are the same.
 */
#include "fuzz.h"
#include <ctop/symbol/jitdump.h>

static const uint64_t addresses[] = {0,	     0x1000, 0x1008,  0x101f,	      0x2000,
				     0x9000, 0x9010, 1 << 20, UINT64_MAX - 1, UINT64_MAX};
static const uint64_t times[] = {0, 100, 250, 400, UINT64_MAX};
enum {
	NR_ADDRESSES = sizeof(addresses) / sizeof(addresses[0]),
	NR_TIMES = sizeof(times) / sizeof(times[0])
};

static void compare(const struct jitdump *parts, const struct jitdump *whole)
{
	REQUIRE(jitdump_count(parts) == jitdump_count(whole));
	for (size_t i = 0; i < NR_ADDRESSES * NR_TIMES; i++) {
		const uint64_t address = addresses[i % NR_ADDRESSES],
			       time = times[i / NR_ADDRESSES];
		struct symbol_hit of_parts, of_whole;
		const bool found = jitdump_find(parts, address, time, &of_parts);
		REQUIRE(jitdump_find(whole, address, time, &of_whole) == found);
		if (!found)
			continue;
		REQUIRE(of_parts.start == of_whole.start && of_parts.start <= address);
		REQUIRE(strcmp(of_parts.name, of_whole.name) == 0 && of_parts.name[0]);
		REQUIRE(!of_parts.file == !of_whole.file);
		REQUIRE(!of_parts.file || (strcmp(of_parts.file, of_whole.file) == 0 &&
					   of_parts.line == of_whole.line && of_parts.file[0]));
	}
}

/* What each says of the code of what it knows; all that is copied was in the file. */
static void compare_code(const struct jitdump *parts, const struct jitdump *whole,
			 size_t file_bytes)
{
	static uint8_t of_parts[512], of_whole[512];
	for (size_t i = 0; i < NR_ADDRESSES * NR_TIMES; i++) {
		struct symbol_hit hit;
		struct jit_code code, again;
		if (!jitdump_find(whole, addresses[i % NR_ADDRESSES], times[i / NR_ADDRESSES],
				  &hit))
			continue;
		const int result =
			jitdump_code(whole, hit.start, hit.name, of_whole, sizeof(of_whole), &code);
		REQUIRE(jitdump_code(parts, hit.start, hit.name, of_parts, sizeof(of_parts),
				     &again) == result);
		if (result)
			continue;
		REQUIRE(code.size && code.size <= sizeof(of_whole) && code.size <= file_bytes &&
			code.size <= code.whole_bytes && code.size == again.size);
		REQUIRE(memcmp(of_parts, of_whole, code.size) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	size_t first = input_u16(&input);
	if (first > input.left)
		first = input.left;
	struct jitdump *parts = jitdump_new(), *whole = jitdump_new();
	REQUIRE(parts && whole);
	int fd = fuzz_file(input.at, first);
	jitdump_read(parts, fd);
	REQUIRE(pwrite(fd, input.at + first, input.left - first, (off_t)first) ==
		(ssize_t)(input.left - first));
	const bool is_one = jitdump_is_one(fd);
	REQUIRE((jitdump_read(parts, fd) == 0) == is_one);
	REQUIRE((jitdump_read(whole, fd) == 0) == is_one);
	compare(parts, whole);
	REQUIRE((jitdump_read(parts, fd) == 0) == is_one); /* nothing new */
	compare(parts, whole);
	jitdump_hold(parts, dup(fd));
	jitdump_hold(whole, dup(fd));
	compare_code(parts, whole, input.left);
	close(fd);
	jitdump_free(parts);
	jitdump_free(whole);
	return 0;
}
