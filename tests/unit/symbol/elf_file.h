/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_ELF_FILE_H
#define CTOP_TEST_ELF_FILE_H

/*
 * A little ELF file in a memfd, with the symbols that a test wants. .text is the
 * section 1, at 0x1000, 0x1000 bytes long; .data is section 2, at 0x3000.
 */

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file_of_bytes.h"
#include "test.h"

enum { TEST_TEXT = 1, TEST_DATA = 2 };

struct test_symbol {
	const char *name;
	uint64_t address, bytes;
	unsigned binding, type, section;
};

struct test_elf {
	const struct test_symbol *symbols;
	size_t nr_symbols;
	uint32_t table_type; /* SHT_SYMTAB, SHT_DYNSYM; 0: no table */
	uint16_t machine;
	const char *build_id; /* NULL: none; at most 20 bytes, padded with zeroes */
	const char *debuglink;
};

/* Bytes of the file; returns how many there are. */
static inline size_t test_elf_bytes(const struct test_elf *elf, char *file, size_t room)
{
	enum { SYMBOLS = 3, STRINGS, LINK, NAMES, NR_SECTIONS };
	static const char names[] = "\0.text\0.data\0.symtab\0.strtab\0.gnu_debuglink\0.shstrtab";
	struct {
		Elf64_Nhdr header;
		char name[4], id[20];
	} note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {0}};
	if (elf->build_id)
		memcpy(note.id, elf->build_id, strnlen(elf->build_id, sizeof(note.id)));
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = elf->machine ? elf->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = elf->build_id ? 2 : 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = NAMES,
	};
	Elf64_Shdr sections[NR_SECTIONS] = {
		[TEST_TEXT] = {1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, 0, 0x1000, 0, 0,
			       16, 0},
		[TEST_DATA] = {7, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x3000, 0, 0x1000, 0, 0, 16,
			       0},
		[SYMBOLS] = {13, elf->table_type ? elf->table_type : SHT_NULL, 0, 0, 0, 0, STRINGS,
			     1, 8, sizeof(Elf64_Sym)},
		[STRINGS] = {21, SHT_STRTAB, 0, 0, 0, 0, 0, 0, 1, 0},
		[LINK] = {elf->debuglink ? 29u : 0u, elf->debuglink ? SHT_PROGBITS : SHT_NULL, 0, 0,
			  0, 0, 0, 0, 4, 0},
		[NAMES] = {44, SHT_STRTAB, 0, 0, 0, sizeof(names), 0, 0, 1, 0},
	};
	memset(file, 0, room);
	size_t at = sizeof(header) + 2 * sizeof(Elf64_Phdr);
	size_t note_at = at;
	memcpy(file + at, &note, sizeof(note));
	at += sizeof(note);
	at = (at + 7) & ~(size_t)7;
	/* Symbols; symbol 0 is none. */
	sections[SYMBOLS].sh_offset = at;
	sections[SYMBOLS].sh_size = (elf->nr_symbols + 1) * sizeof(Elf64_Sym);
	size_t strings_at = at + sections[SYMBOLS].sh_size, string = 1;
	for (size_t i = 0; i < elf->nr_symbols; i++) {
		const struct test_symbol *symbol = &elf->symbols[i];
		const Elf64_Sym raw = {
			.st_name = (uint32_t)string,
			.st_info = (unsigned char)ELF64_ST_INFO(symbol->binding, symbol->type),
			.st_shndx = (uint16_t)symbol->section,
			.st_value = symbol->address,
			.st_size = symbol->bytes,
		};
		size_t size = strlen(symbol->name) + 1;
		CHECK(strings_at + string + size + sizeof(names) + sizeof(sections) < room);
		memcpy(file + at + (i + 1) * sizeof(raw), &raw, sizeof(raw));
		memcpy(file + strings_at + string, symbol->name, size);
		string += size;
	}
	sections[STRINGS].sh_offset = strings_at;
	sections[STRINGS].sh_size = string;
	at = strings_at + string;
	sections[NAMES].sh_offset = at;
	memcpy(file + at, names, sizeof(names));
	at += sizeof(names);
	if (elf->debuglink) {
		sections[LINK].sh_offset = at;
		sections[LINK].sh_size = strlen(elf->debuglink) + 1;
		memcpy(file + at, elf->debuglink, strlen(elf->debuglink) + 1);
		at += strlen(elf->debuglink) + 1;
	}
	at = (at + 7) & ~(size_t)7;
	header.e_shoff = at;
	memcpy(file + at, sections, sizeof(sections));
	at += sizeof(sections);
	const Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_vaddr = 0,
		 .p_filesz = at,
		 .p_memsz = 0x4000},
		{.p_type = PT_NOTE, .p_offset = note_at, .p_filesz = sizeof(note), .p_align = 4},
	};
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), segments, sizeof(segments));
	return at;
}

static inline int test_elf_fd(const struct test_elf *elf)
{
	static char file[64 << 10];
	return file_of_bytes(file, test_elf_bytes(elf, file, sizeof(file)));
}

#endif
