/* SPDX-License-Identifier: MIT */
/* The table of Go's runtime: each of its formats, made by hand; and what is none of them. */
#include <ctop/elf/go_functions.h>

#include <stdlib.h>

#include "test.h"

#include "go_table.h"

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
