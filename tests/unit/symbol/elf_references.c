/* SPDX-License-Identifier: MIT */
/* What code refers to, made byte by byte, and code that lies. */
#include "jailed/symbol/elf_references.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

enum { CODE_BYTES = 1 << 16 };
#define CODE_START UINT64_C(0x10000)

/* An ELF file in memory with that .text. */
static Elf *file_with(const uint8_t *code, size_t size, uint16_t machine)
{
	static const char names[] = "\0.text\0.names";
	static char file[CODE_BYTES + 4096];
	const size_t names_at = sizeof(Elf64_Ehdr), code_at = 128, table_at = 128 + CODE_BYTES;
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_shoff = table_at,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Shdr sections[3] = {
		[1] = {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE_START, code_at, size, 0, 0,
		       16, 0},
		[2] = {7, SHT_STRTAB, 0, 0, names_at, sizeof(names), 0, 0, 1, 0},
	};
	memset(file, 0, sizeof(file));
	memcpy(file, &header, sizeof(header));
	memcpy(file + names_at, names, sizeof(names));
	memcpy(file + code_at, code, size);
	memcpy(file + table_at, sections, sizeof(sections));
	elf_version(EV_CURRENT);
	Elf *elf = elf_memory(file, sizeof(file));
	CHECK(elf != NULL);
	return elf;
}

static void put(uint8_t *code, size_t at, const char *opcode, size_t size, uint64_t target)
{
	const int32_t distance = (int32_t)(target - (CODE_START + at + size + sizeof(distance)));
	memcpy(code + at, opcode, size);
	memcpy(code + at + size, &distance, sizeof(distance));
}

static void calls_and_addresses(void)
{
	static uint8_t code[1024];
	struct elf_references references = {0};
	put(code, 0x00, "\xe8", 1, CODE_START + 0x40);
	put(code, 0x10, "\x48\x8d\x05", 3, CODE_START + 0x80);
	put(code, 0x20, "\x4c\x8d\x3d", 3, CODE_START + 0x20);
	put(code, 0x30, "\xe8", 1, CODE_START + 0x91);	       /* a label */
	put(code, 0x40, "\xe9", 1, CODE_START + 0xc0);	       /* a jump */
	put(code, 0x50, "\xe8", 1, CODE_START - 0x10);	       /* elsewhere */
	put(code, 0x60, "\xe8", 1, CODE_START + sizeof(code)); /* behind the end */
	memcpy(code + sizeof(code) - 1, "\xe8", 1);
	Elf *elf = file_with(code, sizeof(code), EM_X86_64);
	CHECK_EQ(elf_references_read(&references, elf), 0);
	CHECK_EQ(references.nr, 3);
	CHECK_EQ(references.items[0], CODE_START + 0x20);
	CHECK_EQ(elf_references_before(&references, CODE_START + 0x1f), 0);
	CHECK_EQ(elf_references_before(&references, CODE_START + 0x40), CODE_START + 0x40);
	CHECK_EQ(elf_references_before(&references, UINT64_MAX), CODE_START + 0x80);
	CHECK_EQ(elf_references_after(&references, 0), CODE_START + 0x20);
	CHECK_EQ(elf_references_after(&references, CODE_START + 0x40), CODE_START + 0x80);
	CHECK_EQ(elf_references_after(&references, CODE_START + 0x80), UINT64_MAX);
	elf_references_release(&references);
	elf_end(elf);
	elf = file_with(code, sizeof(code), EM_AARCH64);
	CHECK_EQ(elf_references_read(&references, elf), 0);
	CHECK_EQ(references.nr, 0);
	elf_end(elf);
}

/* Whatever bytes there are, what is found is sorted, aligned and in the code. */
static void any_bytes(void)
{
	static uint8_t code[CODE_BYTES];
	uint32_t state = 1;
	for (size_t size = 0; size <= sizeof(code); size = size * 3 + 1) {
		struct elf_references references = {0};
		for (size_t i = 0; i < size; i++) {
			state = state * 1664525 + 1013904223;
			/* Calls to what is near: the high bytes of a distance are 0 or 255. */
			code[i] = state >> 30 == 0   ? 0xe8
				  : state >> 30 == 1 ? 0
						     : (uint8_t)(state >> 16);
		}
		Elf *elf = file_with(code, size, EM_X86_64);
		CHECK_EQ(elf_references_read(&references, elf), 0);
		for (size_t i = 0; i < references.nr; i++) {
			CHECK(references.items[i] % 16 == 0 && references.items[i] >= CODE_START &&
			      references.items[i] < CODE_START + size);
			CHECK(!i || references.items[i - 1] < references.items[i]);
		}
		elf_references_release(&references);
		elf_end(elf);
	}
}

int main(void)
{
	RUN(calls_and_addresses);
	RUN(any_bytes);
	return test_done();
}
