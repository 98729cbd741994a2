/* SPDX-License-Identifier: MIT */
/* A module file: the input is the file. Its segments, its symbols, its unwind rules. */
#include <elf.h>
#include <errno.h>

#include <ctop/elf/go_functions.h>
#include <ctop/elf/go_goroutines.h>
#include <ctop/elf/go_lines.h>
#include <ctop/elf/object.h>
#include <ctop/symbol/function_offset.h>
#include <ctop/unwind/unwind.h>

#include <ctop/cfi/cfi.h>
#include "jailed/code/code_entries.h"
#include "jailed/code/code_symbols.h"
#include "jailed/symbol/dwarf_symbols.h"
#include "jailed/symbol/elf_plt.h"
#include <ctop/symbol/elf_symbols.h>
#include "fuzz.h"
#include <ctop/symbol/mini_debug.h>
#include <ctop/lines/source_lines.h>

/* Where the seeds have something, and where nothing has. */
static const uint64_t addresses[] = {
	0,
	0x40,
	0xfff,
	0x1000,
	0x1001,
	0x1004,
	0x1008,
	0x100f,
	0x1010,
	0x1020,
	0x103f,
	0x1040,
	0x2000,
	0x3000,
	0x400000,
	INT64_MAX,
	UINT64_MAX - 4095,
	UINT64_MAX - 1,
	UINT64_MAX,
};
enum { NR_ADDRESSES = sizeof(addresses) / sizeof(addresses[0]) };

static void check_object(struct object *object)
{
	REQUIRE(object_identity(object)->build_id_size <=
		sizeof(object_identity(object)->build_id));
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		uint64_t elf_address;
		uint8_t *bytes = malloc(16);
		REQUIRE(bytes != NULL);
		if (object_read(object, addresses[i], bytes, 16))
			REQUIRE(addresses[i] <= UINT64_MAX - 15);
		object_elf_address(object, addresses[i], &elf_address);
		object_is_root(object, addresses[i]);
		object_known_function(object, addresses[i]);
		free(bytes);
	}
}

static void check_entries(const struct object *object)
{
	struct code_entries entries;
	struct code_function function;
	code_entries_read(&entries, object);
	REQUIRE(entries.nr <= CODE_ENTRIES_MAX);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		if (code_entries_find(&entries, addresses[i], &function))
			REQUIRE(function.start <= addresses[i] &&
				addresses[i] - function.start < function.end - function.start);
}

static void check_sized_functions(const struct object *object)
{
	struct code_symbols symbols = {0};
	struct code_function function;
	uint64_t steps = 1 << 10;
	code_symbols_read(&symbols, object, &steps);
	REQUIRE(steps <= 1 << 10);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		if (code_symbols_find(&symbols, addresses[i], &function))
			REQUIRE(function.start <= addresses[i] && addresses[i] < function.end &&
				function.end - function.start <= CODE_SYMBOL_BYTES_MAX);
	code_symbols_release(&symbols);
}

static void check_go_functions(Elf *elf)
{
	struct go_functions functions;
	struct go_function function;
	struct go_frame frame;
	if (!go_functions_open(&functions, elf))
		return;
	for (size_t i = 0; i < functions.nr; i++)
		if (go_functions_get(&functions, i, &function))
			REQUIRE(function.start < function.end &&
				strnlen(function.name, GO_NAME_MAX) < GO_NAME_MAX);
	for (size_t i = 0; i < NR_ADDRESSES; i++)
		if (go_functions_frame(&functions, addresses[i], &frame))
			REQUIRE(frame.start <= addresses[i] && addresses[i] < frame.end);
}

static void check_go_lines(Elf *elf)
{
	enum { PLACES = 8 };
	struct go_lines lines;
	if (!go_lines_open(&lines, elf))
		return;
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		struct go_place places[PLACES];
		uint64_t end;
		const size_t nr = go_lines_find(&lines, addresses[i], places, PLACES);
		REQUIRE(nr <= PLACES);
		for (size_t place = 0; place < nr; place++)
			REQUIRE(places[place].function[0] &&
				strlen(places[place].file) < GO_NAME_MAX);
		if (go_lines_row(&lines, addresses[i], places, &end))
			REQUIRE(end > addresses[i] && places[0].line);
		uint64_t id = 0;
		go_lines_inlined(&lines, addresses[i], &id, &end);
		REQUIRE((addresses[i] == UINT64_MAX || end > addresses[i]) && id <= INT64_MAX);
		for (int deep = 0; id && deep < PLACES; deep++)
			if (!go_lines_call(&lines, id, places, &id))
				break;
	}
}

static void check_symbols(Elf *elf)
{
	struct elf_symbols *symbols = elf_symbols_new();
	REQUIRE(symbols != NULL);
	int added = elf_symbols_add(symbols, elf, SHT_SYMTAB);
	REQUIRE(added == 0 || added == 1);
	added = elf_symbols_add(symbols, elf, SHT_DYNSYM);
	REQUIRE(added == 0 || added == 1);
	struct mini_debug mini;
	if (mini_debug_open(&mini, elf) == 0)
		REQUIRE(elf_symbols_add(symbols, mini.elf, SHT_SYMTAB) >= 0);
	REQUIRE(dwarf_symbols_add(symbols, elf) >= 0);
	REQUIRE(elf_symbols_add_go_functions(symbols, elf) >= 0);
	added = elf_symbols_add_unwind_table(symbols, elf);
	REQUIRE(added == 0);
	elf_symbols_finish(symbols);
	elf_plt_add(symbols, elf);
	elf_symbols_finish(symbols);
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		struct symbol_hit hit;
		uint64_t start;
		if (elf_symbols_bound(symbols, addresses[i], &start))
			REQUIRE(start <= addresses[i]);
		if (!elf_symbols_find(symbols, addresses[i], &hit))
			continue;
		REQUIRE(hit.start <= addresses[i]);
		/* Read up to what is shown of it. */
		REQUIRE(hit.name && strnlen(hit.name, SYMBOL_NAME_MAX) > 0);
	}
	REQUIRE(strlen(elf_debuglink(elf)) < 1 << 20);
	elf_symbols_free(symbols);
	mini_debug_release(&mini);
}

/* common: the file itself, which may say that it is. */
static void check_lines(Elf *elf, Elf *common)
{
	enum { FRAMES = 8 };
	struct source_lines *lines = source_lines_new(elf, common);
	for (size_t i = 0; lines && i < NR_ADDRESSES; i++) {
		struct source_frame frames[FRAMES];
		const size_t nr = source_lines_find(lines, addresses[i], frames, FRAMES);
		REQUIRE(nr <= FRAMES);
		for (size_t frame = 0; frame < nr; frame++)
			REQUIRE(frames[frame].function && frames[frame].file &&
				strlen(frames[frame].file) < SIZE_MAX);
		struct source_row row;
		if (source_lines_row(lines, addresses[i], &row))
			REQUIRE(row.line && row.end > addresses[i] && strlen(row.file) > 0 &&
				strlen(row.directory) < SIZE_MAX);
	}
	source_lines_free(lines);
}

/* Read as a whole, a function has what is found in it address by address. */
static void check_inlined(Elf *elf)
{
	struct source_lines *lines = source_lines_new(elf, NULL);
	for (size_t i = 0; lines && i < NR_ADDRESSES; i++) {
		struct source_frame frames[SOURCE_FRAMES_MAX];
		struct source_inlined inlined;
		struct source_call call = {0};
		if (!source_lines_inlined(lines, addresses[i], &inlined))
			continue;
		REQUIRE(inlined.end > addresses[i]);
		const size_t nr = source_lines_find(lines, addresses[i], frames, SOURCE_FRAMES_MAX);
		size_t deep = 0;
		uint64_t id = inlined.call;
		for (; id; id = call.outer, deep++) {
			REQUIRE(deep < SOURCE_FRAMES_MAX);
			/* Entries that are out of order are not found again. */
			if (!source_lines_call(lines, id, &call))
				break;
			REQUIRE(call.function && call.file);
		}
		REQUIRE(inlined.is_too_much || id || deep + 1 == nr);
	}
	source_lines_free(lines);
}

/* For a uprobe; it opens the file by itself. */
static void check_offsets(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = {"main", "_start", "nothing", "", "a::b(int)"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct function_place place;
		int result = function_offset(fuzz_file(bytes, size), names[i], &place);
		REQUIRE(result == 0 || result == -ENOENT || result == -ENOTUNIQ ||
			result == -ENOEXEC);
	}
}

/* Of a program of Go's; it opens the file by itself. */
static void check_goroutines(const uint8_t *bytes, size_t size)
{
	struct goroutine_layout layout;
	const enum goroutine_refusal refusal = go_goroutines_find(fuzz_file(bytes, size), &layout);
	REQUIRE(refusal < NR_GOROUTINE_REFUSALS);
	REQUIRE(refusal != GOROUTINES_SHOWN || goroutine_layout_is_sane(&layout));
}

static void check_rule(const struct cfi *cfi, const struct rule *rule)
{
	REQUIRE(rule->kind <= RULE_LONG);
	if (rule->kind == RULE_LONG)
		REQUIRE(cfi_long_rule(cfi, rule->offset)->nr_ops <= LONG_RULE_MAX_OPS);
	if (rule->kind != RULE_OFFSET && rule->kind != RULE_DEREF)
		return;
	REQUIRE(rule->cfa_register < UNWIND_NR_REGS && rule->deepest >= 1);
	for (size_t i = 0; i < MACHINE_NR_SAVED; i++)
		REQUIRE(rule->saved[i] <= rule->deepest);
}

/* The same rule the second time, when it comes from what was kept. */
static void check_rules(struct object *object)
{
	struct cfi *cfi = cfi_new(object);
	REQUIRE(cfi != NULL);
	for (size_t i = 0; i < NR_ADDRESSES; i++) {
		struct rule first, second;
		memset(&first, 0, sizeof(first));
		memset(&second, 0, sizeof(second));
		cfi_rule(cfi, addresses[i], &first);
		cfi_rule(cfi, addresses[i], &second);
		check_rule(cfi, &first);
		struct go_function function;
		if (cfi_go_function(cfi, addresses[i], &function))
			REQUIRE(addresses[i] >= function.start && addresses[i] < function.end);
		REQUIRE(first.kind == second.kind && first.offset == second.offset &&
			memcmp(first.saved, second.saved, sizeof(first.saved)) == 0);
	}
	cfi_free(cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static bool is_prepared;
	if (!is_prepared)
		source_lines_prepare();
	is_prepared = true;
	int open_before = fuzz_open_descriptors();
	struct error error = {0};
	struct object *object = object_open(fuzz_file(bytes, size), &error);
	REQUIRE(object || error.cause[0]);
	if (object) {
		check_object(object);
		check_entries(object);
		check_sized_functions(object);
		check_go_functions(object_elf(object));
		check_go_lines(object_elf(object));
		check_symbols(object_elf(object));
		check_lines(object_elf(object), NULL);
		check_lines(object_elf(object), object_elf(object));
		check_inlined(object_elf(object));
		check_rules(object);
		object_free(object);
	}
	check_offsets(bytes, size);
	check_goroutines(bytes, size);
	REQUIRE(fuzz_open_descriptors() == open_before);
	return 0;
}
