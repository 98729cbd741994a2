/* SPDX-License-Identifier: MIT */
/* Functions known by name: roots of stacks, and those that switch stacks. */
#include "files/opened.h"

static bool is_root(struct object *object, uint64_t offset)
{
	return object_is_root(object, SMALL_CODE + offset);
}

static bool is_switch(struct object *object, uint64_t offset)
{
	enum known_function is = object_known_function(object, SMALL_CODE + offset);
	return is == FUNCTION_SWITCH || is == FUNCTION_SWITCH_FOR_GOOD ||
	       is == FUNCTION_SWITCH_WITH_RECORD;
}

static void names_that_only_roots_have(void)
{
	static const char *const roots[] = {
		"_start",
		"_dl_start_user",
		"_dlstart",
		"__clone",
		"__clone3",
		"runtime.goexit",
		"runtime.goexit.abi0",
		"runtime.mstart.abi0",
		"runtime.rt0_go.abi0",
		"_ZN11__sanitizer14internal_cloneEPFiPvES0_iS0_PiS0_S3_"};
	static const char *const ordinary[] = {"main",
					       "clone",
					       "clone3",
					       "thread_start",
					       "start",
					       "goexit",
					       "runtime.goexit1",
					       "runtime.goexit0",
					       "__clone_",
					       "_starts",
					       "_Z6_startv",
					       "runtime.mstart0",
					       "",
					       "runtime.goexit.abi0x",
					       "runtime.systemstack_switch",
					       "runtime.cgocallback"};
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		small_elf_init(&elf);
		small_elf_add(&elf, roots[i], 0x100, 0x20);
		struct object *object = open_small();
		CHECK(!is_root(object, 0xff));
		CHECK(is_root(object, 0x100));
		CHECK(is_root(object, 0x11f));
		CHECK(!is_root(object, 0x120));
		CHECK(!is_switch(object, 0x100));
		object_free(object);
	}
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
		small_elf_init(&elf);
		small_elf_add(&elf, ordinary[i], 0x100, 0x20);
		struct object *object = open_small();
		CHECK(!is_root(object, 0x100));
		CHECK(!is_switch(object, 0x100));
		object_free(object);
	}
}

static void a_function_without_a_size_ends_at_the_next_symbol(void)
{
	small_elf_init(&elf);
	small_elf_add(&elf, "later", 0x200, 0);
	small_elf_add(&elf, "_start", 0x100, 0);
	small_elf_add(&elf, "next", 0x110, 0);
	small_elf_add(&elf, "__clone", 0x300, 0);
	small_elf_add(&elf, "$d", 0x304, 0); /* a mark, no function */
	struct object *object = open_small();
	CHECK(is_root(object, 0x10f));
	CHECK(!is_root(object, 0x110));
	CHECK(is_root(object, 0x310));
	CHECK(!is_root(object, 0x300 + 0x100)); /* nor does it go on for ever */
	object_free(object);
	/* Another name for the same function knows its size. */
	small_elf_add(&elf, "alias", 0x300, 0x90);
	object = open_small();
	CHECK(is_root(object, 0x38f));
	CHECK(!is_root(object, 0x390));
	object_free(object);
}

/* Else all that lies behind _start would be the end of a stack. */
static void a_size_that_lies_ends_at_the_next_function(void)
{
	static const uint64_t sizes[] = {0x80, 0x101, UINT64_C(1) << 63, UINT64_MAX - 1,
					 UINT64_MAX};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		small_elf_init(&elf);
		small_elf_add(&elf, "main", 0x140, sizes[i]);
		small_elf_add(&elf, "_start", 0x100, sizes[i]);
		small_elf_add(&elf, "label", 0x120, 0);
		struct object *object = open_small();
		CHECK(is_root(object, 0x100));
		CHECK(is_root(object, 0x13f));
		CHECK(!is_root(object, 0x140));
		CHECK(!is_root(object, 0x240));
		object_free(object);
	}
}

static void dynamic_symbols_serve_where_there_are_no_others(void)
{
	small_elf_init(&elf);
	small_elf_add(&elf, "__clone", 0x100, 0x20);
	elf.start.sections[1].sh_type = SHT_DYNSYM;
	struct object *object = open_small();
	CHECK(is_root(object, 0x100));
	object_free(object);
}

static void imported_and_absolute_symbols_are_nowhere(void)
{
	small_elf_init(&elf);
	small_elf_add(&elf, "__clone", 0x100, 0x20);
	elf.start.symbols[1].st_shndx = SHN_UNDEF;
	struct object *object = open_small();
	CHECK(!is_root(object, 0x100));
	object_free(object);
	elf.start.symbols[1].st_shndx = SHN_ABS;
	object = open_small();
	CHECK(!is_root(object, 0x100));
	object_free(object);
	elf.start.symbols[1].st_shndx = 1;
	elf.start.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	object = open_small();
	CHECK(!is_root(object, 0x100));
	object_free(object);
}

static bool entry_is_root(void)
{
	elf.start.header.e_entry = SMALL_CODE;
	struct object *object = open_small();
	bool result = is_root(object, 0);
	CHECK(!is_root(object, 0x100));
	object_free(object);
	return result;
}

static void only_programs_and_the_loader_are_entered(void)
{
	small_elf_init(&elf);
	CHECK(!entry_is_root()); /* a library, from an old linker */
	elf.start.header.e_type = ET_EXEC;
	CHECK(entry_is_root());
	small_elf_init(&elf);
	elf.start.segments[3].p_type = PT_INTERP;
	CHECK(entry_is_root());
	small_elf_init(&elf);
	elf.start.dynamic[0] = (Elf64_Dyn){.d_tag = DT_FLAGS_1, .d_un.d_val = DF_1_PIE};
	CHECK(entry_is_root());
	elf.start.dynamic[0].d_un.d_val = DF_1_NOW;
	CHECK(!entry_is_root());
	small_elf_init(&elf);
	small_elf_add(&elf, "__tls_get_addr", 0x200, 0x20);
	CHECK(entry_is_root());
	elf.start.dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED};
	CHECK(!entry_is_root()); /* a sanitizer's library */
	elf.start.dynamic[0].d_tag = DT_NULL;
	CHECK(entry_is_root());
	elf.start.symbols[1].st_shndx = SHN_UNDEF;
	CHECK(!entry_is_root());
}

static void the_entry_is_as_long_as_its_symbol_says(void)
{
	small_elf_init(&elf);
	elf.start.header.e_type = ET_EXEC;
	elf.start.header.e_entry = SMALL_CODE + 0x10;
	small_elf_add(&elf, "all_of_a_tiny_program", 0x10, 0x200);
	struct object *object = open_small();
	CHECK(!is_root(object, 0xf));
	CHECK(is_root(object, 0x20f));
	CHECK(!is_root(object, 0x210));
	object_free(object);
	small_elf_init(&elf);
	elf.start.header.e_type = ET_EXEC;
	elf.start.header.e_entry = SMALL_CODE + 0x10;
	small_elf_add(&elf, "next", 0x20, 0x200);
	object = open_small();
	CHECK(is_root(object, 0x1f));
	CHECK(!is_root(object, 0x20));
	object_free(object);
}

static void go_switches_stacks(void)
{
	small_elf_init(&elf);
	small_elf_add(&elf, "runtime.systemstack.abi0", 0x100, 0x20);
	small_elf_add(&elf, "runtime.mcall", 0x200, 0x20);
	small_elf_add(&elf, "runtime.asmcgocall.abi0", 0x300, 0x20);
	/* Only calls the one before, on the same stack. */
	small_elf_add(&elf, "runtime.asmcgocall", 0x400, 0x20);
	small_elf_add(&elf, "time.now", 0x500, 0x20);
	struct object *object = open_small();
	CHECK(is_switch(object, 0x100));
	CHECK(is_switch(object, 0x21f));
	CHECK(is_switch(object, 0x300));
	CHECK(!is_switch(object, 0x400));
	CHECK(is_switch(object, 0x500));
	CHECK_EQ(object_known_function(object, SMALL_CODE + 0x51f), FUNCTION_SWITCH_WITH_RECORD);
	CHECK_EQ(object_known_function(object, SMALL_CODE + 0x200), FUNCTION_SWITCH_FOR_GOOD);
	CHECK(!is_root(object, 0x100));
	object_free(object);
}

static void more_roots_than_any_file_has(void)
{
	small_elf_init(&elf);
	for (uint64_t i = 1; i < SMALL_SYMBOLS_MAX - 1; i++)
		small_elf_add(&elf, "_start", i * 16, 0);
	struct object *object = open_small();
	CHECK(is_root(object, 16));
	CHECK(!is_root(object, 0));
	object_free(object);
}

int main(void)
{
	RUN(names_that_only_roots_have);
	RUN(a_function_without_a_size_ends_at_the_next_symbol);
	RUN(a_size_that_lies_ends_at_the_next_function);
	RUN(dynamic_symbols_serve_where_there_are_no_others);
	RUN(imported_and_absolute_symbols_are_nowhere);
	RUN(only_programs_and_the_loader_are_entered);
	RUN(the_entry_is_as_long_as_its_symbol_says);
	RUN(go_switches_stacks);
	RUN(more_roots_than_any_file_has);
	return test_done();
}
