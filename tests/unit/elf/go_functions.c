/* SPDX-License-Identifier: MIT */
/* The table of Go's runtime: each of its formats, made by hand; and what is none of them. */
#include <ctop/elf/go_functions.h>

#include <elf.h>
#include <stdlib.h>

#include "test.h"

enum { TEXT = 0x401000, TABLE = 0x500000, ROOM = 4096, NR_MADE = 3 };

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

struct table {
	uint8_t bytes[ROOM];
	size_t size;
};

static void put(struct table *table, size_t at, uint64_t value, size_t bytes)
{
	memcpy(table->bytes + at, &value, bytes);
}

static size_t append(struct table *table, const void *bytes, size_t size)
{
	const size_t at = table->size;
	memcpy(table->bytes + at, bytes, size);
	table->size += size;
	return at;
}

/* As the linker of that version lays it out. text: what the header says of where the code begins. */
static void make(struct table *table, uint32_t magic, uint64_t text)
{
	const bool is_old = magic == 0xfffffffb,
		   is_new = magic == 0xfffffff0 || magic == 0xfffffff1;
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
	size_t list = 16, names_at = 0, sizes_at = 0;
	table->size = 8 + 8 * 8; /* eight words of header; or one, and a list of seven */
	if (!is_old)
		names_at = table->size;
	for (int i = 0; i < NR_MADE; i++)
		names[i] = (uint32_t)(append(table, made[i].name, strlen(made[i].name) + 1) -
				      names_at);
	if (!is_old)
		sizes_at = append(table, "", 1); /* where nothing has any */
	const uint32_t sizes =
		(uint32_t)(append(table, frame_sizes, sizeof(frame_sizes)) - sizes_at);
	table->size = (table->size + 7) & ~(size_t)7;
	if (!is_old) {
		list = table->size;
		table->size += (2 * NR_MADE + 1) * word;
		const size_t places[] = {names_at, 0, 0, sizes_at, list};
		for (size_t i = 0; i < 5; i++)
			put(table, 8 + (first + i) * 8, places[i], 8);
	}
	for (size_t i = 0; i <= NR_MADE; i++)
		put(table, list + 2 * i * word, made[i].start - base, word);
	for (size_t i = 0; i < NR_MADE; i++) {
		put(table, list + (2 * i + 1) * word, table->size - (is_old ? 0 : list), word);
		put(table, table->size, made[i].start - base, word);
		put(table, table->size + word, names[i], 4);
		put(table, table->size + word + 12, sizes, 4);
		table->size += word + 16;
	}
}

/* A file whose second section, of that name, has the table, and whose first is .text. */
static Elf *file_of(const struct table *table, const char *section, char *file, size_t room)
{
	enum { NR_SECTIONS = 4 };
	char names[64] = "";
	const size_t at = sizeof(Elf64_Ehdr) + NR_SECTIONS * sizeof(Elf64_Shdr);
	CHECK(at + table->size + sizeof(names) <= room);
	memcpy(names + 1, ".text", 6);
	strcpy(names + 7, section);
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
		.e_shstrndx = 3,
	};
	const Elf64_Shdr sections[NR_SECTIONS] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		 .sh_addr = TEXT,
		 .sh_offset = at,
		 .sh_size = 64},
		{.sh_name = 7,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = TABLE,
		 .sh_offset = at,
		 .sh_size = table->size},
		{.sh_type = SHT_STRTAB, .sh_offset = at + table->size, .sh_size = sizeof(names)},
	};
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), sections, sizeof(sections));
	memcpy(file + at, table->bytes, table->size);
	memcpy(file + at + table->size, names, sizeof(names));
	return elf_memory(file, at + table->size + sizeof(names));
}

static char file[2 * ROOM];

static void check_made(const struct go_functions *functions)
{
	CHECK_EQ(functions->nr, NR_MADE);
	for (size_t i = 0; i < NR_MADE; i++) {
		struct go_function function;
		CHECK(go_functions_get(functions, i, &function));
		CHECK_STR(function.name, made[i].name);
		CHECK_EQ(function.start, made[i].start);
		CHECK_EQ(function.end, made[i + 1].start);
		struct go_frame frame;
		CHECK(go_functions_frame(functions, made[i].start, &frame));
		CHECK_EQ(frame.bytes, 0);
		CHECK_EQ(frame.start, made[i].start);
		CHECK_EQ(frame.end, made[i].start + 16);
		CHECK(go_functions_frame(functions, made[i].start + 16, &frame));
		CHECK_EQ(frame.bytes, 24);
		CHECK(go_functions_frame(functions, made[i].start + 0x1f, &frame));
		CHECK_EQ(frame.bytes, 8);
		CHECK_EQ(frame.start, made[i].start + 24);
	}
	struct go_frame frame;
	CHECK(!go_functions_frame(functions, TEXT - 1, &frame));
	CHECK(!go_functions_frame(functions, TEXT + 0x40 + 64, &frame));
	CHECK(!go_functions_frame(functions, TEXT + 0x120, &frame));
}

static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
enum { NR_MAGICS = sizeof(magics) / sizeof(magics[0]) };

static void each_format(void)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab",
					       ".data.rel.ro"};
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < NR_MAGICS; i++)
		for (size_t s = 0; s < 3; s++) {
			struct table table;
			struct go_functions functions;
			make(&table, magics[i], TEXT);
			Elf *elf = file_of(&table, sections[s], file, sizeof(file));
			CHECK(go_functions_open(&functions, elf));
			check_made(&functions);
			elf_end(elf);
		}
}

/* Nobody says where the code begins: its section does, if the program then begins at what begins Go programs. */
static void text_that_is_not_told(void)
{
	struct table table;
	struct go_functions functions;
	make(&table, 0xfffffff1, 0);
	Elf *elf = file_of(&table, ".gopclntab", file, sizeof(file));
	CHECK(go_functions_open(&functions, elf));
	check_made(&functions);
	elf_end(elf);
	elf = file_of(&table, ".gopclntab", file, sizeof(file));
	((Elf64_Ehdr *)(void *)file)->e_entry += 16;
	elf_end(elf);
	elf = elf_memory(file, sizeof(file));
	CHECK(!go_functions_open(&functions, elf));
	elf_end(elf);
}

static void other_tables(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} wrong[] = {
		{0, 0xf7},		   /* a format of later */
		{4, 1},	   {6, 3}, {7, 4}, /* 32-bit pointers */
		{15, 1},		   /* very many functions */
		{8, 0},			   /* none */
	};
	for (size_t i = 0; i < NR_MAGICS; i++)
		for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
			struct table table;
			struct go_functions functions;
			make(&table, magics[i], TEXT);
			table.bytes[wrong[w].at] = wrong[w].byte;
			Elf *elf = file_of(&table, ".gopclntab", file, sizeof(file));
			CHECK(!go_functions_open(&functions, elf));
			elf_end(elf);
		}
}

/* Cut anywhere, or with any bytes changed: nothing is read that is not there, and what is found has a name that ends. */
static void damage(void)
{
	srandom(11);
	for (int round = 0; round < 20000; round++) {
		struct table table;
		struct go_functions functions;
		make(&table, magics[round % NR_MAGICS], TEXT);
		for (long i = random() % 4; i > 0; i--)
			table.bytes[8 + (size_t)random() % (table.size - 8)] =
				(uint8_t)(random() % 3 ? random() : 0xff);
		if (random() % 2)
			table.size = (size_t)random() % table.size;
		/* On the heap, where a sanitizer sees its end. */
		char *copy = malloc(sizeof(file));
		Elf *elf = file_of(&table, ".gopclntab", copy, sizeof(file));
		if (go_functions_open(&functions, elf)) {
			for (size_t i = 0; i < functions.nr; i++) {
				struct go_function function;
				if (!go_functions_get(&functions, i, &function))
					continue;
				CHECK(function.start < function.end);
				CHECK(strlen(function.name) < GO_NAME_MAX);
			}
			for (uint64_t at = TEXT - 8; at < TEXT + 0x128; at += 8) {
				struct go_frame frame;
				if (go_functions_frame(&functions, at, &frame))
					CHECK(frame.start <= at && at < frame.end);
			}
		}
		elf_end(elf);
		free(copy);
	}
}

int main(void)
{
	RUN(each_format);
	RUN(text_that_is_not_told);
	RUN(other_tables);
	RUN(damage);
	return test_done();
}
