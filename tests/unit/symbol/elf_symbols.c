/* SPDX-License-Identifier: MIT */
/* Files made for the purpose: extents, aliases, nested functions, damage. */
#include "read_elf.h"

static struct read_elf read_made(const struct test_symbol *made, size_t nr, uint16_t machine)
{
	const struct test_elf elf = {
		.symbols = made, .nr_symbols = nr, .table_type = SHT_SYMTAB, .machine = machine};
	struct read_elf read = {opened(test_elf_fd(&elf)), elf_symbols_new()};
	CHECK_EQ(elf_symbols_add(read.symbols, object_elf(read.object), SHT_SYMTAB), 1);
	elf_symbols_finish(read.symbols);
	return read;
}

static void extents(void)
{
	static const struct test_symbol made[] = {
		{"sized", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sizeless", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"next", 0x1080, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"ifunc", 0x10a0, 8, STB_GLOBAL, STT_GNU_IFUNC, TEST_TEXT},
		{"label", 0x1100, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"undefined", 0x1200, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF},
		{"absolute", 0x1210, 8, STB_GLOBAL, STT_FUNC, SHN_ABS},
		{"object", 0x1220, 8, STB_GLOBAL, STT_OBJECT, TEST_TEXT},
		{"data_label", 0x3000, 0, STB_GLOBAL, STT_NOTYPE, TEST_DATA},
		{"", 0x1300, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"outside", 0x2000, 0, STB_GLOBAL, STT_NOTYPE, TEST_TEXT},
		{"last", 0x1f00, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"huge", 0x7000, UINT64_MAX, STB_GLOBAL, STT_FUNC, TEST_DATA},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0xfff), "-");
	CHECK_STR(name_at(read.symbols, 0x1000), "sized");
	CHECK_STR(name_at(read.symbols, 0x101f), "sized");
	CHECK_STR(name_at(read.symbols, 0x1020), "-");
	CHECK_STR(name_at(read.symbols, 0x1040), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x107f), "sizeless");
	CHECK_STR(name_at(read.symbols, 0x1080), "next");
	CHECK_STR(name_at(read.symbols, 0x10a7), "ifunc");
	/* A label reaches to the next symbol, the last one to its section's end. */
	CHECK_STR(name_at(read.symbols, 0x1100), "label");
	CHECK_STR(name_at(read.symbols, 0x1210), "label");
	CHECK_STR(name_at(read.symbols, 0x1eff), "label");
	CHECK_STR(name_at(read.symbols, 0x1fff), "last");
	CHECK_STR(name_at(read.symbols, 0x2000), "-");
	CHECK_STR(name_at(read.symbols, 0x3000), "-");
	CHECK_STR(name_at(read.symbols, 0x7000), "huge");
	struct symbol_hit hit;
	CHECK(elf_symbols_find(read.symbols, 0x1050, &hit));
	CHECK_EQ(hit.start, 0x1040);
	CHECK(!hit.module);
	release(&read);
}

static void aliases(void)
{
	static const struct test_symbol made[] = {
		{"weak", 0x1000, 8, STB_WEAK, STT_FUNC, TEST_TEXT},
		{"__global", 0x1000, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"_global", 0x1000, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"local", 0x1000, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"weak_two", 0x1010, 8, STB_WEAK, STT_FUNC, TEST_TEXT},
		{"local_two", 0x1010, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"short", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"the_longer", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"fork@@GLIBC_2.2.5", 0x1030, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"longer_fork", 0x1030, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sizeless_global", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"sized_local", 0x1040, 8, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"a_label", 0x1050, 8, STB_GLOBAL, STT_NOTYPE, TEST_TEXT},
		{"function", 0x1050, 4, STB_LOCAL, STT_FUNC, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0x1000), "_global");
	CHECK_STR(name_at(read.symbols, 0x1010), "local_two");
	CHECK_STR(name_at(read.symbols, 0x1020), "the_longer");
	CHECK_STR(name_at(read.symbols, 0x1030), "longer_fork");
	CHECK_STR(name_at(read.symbols, 0x1047), "sized_local");
	/* The name of one, the extent of both. */
	CHECK_STR(name_at(read.symbols, 0x1057), "function");
	CHECK_STR(name_at(read.symbols, 0x1058), "-");
	CHECK_EQ(elf_symbols_count(read.symbols), 6);
	release(&read);
}

static void nested(void)
{
	static const struct test_symbol made[] = {
		{"outer", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"middle", 0x1010, 0x40, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"inner", 0x1020, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"label_inside", 0x1040, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"sibling", 0x1060, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"across", 0x10f0, 0x20, STB_LOCAL, STT_FUNC, TEST_TEXT},
		{"after", 0x1120, 0x10, STB_LOCAL, STT_FUNC, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), 0);
	CHECK_STR(name_at(read.symbols, 0x1000), "outer");
	CHECK_STR(name_at(read.symbols, 0x1018), "middle");
	CHECK_STR(name_at(read.symbols, 0x1028), "inner");
	CHECK_STR(name_at(read.symbols, 0x1030), "middle");
	CHECK_STR(name_at(read.symbols, 0x1044), "middle");
	CHECK_STR(name_at(read.symbols, 0x1050), "outer");
	CHECK_STR(name_at(read.symbols, 0x1068), "sibling");
	CHECK_STR(name_at(read.symbols, 0x1070), "outer");
	CHECK_STR(name_at(read.symbols, 0x10f8), "across");
	CHECK_STR(name_at(read.symbols, 0x110f), "across");
	CHECK_STR(name_at(read.symbols, 0x1110), "-");
	CHECK_STR(name_at(read.symbols, 0x1128), "after");
	release(&read);
}

/* Random overlapping functions, against the plain way: the latest start that covers an address. */
static void nested_always(void)
{
	enum { NR_MADE = 60, SPAN = 0x400 };
	struct test_symbol made[NR_MADE];
	char names[NR_MADE][8];
	srandom(5);
	for (int round = 0; round < 30; round++) {
		for (size_t i = 0; i < NR_MADE; i++) {
			sprintf(names[i], "f%zu", i);
			/* Starts differ, so that aliases play no part. */
			made[i] = (struct test_symbol){names[i],
						       0x1000 + i * 16 + (uint64_t)random() % 16,
						       (uint64_t)random() % 200 + 1,
						       STB_GLOBAL,
						       STT_FUNC,
						       TEST_TEXT};
		}
		struct read_elf read = read_made(made, NR_MADE, 0);
		for (uint64_t address = 0x1000; address < 0x1000 + SPAN + 300; address++) {
			const char *wanted = "-";
			for (size_t i = 0; i < NR_MADE; i++)
				if (address >= made[i].address &&
				    address - made[i].address < made[i].bytes)
					wanted = made[i].name;
			CHECK_STR(name_at(read.symbols, address), wanted);
		}
		release(&read);
	}
}

static void mapping_symbols(void)
{
	static const struct test_symbol made[] = {
		{"$x", 0x1000, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"$d.12", 0x1010, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
		{"$special", 0x1020, 8, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{".Lloop", 0x1040, 0, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
	};
	struct read_elf read = read_made(made, NR(made), EM_AARCH64);
	CHECK_STR(name_at(read.symbols, 0x1000), "-");
	CHECK_STR(name_at(read.symbols, 0x1018), "-");
	CHECK_STR(name_at(read.symbols, 0x1020), "$special");
	CHECK_STR(name_at(read.symbols, 0x1040), "-");
	release(&read);
	read = read_made(made, NR(made), EM_X86_64);
	CHECK_STR(name_at(read.symbols, 0x1000), "$x");
	release(&read);
}

static void no_table(void)
{
	const struct test_elf elf = {.table_type = SHT_DYNSYM, .debuglink = "prog.debug"};
	struct object *object = opened(test_elf_fd(&elf));
	struct elf_symbols *symbols = elf_symbols_new();
	CHECK_EQ(elf_symbols_add(symbols, object_elf(object), SHT_SYMTAB), 0);
	CHECK_EQ(elf_symbols_add(symbols, object_elf(object), SHT_DYNSYM), 1);
	elf_symbols_finish(symbols);
	CHECK_STR(name_at(symbols, 0x1000), "-");
	CHECK_STR(elf_debuglink(object_elf(object)), "prog.debug");
	elf_symbols_free(symbols);
	object_free(object);
	const struct test_elf bare = {0};
	object = opened(test_elf_fd(&bare));
	CHECK_STR(elf_debuglink(object_elf(object)), "");
	object_free(object);
	elf_symbols_free(NULL);
}

/* Any byte of the file may be a lie; what libelf lets through must not hurt. */
static void damaged(void)
{
	static const struct test_symbol made[] = {
		{"one", 0x1000, 0x20, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"two", 0x1040, 0, STB_GLOBAL, STT_FUNC, TEST_TEXT},
		{"three", 0x1080, 0x10, STB_LOCAL, STT_NOTYPE, TEST_TEXT},
	};
	const struct test_elf elf = {.symbols = made,
				     .nr_symbols = NR(made),
				     .table_type = SHT_SYMTAB,
				     .debuglink = "x.debug"};
	static char file[8 << 10], copy[8 << 10];
	size_t size = test_elf_bytes(&elf, file, sizeof(file));
	size_t opened_files = 0;
	srandom(9);
	for (int round = 0; round < 5000; round++) {
		memcpy(copy, file, size);
		for (long i = random() % 4 + 1; i > 0; i--) {
			static const unsigned char values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
			copy[16 + (size_t)random() % (size - 16)] =
				(char)values[(size_t)random() % sizeof(values)];
		}
		size_t cut = random() % 4 == 0 ? (size_t)random() % size : size;
		struct error error;
		struct object *object = object_open(file_of_bytes(copy, cut), &error);
		if (!object)
			continue;
		opened_files++;
		struct elf_symbols *symbols = elf_symbols_new();
		elf_symbols_add(symbols, object_elf(object), SHT_SYMTAB);
		elf_symbols_add(symbols, object_elf(object), SHT_DYNSYM);
		elf_symbols_finish(symbols);
		elf_plt_add(symbols, object_elf(object));
		elf_symbols_finish(symbols);
		for (uint64_t address = 0xfff; address < 0x1100; address += 7)
			CHECK(strlen(name_at(symbols, address)) < sizeof(file));
		elf_debuglink(object_elf(object));
		elf_symbols_free(symbols);
		object_free(object);
	}
	CHECK(opened_files > 500);
}

int main(void)
{
	RUN(extents);
	RUN(aliases);
	RUN(nested);
	RUN(nested_always);
	RUN(mapping_symbols);
	RUN(no_table);
	RUN(damaged);
	return test_done();
}
