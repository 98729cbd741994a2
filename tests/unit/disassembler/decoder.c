/* SPDX-License-Identifier: MIT */
/* Instructions in words: bytes as GNU as makes them, and what objdump says of them. */
#include "jailed/disassembler/decoder.h"

#include <elf.h>
#include <errno.h>

#include "test.h"

struct known {
	uint8_t bytes[16];
	uint8_t size;
	enum listing_kind kind;
	uint64_t target;
	const char *mnemonic, *operands; /* NULL: any */
};

static void check(uint16_t machine, const struct known *known, size_t nr)
{
	struct decoder *decoder;
	int result = decoder_open(machine, &decoder);
	if (result == -ENOSYS)
		SKIP("libcapstone is not installed");
	CHECK_EQ(result, 0);
	for (size_t i = 0; i < nr; i++) {
		struct instruction got;
		decoder_next(decoder, known[i].bytes, sizeof(known[i].bytes), 0x1000, &got);
		CHECK_STR(got.mnemonic, known[i].mnemonic);
		CHECK_EQ(got.size, known[i].size);
		CHECK_EQ(got.kind, known[i].kind);
		CHECK_EQ(got.target, known[i].target);
		if (known[i].operands)
			CHECK_STR(got.operands, known[i].operands);
	}
	decoder_close(decoder);
}

static void x86_64_instructions(void)
{
	static const struct known known[] = {
		{{0x48, 0x8b, 0x44, 0x24, 0x08},
		 5,
		 LISTING_PLAIN,
		 0,
		 "mov",
		 "rax, qword ptr [rsp + 8]"},
		{{0xe8, 0xfb, 0x0f, 0, 0}, 5, LISTING_CALL, 0x2000, "call", "0x2000"},
		{{0x74, 0xfe}, 2, LISTING_JUMP, 0x1000, "je", "0x1000"},
		{{0xeb, 0x10}, 2, LISTING_JUMP, 0x1012, "jmp", "0x1012"},
		{{0xff, 0xe0}, 2, LISTING_JUMP, 0, "jmp", "rax"},
		{{0xff, 0xd0}, 2, LISTING_CALL, 0, "call", "rax"},
		{{0xc3}, 1, LISTING_RETURN, 0, "ret", ""},
		{{0x06}, 1, LISTING_NOT_CODE, 0, ".byte", "0x06"},
	};
	check(EM_X86_64, known, sizeof(known) / sizeof(*known));
}

/* Known to the library or not: the next one is where objdump has it. */
static void vector_instructions_are_as_long_as_they_are(void)
{
	static const struct known known[] = {
		{{0xc5, 0xfb, 0x92, 0xc8}, 4, 0, 0, "kmovd k1, eax", NULL},
		{{0xc4, 0xe1, 0xfb, 0x93, 0xc1}, 5, 0, 0, "kmovq rax, k1", NULL},
		{{0x62, 0xb1, 0x7d, 0x20, 0x74, 0xc1}, 6, 0, 0, "vpcmpeqb k0, ymm16, ymm17", NULL},
		{{0x62, 0xf3, 0x7d, 0x20, 0x3e, 0x46, 0x01, 0x01},
		 8,
		 0,
		 0,
		 "vpcmpltub k0, ymm16, [rsi+32]",
		 NULL},
		{{0x62, 0xf2, 0x7d, 0x28, 0x26, 0x84, 0x88, 0x10, 0, 0, 0},
		 11,
		 0,
		 0,
		 "vptestmb k0, ymm0, [rax+rcx*4+16]",
		 NULL},
		{{0x62, 0xf1, 0x7d, 0x28, 0x74, 0x05, 0x10, 0, 0, 0},
		 10,
		 0,
		 0,
		 "vpcmpeqb k0, ymm0, [rip+16]",
		 NULL},
	};
	struct decoder *decoder;
	int result = decoder_open(EM_X86_64, &decoder);
	if (result == -ENOSYS)
		SKIP("libcapstone is not installed");
	CHECK_EQ(result, 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct instruction got;
		decoder_next(decoder, known[i].bytes, sizeof(known[i].bytes), 0, &got);
		printf("# %s\n", known[i].mnemonic);
		CHECK_EQ(got.size, known[i].size);
	}
	decoder_close(decoder);
}

static void arm64_instructions(void)
{
	static const struct known known[] = {
		{{0x00, 0x04, 0x00, 0x94}, 4, LISTING_CALL, 0x2000, "bl", NULL},
		{{0x02, 0x00, 0x00, 0x14}, 4, LISTING_JUMP, 0x1008, "b", NULL},
		{{0x41, 0x00, 0x00, 0x54}, 4, LISTING_JUMP, 0x1008, "b.ne", NULL},
		{{0x40, 0x00, 0x00, 0xb4}, 4, LISTING_JUMP, 0x1008, "cbz", NULL},
		{{0x40, 0x00, 0x08, 0x36}, 4, LISTING_JUMP, 0x1008, "tbz", NULL},
		{{0x00, 0x02, 0x3f, 0xd6}, 4, LISTING_CALL, 0, "blr", "x16"},
		{{0xc0, 0x03, 0x5f, 0xd6}, 4, LISTING_RETURN, 0, "ret", ""},
		{{0xfd, 0x7b, 0xbf, 0xa9}, 4, LISTING_PLAIN, 0, "stp", "x29, x30, [sp, #-0x10]!"},
		{{0xff, 0xff, 0xff, 0xff}, 4, LISTING_NOT_CODE, 0, ".byte", NULL},
	};
	check(EM_AARCH64, known, sizeof(known) / sizeof(*known));
}

/* What is a VEX or EVEX prefix in 64-bit code loads a segment here, or checks bounds, where memory follows. */
static void i386_instructions(void)
{
	static const struct known known[] = {
		{{0x8b, 0x44, 0x24, 0x08}, 4, LISTING_PLAIN, 0, "mov", "eax, dword ptr [esp + 8]"},
		{{0xe8, 0xfb, 0x0f, 0, 0}, 5, LISTING_CALL, 0x2000, "call", "0x2000"},
		{{0xe9, 0xfb, 0xef, 0xff, 0x7f}, 5, LISTING_JUMP, 0x80000000, "jmp", "0x80000000"},
		{{0xff, 0xe0}, 2, LISTING_JUMP, 0, "jmp", "eax"},
		{{0xc3}, 1, LISTING_RETURN, 0, "ret", ""},
		{{0x40}, 1, LISTING_PLAIN, 0, "inc", "eax"},
		{{0x06}, 1, LISTING_PLAIN, 0, "push", "es"},
		{{0xc5, 0x45, 0x04}, 3, LISTING_PLAIN, 0, "lds", NULL},
		{{0x62, 0x45, 0x04}, 3, LISTING_PLAIN, 0, "bound", NULL},
		{{0xc5, 0xfb, 0x92, 0xc8}, 4, LISTING_NOT_CODE, 0, ".byte", NULL},
		{{0x0f, 0x04}, 1, LISTING_NOT_CODE, 0, ".byte", "0x0f"},
	};
	check(EM_386, known, sizeof(known) / sizeof(*known));
}

static void other_machines_are_refused(void)
{
	struct decoder *decoder;
	int result = decoder_open(EM_MIPS, &decoder);
	CHECK(result == -ENOTSUP || result == -ENOSYS);
	CHECK(!decoder);
}

int main(void)
{
	RUN(x86_64_instructions);
	RUN(vector_instructions_are_as_long_as_they_are);
	RUN(arm64_instructions);
	RUN(i386_instructions);
	RUN(other_machines_are_refused);
	return test_done();
}
