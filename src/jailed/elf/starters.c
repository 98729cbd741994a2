/* SPDX-License-Identifier: MIT */
/*
 * The functions of glibc and musl that call a program's main() and a thread's function. A chain of frame pointers ends there: what
 * called them, _start and __clone3, sets up no frame. They have no name in what distributions ship, but whoever starts them
 * has: __libc_start_main() calls the one (or is it, before 2.34), pthread_create(), or what it calls, takes the address of the
 * other. musl takes the addresses of both, and comes without an unwind table: its functions end where the next symbol begins.
 * Only on x86-64: arm64's glibc has frame records up to its roots.
 */
#include <ctop/elf/object.h>

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/elf/eh_scan.h>

#include "object_internal.h"

/* pthread_create() of glibc 2.36 has 3,821 bytes, and calls 24 functions. */
enum { FUNCTION_BYTES_MAX = 16384, STARTERS_MAX = 256, FUNCTIONS_READ_MAX = 256 };
/* musl's pthread_create() takes two addresses of functions, of 79 bytes at most; __libc_start_main() one. */
enum { BARE_MAX = 8, BARE_BYTES_MAX = 256 };

struct search {
	struct object *object;
	struct fde_list functions;
	bool scanned;
	size_t nr_read;		     /* symbols may say anything, a million times */
	struct range bare[BARE_MAX]; /* starters that no unwind table knows */
	size_t nr_bare;
};

static void scan(struct search *search)
{
	struct eh_sections sections;
	if (!search->scanned && eh_sections_find(object_elf(search->object), &sections))
		fde_list_scan(&search->functions, object_elf(search->object), &sections);
	search->scanned = true;
}

static int compare_start(const void *key, const void *entry)
{
	const uint64_t start = *(const uint64_t *)key;
	const struct fde_entry *fde = entry;
	return (start > fde->start) - (start < fde->start);
}

/* The function that begins exactly there; NULL: none does. */
static const struct fde_entry *function_at(const struct search *search, uint64_t start)
{
	const struct fde_list *functions = &search->functions;
	return functions->nr ? bsearch(&start, functions->items, functions->nr,
				       sizeof(*functions->items), compare_start)
			     : NULL;
}

static void add_starter(struct object *object, uint64_t start, uint64_t end)
{
	if (object->starters.nr < STARTERS_MAX &&
	    !vec_reserve(&object->starters, object->starters.nr + 1))
		object->starters.items[object->starters.nr++] = (struct range){start, end};
}

/* call rel32 */
static bool is_call(const uint8_t *code, size_t at)
{
	return at >= 1 && code[at - 1] == 0xe8;
}

/* lea rel32(%rip), %r64 */
static bool is_address(const uint8_t *code, size_t at)
{
	return at >= 3 && (code[at - 3] & 0xfb) == 0x48 && code[at - 2] == 0x8d &&
	       (code[at - 1] & 0xc7) == 0x05;
}

/* Hands each address that the code from start to end refers to in that way to found(). */
static void each_reference(struct search *search, uint64_t start, uint64_t end,
			   bool (*is_wanted)(const uint8_t *code, size_t at),
			   void (*found)(struct search *search, uint64_t address))
{
	if (search->nr_read++ >= FUNCTIONS_READ_MAX)
		return;
	uint8_t *code = malloc(FUNCTION_BYTES_MAX);
	const size_t size = end - start < FUNCTION_BYTES_MAX ? end - start : FUNCTION_BYTES_MAX;
	const bool is_there = code && object_read(search->object, start, code, size);
	for (size_t at = 0; is_there && at + sizeof(int32_t) <= size; at++) {
		int32_t distance;
		memcpy(&distance, code + at, sizeof(distance));
		if (is_wanted(code, at))
			found(search, start + at + sizeof(distance) + (uint64_t)(int64_t)distance);
	}
	free(code);
}

static void take(struct search *search, uint64_t address)
{
	const struct fde_entry *function = function_at(search, address);
	if (function)
		add_starter(search->object, function->start, function->end);
}

static void take_addresses_in(struct search *search, uint64_t address)
{
	const struct fde_entry *function = function_at(search, address);
	if (function)
		each_reference(search, function->start, function->end, is_address, take);
}

static void take_bare(struct search *search, uint64_t address)
{
	const struct object *object = search->object;
	bool is_code = false;
	for (size_t i = 0; i < object->nr_segments && !is_code; i++)
		is_code =
			object->segments[i].executable &&
			address - object->segments[i].elf_address < object->segments[i].file_bytes;
	if (is_code && search->nr_bare < BARE_MAX)
		search->bare[search->nr_bare++] = (struct range){address, address + BARE_BYTES_MAX};
}

static void look_at(struct search *search, const char *name, const GElf_Sym *symbol)
{
	const uint64_t start = symbol->st_value, end = start + symbol->st_size;
	const bool is_main = strcmp(name, "__libc_start_main") == 0;
	const bool is_thread = strcmp(name, "pthread_create") == 0;
	if ((!is_main && !is_thread) || end <= start)
		return;
	scan(search);
	if (is_main)
		add_starter(search->object, start, end);
	if (!function_at(search, start)) {
		each_reference(search, start, end, is_address, take_bare);
	} else if (is_main) {
		each_reference(search, start, end, is_call, take);
	} else {
		each_reference(search, start, end, is_address, take);
		each_reference(search, start, end, is_call, take_addresses_in);
	}
}

static void end_bare_at(struct search *search, uint64_t address)
{
	for (size_t i = 0; i < search->nr_bare; i++)
		if (address > search->bare[i].start && address < search->bare[i].end)
			search->bare[i].end = address;
}

static void end_bare_before(struct search *search, const char *name, const GElf_Sym *symbol)
{
	(void)name;
	end_bare_at(search, symbol->st_value);
}

static void each_function_of(struct search *search, Elf_Scn *section, const GElf_Shdr *header,
			     void (*each)(struct search *search, const char *name,
					  const GElf_Sym *symbol))
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < nr && i <= INT_MAX; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol))
			return;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		const char *name =
			elf_strptr(object_elf(search->object), header->sh_link, symbol.st_name);
		if (name)
			each(search, name, &symbol);
	}
}

static void each_function(struct search *search,
			  void (*each)(struct search *search, const char *name,
				       const GElf_Sym *symbol))
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	while ((section = elf_nextscn(object_elf(search->object), section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			each_function_of(search, section, &header, each);
}

/* They end where anything else begins. */
static void add_bare(struct search *search)
{
	if (search->nr_bare)
		each_function(search, end_bare_before);
	for (size_t i = 0; i < search->nr_bare; i++)
		end_bare_at(search, search->bare[i].start);
	for (size_t i = 0; i < search->nr_bare; i++)
		add_starter(search->object, search->bare[i].start, search->bare[i].end);
}

static void find_starters(struct object *object)
{
	struct search search = {.object = object};
	object->starters_read = true;
	if (object_machine(object) != EM_X86_64)
		return;
	each_function(&search, look_at);
	add_bare(&search);
	fde_list_release(&search.functions);
}

bool object_starts_tasks(struct object *object, uint64_t elf_address)
{
	if (!object->starters_read)
		find_starters(object);
	for (size_t i = 0; i < object->starters.nr; i++)
		if (elf_address >= object->starters.items[i].start &&
		    elf_address < object->starters.items[i].end)
			return true;
	return false;
}
