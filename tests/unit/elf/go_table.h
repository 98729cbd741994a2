/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_GO_TABLE_H
#define CTOP_TEST_GO_TABLE_H

/* A small Go program's table of functions, in each of its formats, and the data that its lines need: made by hand. */

#include <elf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	TEXT = 0x401000,
	TABLE = 0x500000,
	TREES = 0x600000,
	DATA = 0x700000,
	ROOM = 4096,
	NR_MADE = 3,
	/* In the data: the runtime's description of the program, and where it says the trees are. */
	MODULE_AT = 64,
	MODULE_TREES_WORD = 38,
	DATA_BYTES = MODULE_AT + 64 * 8,
	/* All trees begin there in their section, and that of the functions further on. */
	TREES_AT = 16,
	TREE_AT = 24,
};

static const struct made {
	const char *name;
	uint64_t start;
} made[NR_MADE + 1] = {
	{"main.main", TEXT},
	{"main.(*T[...]).Work", TEXT + 0x40},
	{"_rt0_amd64_linux", TEXT + 0x100},
	{NULL, TEXT + 0x120}, /* the end */
};

/* 0 for 16 bytes, then 24 for 8, then 8 up to 64: each as how much it differs, and for how long. */
static const uint8_t frame_sizes[] = {2, 16, 48, 8, 31, 40, 0};
/* Of the first two functions: 16 bytes of their own, 8 of main.inner in main.middle, 8 of main.middle, and their own again up to 64. */
static const uint8_t line_files[] = {2, 16, 2, 8, 1, 40, 0};
static const uint8_t line_numbers[] = {22, 16, 120, 8, 39, 8, 75, 32, 0}; /* 10, 70, 50, 12 */
static const uint8_t calls[] = {0, 16, 4, 8, 1, 8, 1, 32, 0};

struct table {
	uint8_t bytes[ROOM];
	size_t size, names_at;
	uint8_t trees[TREES_AT + TREE_AT + 64];
	uint8_t data[DATA_BYTES];
};

static inline void put(struct table *table, size_t at, uint64_t value, size_t bytes)
{
	memcpy(table->bytes + at, &value, bytes);
}

static inline size_t append(struct table *table, const void *bytes, size_t size)
{
	const size_t at = table->size;
	memcpy(table->bytes + at, bytes, size);
	table->size += size;
	return at;
}

static inline size_t append_text(struct table *table, const char *text)
{
	return append(table, text, strlen(text) + 1);
}

static inline size_t append_word(struct table *table, uint64_t word, size_t bytes)
{
	return append(table, &word, bytes);
}

/* main.middle was put in with the line that is at 40, main.inner into that with the line at 28. */
static inline void make_tree(struct table *table, bool is_1_20, uint32_t middle, uint32_t inner)
{
	const uint32_t names[] = {middle, inner}, parents[] = {40, 28};
	const size_t bytes = is_1_20 ? 16 : 20, name_at = is_1_20 ? 4 : 12;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *call = table->trees + TREES_AT + TREE_AT + i * bytes;
		memcpy(call + name_at, &names[i], 4);
		memcpy(call + name_at + 4, &parents[i], 4);
	}
}

static inline void make_module(struct table *table)
{
	const uint64_t words[] = {TABLE, TABLE + table->names_at},
		       trees[] = {TREES, TREES + TREES_AT};
	memcpy(table->data + MODULE_AT, words, sizeof(words));
	memcpy(table->data + MODULE_AT + (MODULE_TREES_WORD - 1) * 8, trees, sizeof(trees));
}

/* As the linker of that version lays it out. text: what the header says of where the code begins. */
static inline void make(struct table *table, uint32_t magic, uint64_t text)
{
	const bool is_old = magic == 0xfffffffb, is_1_20 = magic == 0xfffffff1,
		   is_new = magic == 0xfffffff0 || is_1_20;
	const size_t word = is_new ? 4 : 8, first = is_new ? 3 : 2;
	const uint64_t base = is_new ? TEXT : 0;
	uint32_t names[NR_MADE];
	memset(table, 0, sizeof(*table));
	put(table, 0, magic, 4);
	put(table, 6, 1, 1);
	put(table, 7, 8, 1);
	put(table, 8, NR_MADE, 8);
	if (is_new)
		put(table, 24, text, 8);
	/* The oldest has its list at once, and all else behind it. */
	size_t list = 16, names_at = 0, units_at = 0, files_at = 0, lists_at = 0;
	table->size = 8 + 8 * 8; /* eight words of header; or one, and a list of seven */
	if (!is_old)
		names_at = table->size;
	for (int i = 0; i < NR_MADE; i++)
		names[i] = (uint32_t)(append_text(table, made[i].name) - names_at);
	const size_t inner = append_text(table, "main.inner"),
		     middle = append_text(table, "main.middle");
	table->names_at = names_at;
	make_tree(table, is_1_20, (uint32_t)(middle - names_at), (uint32_t)(inner - names_at));
	if (!is_old) {
		files_at = table->size;
		const size_t nowhere = append_text(table, "/src/other.go"),
			     main_go = append_text(table, "/src/main.go"),
			     inner_go = append_text(table, "/src/inner.go");
		table->size = (table->size + 7) & ~(size_t)7;
		units_at = append_word(table, nowhere - files_at, 4);
		append_word(table, main_go - files_at, 4);
		append_word(table, inner_go - files_at, 4);
		lists_at = append(table, "", 1); /* where nothing has any */
	}
	const uint32_t sizes =
		(uint32_t)(append(table, frame_sizes, sizeof(frame_sizes)) - lists_at);
	const uint32_t files = (uint32_t)(append(table, line_files, sizeof(line_files)) - lists_at);
	const uint32_t lines =
		(uint32_t)(append(table, line_numbers, sizeof(line_numbers)) - lists_at);
	const uint32_t inlined = (uint32_t)(append(table, calls, sizeof(calls)) - lists_at);
	table->size = (table->size + 7) & ~(size_t)7;
	if (!is_old) {
		list = table->size;
		table->size += (2 * NR_MADE + 1) * word;
		const size_t places[] = {names_at, units_at, files_at, lists_at, list};
		for (size_t i = 0; i < 5; i++)
			put(table, 8 + (first + i) * 8, places[i], 8);
		make_module(table);
	}
	for (size_t i = 0; i <= NR_MADE; i++)
		put(table, list + 2 * i * word, made[i].start - base, word);
	for (size_t i = 0; i < NR_MADE; i++) {
		const bool has_lines = i < 2;
		table->size = (table->size + 7) & ~(size_t)7;
		put(table, list + (2 * i + 1) * word, table->size - (is_old ? 0 : list), word);
		append_word(table, made[i].start - base, word);
		append_word(table, names[i], 4);
		append_word(table, 0, 8); /* arguments, and where deferred calls are */
		append_word(table, sizes, 4);
		append_word(table, has_lines ? files : 0, 4);
		append_word(table, has_lines ? lines : 0, 4);
		append_word(table, has_lines ? 3 : 0, 4);
		append_word(table, 1, 4); /* the unit's files begin with the second */
		if (is_1_20)
			append_word(table, 9, 4); /* its first line */
		append_word(table, has_lines ? 4U << 24 : 0, 4);
		append_word(table, 0, has_lines ? 8 : 0);
		append_word(table, inlined, has_lines ? 4 : 0);
		if (!is_new)
			table->size = (table->size + 7) & ~(size_t)7;
		for (int kind = 0; has_lines && kind < 3; kind++)
			append_word(table, is_new ? UINT32_MAX : 0, word);
		append_word(table, is_new ? TREE_AT : TREES + TREES_AT + TREE_AT,
			    has_lines ? word : 0);
	}
}

/*
 * A file that has the table in a section of that name, and the rest in others. to_relocate: the loader puts addresses into the data,
 * where the file has none.
 */
static inline Elf *file_with(const struct table *table, const char *section, bool to_relocate,
			     char *file, size_t room)
{
	enum { NR_SECTIONS = 7, NR_ADDRESSES = 4 };
	static const size_t words[NR_ADDRESSES] = {0, 1, MODULE_TREES_WORD - 1, MODULE_TREES_WORD};
	char names[96] = "";
	Elf64_Rela relocations[NR_ADDRESSES];
	uint8_t data[DATA_BYTES];
	memcpy(data, table->data, sizeof(data));
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		const size_t at = MODULE_AT + words[i] * 8;
		uint64_t value;
		memcpy(&value, data + at, 8);
		relocations[i] = (Elf64_Rela){
			DATA + at, ELF64_R_INFO(0, to_relocate ? R_X86_64_RELATIVE : R_X86_64_NONE),
			(int64_t)value};
		if (to_relocate)
			memset(data + at, 0, 8);
	}
	size_t at = sizeof(Elf64_Ehdr) + NR_SECTIONS * sizeof(Elf64_Shdr);
	const struct {
		uint32_t type;
		uint64_t flags, address;
		const void *bytes;
		size_t size;
		const char *name;
	} contents[NR_SECTIONS - 1] = {
		{SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, "code", 4, ".text"},
		{SHT_PROGBITS, SHF_ALLOC, TABLE, table->bytes, table->size, section},
		{SHT_PROGBITS, SHF_ALLOC, TREES, table->trees, sizeof(table->trees), ".rodata"},
		{SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, data, sizeof(data), ".noptrdata"},
		{SHT_RELA, SHF_ALLOC, 0, relocations, sizeof(relocations), ".rela"},
		{SHT_STRTAB, 0, 0, names, sizeof(names), ""},
	};
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = made[NR_MADE - 1].start,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shoff = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = NR_SECTIONS - 1,
	};
	Elf64_Shdr sections[NR_SECTIONS] = {{0}};
	size_t name_at = 1;
	for (size_t i = 0; i < NR_SECTIONS - 1; i++) {
		strcpy(names + name_at, contents[i].name);
		sections[i + 1] = (Elf64_Shdr){
			.sh_name = (uint32_t)name_at,
			.sh_type = contents[i].type,
			.sh_flags = contents[i].flags,
			.sh_addr = contents[i].address,
			.sh_offset = at,
			.sh_size = contents[i].size,
			.sh_entsize = contents[i].type == SHT_RELA ? sizeof(Elf64_Rela) : 0,
		};
		name_at += strlen(contents[i].name) + 1;
		at += (contents[i].size + 7) & ~(size_t)7;
		CHECK(at <= room && name_at <= sizeof(names));
	}
	memset(file, 0, at);
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), sections, sizeof(sections));
	for (size_t i = 0; i < NR_SECTIONS - 1; i++)
		memcpy(file + sections[i + 1].sh_offset, contents[i].bytes, contents[i].size);
	return elf_memory(file, at);
}

static inline Elf *file_of(const struct table *table, const char *section, char *file, size_t room)
{
	return file_with(table, section, false, file, room);
}

#endif
