/* SPDX-License-Identifier: MIT */
/*
 * One function of a module file: the first byte says which name it is to have, 8 more where it begins; the rest is the file. With its
 * bit 7 the rest is the function's code alone, of arm64 with bit 6, of i386 with bit 4, which goes on with bit 5, behind 8 bytes of a bias. Without it, with
 * bit 6, it is a JIT's dump; with bit 5 a perf map, behind 64 bytes of memory and 8 of where that begins. Main accepts what comes of it,
 * whatever the file holds.
 */
#include <elf.h>

#include <ctop/files/listing.h>
#include <ctop/disassembler/listing.h>

#include "fuzz.h"

enum {
	CODE_ALONE = 0x80,
	CODE_ARM64 = 0x40,
	CODE_I386 = 0x10,
	CODE_CUT = 0x20,
	DUMP = 0x40,
	MEMORY = 0x20
};

enum { MEMORY_BYTES = 64 };

static const char *const names[] = {"", "main", "_start", "work::run(char const*)"};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct listing_question question;
	struct input input = {bytes, size};
	struct listing_answer answer;
	struct listing *listing;
	const unsigned flags = input_u8(&input);
	const char *name = names[flags % (sizeof(names) / sizeof(*names))];
	const int open_before = fuzz_open_descriptors();
	memset(&question, 0, sizeof(question));
	question.wants_calls = 1;
	question.has_name = name[0] != '\0';
	snprintf(question.name, sizeof(question.name), "%s", name);
	input_take(&input, &question.start, sizeof(question.start));
	if (flags & CODE_ALONE) {
		question.source = LISTING_OF_BYTES;
		question.bytes.machine = flags & CODE_ARM64  ? EM_AARCH64
					 : flags & CODE_I386 ? EM_386
							     : EM_X86_64;
		question.bytes.is_cut = (flags & CODE_CUT) != 0;
		input_take(&input, &question.bytes.bias, sizeof(question.bytes.bias));
		question.bytes.size = (uint32_t)input.left;
		/* A piece has bytes, and an end: store/kept_code.h. */
		const uint64_t start = question.start + question.bytes.bias;
		if (!input.left || input.left > LISTING_CODE_MAX || start > UINT64_MAX - input.left)
			return 0;
	}
	int debug_fd = -1;
	if (!(flags & CODE_ALONE) && flags & DUMP) {
		question.source = LISTING_OF_DUMP;
	} else if (!(flags & CODE_ALONE) && flags & MEMORY) {
		static uint8_t memory[MEMORY_BYTES];
		question.source = LISTING_OF_MEMORY;
		question.bytes.machine = EM_X86_64;
		question.bytes.size = MEMORY_BYTES;
		input_take(&input, memory, sizeof(memory));
		input_take(&input, &question.memory_start, sizeof(question.memory_start));
		debug_fd = fuzz_file(input.at, input.left);
		input = (struct input){memory, sizeof(memory)};
	}
	int fd = memfd_create("module", MFD_CLOEXEC);
	REQUIRE(fd >= 0 && write(fd, input.at, input.left) == (ssize_t)input.left);
	void *memory = mmap(NULL, LISTING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	listing_make(&(struct listing_fds){fd, debug_fd, -1, -1}, &question, memory, &answer);
	REQUIRE(fuzz_open_descriptors() == open_before);
	if (answer.error) {
		REQUIRE(answer.error < 0 && answer.error > -4096);
		munmap(memory, LISTING_BYTES);
		return 0;
	}
	REQUIRE(listing_take(&answer, memory, &listing) == 0);
	listing_free(listing);
	return 0;
}
