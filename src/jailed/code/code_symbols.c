/* SPDX-License-Identifier: MIT */
#include "code_symbols.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/elf/object.h>
#include <ctop/machine/instruction.h>

enum {
	SYMBOLS_MAX = 1 << 20,
	FUNCTIONS_MAX = 1 << 18, /* 4 MiB */
	SECTIONS_MAX = 1 << 10,
	NAME_BYTES_MAX = 4096,
	STEPS_A_SYMBOL = 2,
	WORD_BITS = 64
};

/* ---- the table ---- */

static bool is_sized_function(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size > 0 && symbol->st_size <= CODE_SYMBOL_BYTES_MAX &&
	       symbol->st_value <= UINT64_MAX - symbol->st_size;
}

static bool is_part(const char *name)
{
	static const char cold[] = ".cold";
	return !name || memmem(name, strnlen(name, NAME_BYTES_MAX), cold, sizeof(cold) - 1);
}

/* Out of memory only means that some are not known. */
static void read_table(struct code_symbols *symbols, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header, uint64_t *steps)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX && symbols->nr < FUNCTIONS_MAX; i++) {
		GElf_Sym symbol;
		*steps -= *steps < STEPS_A_SYMBOL ? *steps : STEPS_A_SYMBOL;
		if (!gelf_getsym(data, (int)i, &symbol) || !is_sized_function(&symbol) ||
		    vec_reserve(symbols, symbols->nr + 1))
			continue;
		symbols->items[symbols->nr++] = (struct code_symbol){
			symbol.st_value, (uint32_t)symbol.st_size,
			is_part(elf_strptr(elf, header->sh_link, symbol.st_name))};
	}
}

static int compare_symbols(const void *left, const void *right)
{
	const struct code_symbol *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

void code_symbols_read(struct code_symbols *symbols, const struct object *object, uint64_t *steps)
{
	Elf *elf = object_elf(object);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	if (symbols->is_read)
		return;
	symbols->is_read = true;
	for (unsigned i = 0; i < SECTIONS_MAX && (section = elf_nextscn(elf, section)); i++) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
			continue;
		read_table(symbols, elf, section, &header, steps);
		break;
	}
	if (symbols->nr)
		qsort(symbols->items, symbols->nr, sizeof(*symbols->items), compare_symbols);
}

void code_symbols_release(struct code_symbols *symbols)
{
	free(symbols->items);
	*symbols = (struct code_symbols){0};
}

bool code_symbols_find(const struct code_symbols *symbols, uint64_t address,
		       struct code_function *function)
{
	size_t low = 0, high = symbols->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (symbols->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct code_symbol *found = low ? &symbols->items[low - 1] : NULL;
	if (!found || address - found->start >= found->bytes || found->is_part)
		return false;
	*function = (struct code_function){found->start, found->start + found->bytes};
	return true;
}

/* ---- what they say of code ---- */

static void mark(const struct code_view *view, uint64_t *bits, uint64_t at)
{
	if (at < view->size)
		bits[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

bool code_marks_make(struct code_marks *marks, const struct code_symbols *symbols,
		     const struct code_view *view)
{
	const size_t words = view->size / WORD_BITS + 1;
	if (marks->branches)
		return true;
	marks->starts = calloc(words, sizeof(*marks->starts));
	marks->parts = calloc(words, sizeof(*marks->parts));
	marks->branches = calloc(words, sizeof(*marks->branches));
	if (!marks->starts || !marks->parts || !marks->branches) {
		code_marks_release(marks);
		return false;
	}
	for (size_t i = 0; i < symbols->nr; i++)
		mark(view, symbols->items[i].is_part ? marks->parts : marks->starts,
		     symbols->items[i].start - view->start);
	return true;
}

void code_marks_release(struct code_marks *marks)
{
	free(marks->starts);
	free(marks->parts);
	free(marks->branches);
	*marks = (struct code_marks){0};
}

static void forget_branches(struct code_marks *marks, const struct code_view *view)
{
	if (!marks->function.end)
		return;
	const uint64_t first = (marks->function.start - view->start) / WORD_BITS;
	const uint64_t last = (marks->function.end - view->start) / WORD_BITS;
	memset(marks->branches + first, 0, (last - first + 1) * sizeof(*marks->branches));
	marks->function = (struct code_function){0};
}

void code_marks_look(struct code_marks *marks, struct code_view *view,
		     const struct code_function *function, uint64_t *steps)
{
	const uint64_t low = function->start - view->start, high = function->end - view->start;
	struct instruction instruction;
	view->branched_to = marks->branches;
	view->starts = marks->starts;
	view->parts = marks->parts;
	if (marks->function.start == function->start && marks->function.end == function->end)
		return;
	forget_branches(marks, view);
	marks->function = *function;
	for (uint64_t at = low; at < high; --*steps) {
		if (!instruction_read(view->bytes + at, high - at, &instruction)) {
			at++;
			continue;
		}
		at += instruction.length;
		const uint64_t target = at + (uint64_t)instruction.value;
		if (instruction.kind == INSTRUCTION_BRANCH && target >= low && target < high)
			mark(view, marks->branches, target);
	}
}
