/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/elf_symbols.h>

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/sort.h>
#include <ctop/base/vec.h>
#include <ctop/elf/go_functions.h>
#include <ctop/elf/section.h>

#include "elf_bounds.h"
#include "elf_references.h"

/* The largest programs seen have a million functions; a lying header may not
 * cost more than 200 MiB. */
enum { SYMBOLS_MAX = 8 << 20 };
/* .symtab or .dynsym of the file and of its debug file, and the stubs' names.
 */
enum { STRING_TABLES_MAX = 4, STUB_NAMES = STRING_TABLES_MAX };
enum { STUB_NAMES_MAX_BYTES = 64 << 20 };
/* Functions nested in functions; real ones reach 2 or 3. */
enum { NESTING_MAX = 64 };
/* Nobody says how long a symbol without a size is: what lies further behind it is hardly its function. */
enum { SIZELESS_MAX_BYTES = 4096 };
/* Less than that, which nothing bounds, every file has: what the linker adds at its start. */
enum { UNBOUNDED_BYTES = 512 };

#define NO_SYMBOL UINT32_MAX

/* In the order of their weight. */
enum demerit {
	DEMERIT_LOCAL = 1,
	DEMERIT_WEAK = 2,
	DEMERIT_NO_SIZE = 4,
	DEMERIT_NO_TYPE = 8, /* a label of assembly, a stub */
};

struct elf_symbol {
	uint64_t address; /* first: what they are sorted by */
	uint32_t bytes;	  /* 0, before finish: not said */
	uint32_t name;	  /* offset into its string table */
	uint32_t outer;	  /* the next candidate where this one has ended; or NO_SYMBOL */
	uint8_t strings;
	uint8_t demerits;
};

struct string_table {
	const char *bytes;
	size_t size;
};

struct elf_symbols {
	struct {
		struct elf_symbol *items;
		size_t nr, capacity;
	} symbols;
	struct elf_bounds bounds;
	bool by_ada; /* it calls Ada's runtime, or is that */
	Elf *code;   /* the file with the code, while it is read; else NULL */
	struct elf_references references;
	struct {
		char *items;
		size_t nr, capacity;
	} stub_names;
	struct string_table string_tables[STRING_TABLES_MAX];
	size_t nr_string_tables;
};

struct elf_symbols *elf_symbols_new(void)
{
	return calloc(1, sizeof(struct elf_symbols));
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols.items);
	elf_bounds_release(&symbols->bounds);
	elf_references_release(&symbols->references);
	free(symbols->stub_names.items);
	free(symbols);
}

size_t elf_symbols_count(const struct elf_symbols *symbols)
{
	return symbols->symbols.nr;
}

size_t elf_symbols_bytes(const struct elf_symbols *symbols)
{
	return sizeof(*symbols) + symbols->symbols.capacity * sizeof(*symbols->symbols.items) +
	       elf_bounds_bytes(&symbols->bounds) + elf_references_bytes(&symbols->references) +
	       symbols->stub_names.capacity;
}

/* Checked when the symbol was added. */
static const char *name_of(const struct elf_symbols *symbols, const struct elf_symbol *symbol)
{
	return symbol->strings == STUB_NAMES
		       ? symbols->stub_names.items + symbol->name
		       : symbols->string_tables[symbol->strings].bytes + symbol->name;
}

static uint64_t end_of(const struct elf_symbol *symbol)
{
	uint64_t end = symbol->address + symbol->bytes;
	return end < symbol->address ? UINT64_MAX : end;
}

/* ---- reading ---- */

/* Linker-made marks between code and data of Arm and RISC-V: $a, $d, $t, $x,
 * also with a suffix. */
static bool is_mapping_symbol(uint16_t machine, const char *name)
{
	return (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV) &&
	       name[0] == '$' && name[1] && strchr("adtx", name[1]);
}

/* A label counts as a function only where it lies in code. */
static bool is_label_in_code(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	GElf_Shdr section;
	return strncmp(name, ".L", 2) != 0 && symbol->st_shndx < SHN_LORESERVE &&
	       gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) &&
	       section.sh_flags & SHF_EXECINSTR && symbol->st_value >= section.sh_addr &&
	       symbol->st_value - section.sh_addr < section.sh_size;
}

static bool is_function(Elf *elf, uint16_t machine, const GElf_Sym *symbol, const char *name)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_shndx == SHN_COMMON || !symbol->st_value || !name[0] ||
	    is_mapping_symbol(machine, name))
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return is_label_in_code(elf, symbol, name);
	default:
		return false;
	}
}

static uint8_t demerits_of(const GElf_Sym *symbol)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	unsigned demerits = 0;
	if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE)
		demerits |= DEMERIT_NO_TYPE;
	if (!symbol->st_size)
		demerits |= DEMERIT_NO_SIZE;
	if (binding == STB_WEAK)
		demerits |= DEMERIT_WEAK;
	if (binding == STB_LOCAL)
		demerits |= DEMERIT_LOCAL;
	return (uint8_t)demerits;
}

static bool is_of_ada(const char *name)
{
	static const char runtime[] = "__gnat_";
	return name[0] == '_' && name[1] == '_' && strncmp(name, runtime, sizeof(runtime) - 1) == 0;
}

static int add_table(struct elf_symbols *symbols, Elf *elf, Elf_Data *data, size_t nr,
		     struct string_table strings)
{
	GElf_Ehdr header;
	if (!gelf_getehdr(elf, &header) || symbols->nr_string_tables == STRING_TABLES_MAX)
		return 0;
	uint8_t strings_index = (uint8_t)symbols->nr_string_tables++;
	symbols->string_tables[strings_index] = strings;
	if (nr > SYMBOLS_MAX - symbols->symbols.nr)
		nr = SYMBOLS_MAX - symbols->symbols.nr;
	/* For all at once: growing would touch new memory again and again. */
	if (vec_reserve(&symbols->symbols, symbols->symbols.nr + nr))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_name >= strings.size)
			continue;
		symbols->by_ada = symbols->by_ada || is_of_ada(strings.bytes + symbol.st_name);
		if (!is_function(elf, header.e_machine, &symbol, strings.bytes + symbol.st_name))
			continue;
		symbols->symbols.items[symbols->symbols.nr++] = (struct elf_symbol){
			.address = symbol.st_value,
			.bytes =
				symbol.st_size < UINT32_MAX ? (uint32_t)symbol.st_size : UINT32_MAX,
			.name = symbol.st_name,
			.strings = strings_index,
			.demerits = demerits_of(&symbol),
		};
	}
	return 0;
}

/* The strings up to the last NUL, so that every offset below size begins one
 * that ends. */
static struct string_table read_strings(Elf *elf, uint32_t section_index)
{
	Elf_Scn *section = elf_getscn(elf, section_index);
	GElf_Shdr header;
	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_STRTAB)
		return (struct string_table){0};
	const Elf_Data *data = elf_getdata(section, NULL);
	const char *last = data && data->d_buf ? memrchr(data->d_buf, '\0', data->d_size) : NULL;
	if (!last)
		return (struct string_table){0};
	const char *bytes = data->d_buf;
	return (struct string_table){bytes, (size_t)(last - bytes) + 1};
}

int elf_symbols_add(struct elf_symbols *symbols, Elf *elf, uint32_t table_type)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != table_type ||
		    !header.sh_entsize)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		struct string_table strings = read_strings(elf, header.sh_link);
		if (!data || !data->d_buf || !strings.size)
			continue;
		int result = elf_bounds_add_code(&symbols->bounds, elf);
		if (!result)
			result = add_table(symbols, elf, data, data->d_size / header.sh_entsize,
					   strings);
		return result ? result : 1;
	}
	return 0;
}

int elf_symbols_add_unwind_table(struct elf_symbols *symbols, Elf *elf)
{
	int result = elf_bounds_add_code(&symbols->bounds, elf);
	symbols->code = elf;
	return result ? result : elf_bounds_add_unwind_table(&symbols->bounds, elf);
}

int elf_symbols_add_go_functions(struct elf_symbols *symbols, Elf *elf)
{
	struct go_functions functions;
	struct go_function function;
	size_t name_bytes = 0;
	if (!go_functions_open(&functions, elf))
		return 0;
	int result = elf_bounds_add_code(&symbols->bounds, elf);
	for (size_t i = 0; !result && i < functions.nr && name_bytes < STUB_NAMES_MAX_BYTES; i++) {
		if (!go_functions_get(&functions, i, &function))
			continue;
		const uint64_t bytes = function.end - function.start;
		name_bytes += strlen(function.name) + 1;
		result = elf_symbols_add_stub(symbols, function.start,
					      bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
					      function.name);
	}
	return result ? result : 1;
}

int elf_symbols_add_stub(struct elf_symbols *symbols, uint64_t address, uint32_t bytes,
			 const char *name)
{
	size_t size = strlen(name) + 1;
	size_t at = symbols->stub_names.nr;
	if (size > STUB_NAMES_MAX_BYTES - at || symbols->symbols.nr >= SYMBOLS_MAX)
		return 0;
	if (vec_reserve(&symbols->symbols, symbols->symbols.nr + 1) ||
	    vec_reserve(&symbols->stub_names, at + size))
		return -ENOMEM;
	memcpy(symbols->stub_names.items + at, name, size);
	symbols->stub_names.nr += size;
	symbols->symbols.items[symbols->symbols.nr++] = (struct elf_symbol){
		.address = address,
		.bytes = bytes,
		.name = (uint32_t)at,
		.strings = STUB_NAMES,
		.demerits = DEMERIT_NO_TYPE,
	};
	return 0;
}

/* ---- order ---- */

static bool is_better(const struct elf_symbols *symbols, const struct elf_symbol *a,
		      const struct elf_symbol *b)
{
	const struct symbol_choice choice_a = {name_of(symbols, a), a->demerits};
	const struct symbol_choice choice_b = {name_of(symbols, b), b->demerits};
	return symbol_choice_compare(&choice_a, &choice_b) < 0;
}

/* Of several at one address the best name stays, with the largest extent. */
static void drop_aliases(struct elf_symbols *symbols)
{
	struct elf_symbol *items = symbols->symbols.items;
	size_t kept = 0;
	for (size_t i = 1; i < symbols->symbols.nr; i++) {
		if (items[i].address != items[kept].address) {
			items[++kept] = items[i];
			continue;
		}
		uint32_t bytes =
			items[i].bytes > items[kept].bytes ? items[i].bytes : items[kept].bytes;
		if (is_better(symbols, &items[i], &items[kept]))
			items[kept] = items[i];
		items[kept].bytes = bytes;
	}
	symbols->symbols.nr = kept + 1;
}

/* A symbol without a size names only what no sized one covers: labels inside of
 * functions go. */
static void drop_covered_labels(struct elf_symbols *symbols)
{
	struct elf_symbol *items = symbols->symbols.items;
	uint64_t covered_end = 0;
	size_t kept = 0;
	for (size_t i = 0; i < symbols->symbols.nr; i++) {
		if (!items[i].bytes && items[i].address < covered_end)
			continue;
		if (items[i].bytes && end_of(&items[i]) > covered_end)
			covered_end = end_of(&items[i]);
		items[kept++] = items[i];
	}
	symbols->symbols.nr = kept;
}

/* A size that leaves the code it begins in is none. */
static void cut_at_code(struct elf_symbols *symbols)
{
	for (size_t i = 0; i < symbols->symbols.nr; i++) {
		struct elf_symbol *symbol = &symbols->symbols.items[i];
		const struct elf_range *code = elf_bounds_code(&symbols->bounds, symbol->address);
		if (code && end_of(symbol) > code->end)
			symbol->bytes = (uint32_t)(code->end - symbol->address);
	}
}

/* Whether there is code that no entry of the unwind table, and no symbol with a size, tells of. */
static bool has_unbounded_code(const struct elf_symbols *symbols)
{
	const struct elf_bounds *bounds = &symbols->bounds;
	const struct elf_symbol *items = symbols->symbols.items;
	size_t symbol = 0, entry = 0;
	uint64_t at = 0;
	for (size_t i = 0; i < bounds->code.nr; i++) {
		const uint64_t end = bounds->code.items[i].end;
		if (at < bounds->code.items[i].start) /* debug files say the same again */
			at = bounds->code.items[i].start;
		while (at < end) {
			for (;
			     entry < bounds->entries.nr && bounds->entries.items[entry].start <= at;
			     entry++)
				if (bounds->entries.items[entry].end > at)
					at = bounds->entries.items[entry].end;
			for (; symbol < symbols->symbols.nr &&
			       (!items[symbol].bytes || items[symbol].address <= at);
			     symbol++)
				if (items[symbol].bytes && end_of(&items[symbol]) > at)
					at = end_of(&items[symbol]);
			uint64_t next = end;
			if (entry < bounds->entries.nr && bounds->entries.items[entry].start < next)
				next = bounds->entries.items[entry].start;
			if (symbol < symbols->symbols.nr && items[symbol].address < next)
				next = items[symbol].address;
			if (next > at && next - at >= UNBOUNDED_BYTES)
				return true;
			if (next > at)
				at = next;
		}
	}
	return false;
}

static void extend_sizeless(struct elf_symbols *symbols)
{
	struct elf_symbol *items = symbols->symbols.items;
	for (size_t i = 0; i < symbols->symbols.nr; i++) {
		if (items[i].bytes)
			continue;
		uint64_t end = elf_bounds_end(&symbols->bounds, items[i].address);
		if (i + 1 < symbols->symbols.nr && items[i + 1].address < end)
			end = items[i + 1].address;
		uint64_t bytes = end - items[i].address;
		if (bytes > SIZELESS_MAX_BYTES &&
		    !elf_bounds_has_entry(&symbols->bounds, items[i].address)) {
			end = elf_references_after(&symbols->references, items[i].address);
			bytes = end - items[i].address;
		}
		items[i].bytes = bytes < SIZELESS_MAX_BYTES ? (uint32_t)bytes : SIZELESS_MAX_BYTES;
	}
}

/*
 * Functions may lie inside of others, or overlap. Each is linked to the last
 * one before it that was still open where it begins, so that a look-up that
 * falls behind the nearest function's end climbs to those around it.
 */
static void link_outer(struct elf_symbols *symbols)
{
	struct elf_symbol *items = symbols->symbols.items;
	uint32_t open = NO_SYMBOL;
	for (size_t i = 0; i < symbols->symbols.nr; i++) {
		while (open != NO_SYMBOL && end_of(&items[open]) <= items[i].address)
			open = items[open].outer;
		items[i].outer = open;
		open = (uint32_t)i;
	}
}

void elf_symbols_finish(struct elf_symbols *symbols)
{
	elf_bounds_finish(&symbols->bounds);
	if (symbols->symbols.nr) {
		sort_by_u64(symbols->symbols.items, symbols->symbols.nr,
			    sizeof(*symbols->symbols.items));
		drop_aliases(symbols);
		cut_at_code(symbols);
		drop_covered_labels(symbols);
		vec_give_back(&symbols->symbols);
	}
	/* Out of memory only means that functions without names are one. */
	if (symbols->code && has_unbounded_code(symbols))
		elf_references_read(&symbols->references, symbols->code);
	symbols->code = NULL;
	extend_sizeless(symbols);
	link_outer(symbols);
}

/* The last symbol at or before the address; NO_SYMBOL. */
static uint32_t last_before(const struct elf_symbols *symbols, uint64_t address)
{
	const struct elf_symbol *items = symbols->symbols.items;
	size_t low = 0, high = symbols->symbols.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? (uint32_t)(low - 1) : NO_SYMBOL;
}

bool elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, struct symbol_hit *hit)
{
	const struct elf_symbol *items = symbols->symbols.items;
	uint32_t at = last_before(symbols, address);
	for (int climbed = 0; at != NO_SYMBOL && climbed < NESTING_MAX; climbed++) {
		if (address < end_of(&items[at])) {
			*hit = (struct symbol_hit){
				.name = name_of(symbols, &items[at]),
				.start = items[at].address,
				.end = end_of(&items[at]),
				.by_ada = symbols->by_ada,
			};
			return true;
		}
		at = items[at].outer;
	}
	return false;
}

bool elf_symbols_bound(const struct elf_symbols *symbols, uint64_t address, uint64_t *start)
{
	const struct elf_symbol *items = symbols->symbols.items;
	if (!elf_bounds_code(&symbols->bounds, address) ||
	    (!symbols->symbols.nr && !symbols->bounds.entries.nr && !symbols->references.nr))
		return false;
	*start = elf_bounds_start(&symbols->bounds, address);
	const uint64_t referred = elf_references_before(&symbols->references, address);
	if (referred > *start && !elf_bounds_has_entry(&symbols->bounds, address))
		*start = referred;
	/* The symbol that ends last is the one before, or around that. */
	uint32_t at = last_before(symbols, address);
	for (int climbed = 0; at != NO_SYMBOL && climbed < NESTING_MAX; climbed++) {
		uint64_t end = end_of(&items[at]);
		if (end > *start && end <= address)
			*start = end;
		at = items[at].outer;
	}
	return true;
}

const char *elf_debuglink(Elf *elf)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_named(elf, ".gnu_debuglink", &header);
	if (!data || !data->d_buf || !memchr(data->d_buf, '\0', data->d_size))
		return "";
	return data->d_buf;
}
