/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_SMALL_ELF_H
#define CTOP_TEST_SMALL_ELF_H

/*
 * A small ELF file in memory whose every field a test may set: a build-id, code
 * at an elf address unlike its offset, constants, data, symbols.
 */

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SMALL_SYMBOLS_MAX = 100,
	SMALL_NAMES_MAX = 4096,
	SMALL_NR_SEGMENTS = 5,
	/* Code begins amid a page, as linkers like it. */
	SMALL_CODE_OFFSET = 0x1040,
	SMALL_CODE_BYTES = 0x800,
	SMALL_CONST_OFFSET = 0x2000,
	SMALL_CONST_BYTES = 0x100,
	SMALL_DATA_OFFSET = 0x2800,
	SMALL_DATA_BYTES = 0x100,
};

#define SMALL_CODE  UINT64_C(0x601040)
#define SMALL_CONST UINT64_C(0x700000)
#define SMALL_DATA  UINT64_C(0x800800)

struct small_elf {
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[SMALL_NR_SEGMENTS]; /* code, constants, data, note, dynamic */
		struct {
			Elf64_Nhdr header;
			char name[4];
			uint8_t build_id[20];
		} note;
		Elf64_Dyn dynamic[2];
		Elf64_Shdr sections[3]; /* none, symbols, names */
		Elf64_Sym symbols[SMALL_SYMBOLS_MAX];
		char names[SMALL_NAMES_MAX];
	} start;
	uint8_t rest[0x3000];
};

static inline void small_elf_init(struct small_elf *elf)
{
	memset(elf, 0, sizeof(*elf));
	elf->start.header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
			    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct small_elf, start.segments),
		.e_shoff = offsetof(struct small_elf, start.sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = SMALL_NR_SEGMENTS,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
	};
	const Elf64_Phdr segments[SMALL_NR_SEGMENTS] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_offset = SMALL_CODE_OFFSET,
		 .p_vaddr = SMALL_CODE,
		 .p_filesz = SMALL_CODE_BYTES,
		 .p_memsz = SMALL_CODE_BYTES,
		 .p_align = 4096},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R,
		 .p_offset = SMALL_CONST_OFFSET,
		 .p_vaddr = SMALL_CONST,
		 .p_filesz = SMALL_CONST_BYTES,
		 .p_memsz = 2 * SMALL_CONST_BYTES,
		 .p_align = 4096},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = SMALL_DATA_OFFSET,
		 .p_vaddr = SMALL_DATA,
		 .p_filesz = SMALL_DATA_BYTES,
		 .p_memsz = SMALL_DATA_BYTES,
		 .p_align = 4096},
		{.p_type = PT_NOTE,
		 .p_flags = PF_R,
		 .p_offset = offsetof(struct small_elf, start.note),
		 .p_filesz = sizeof(elf->start.note),
		 .p_align = 4},
		{.p_type = PT_DYNAMIC,
		 .p_flags = PF_R,
		 .p_offset = offsetof(struct small_elf, start.dynamic),
		 .p_filesz = sizeof(elf->start.dynamic),
		 .p_align = 8},
	};
	memcpy(elf->start.segments, segments, sizeof(segments));
	elf->start.note.header = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
	memcpy(elf->start.note.name, "GNU", 4);
	for (uint8_t i = 0; i < 20; i++)
		elf->start.note.build_id[i] = (uint8_t)(0xa0 + i);
	elf->start.sections[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct small_elf, start.symbols),
		.sh_link = 2,
		.sh_size = sizeof(Elf64_Sym),
		.sh_entsize = sizeof(Elf64_Sym),
	};
	elf->start.sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct small_elf, start.names),
		.sh_size = 1,
	};
	uint8_t *bytes = (uint8_t *)elf;
	for (size_t i = 0; i < SMALL_CONST_BYTES; i++)
		bytes[SMALL_CONST_OFFSET + i] = (uint8_t)(i ^ 0x55);
}

/* Adds a function at SMALL_CODE + offset. */
static inline void small_elf_add(struct small_elf *elf, const char *name, uint64_t offset,
				 uint64_t bytes)
{
	Elf64_Shdr *symbols = &elf->start.sections[1], *names = &elf->start.sections[2];
	Elf64_Sym *symbol = &elf->start.symbols[symbols->sh_size / sizeof(*symbol)];
	*symbol = (Elf64_Sym){
		.st_name = (Elf64_Word)names->sh_size,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = SMALL_CODE + offset,
		.st_size = bytes,
	};
	memcpy(elf->start.names + names->sh_size, name, strlen(name) + 1);
	names->sh_size += strlen(name) + 1;
	symbols->sh_size += sizeof(*symbol);
}

#endif
