/* SPDX-License-Identifier: MIT */
#include <ctop/object/object.h>

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "object_internal.h"

/* Functions that nobody called: the kernel, or a stack switch with nothing behind it, started them. */
static const char *const root_names[] = {
	"_start",	"_dl_start_user",	   "clone",	  "clone3",	  "__clone",
	"__clone3",	"_dlstart",		   "thread_start", "runtime.goexit",
	"runtime.rt0_go", "runtime.rt0_go.abi0", "runtime.mstart", "runtime.mstart.abi0",
	"runtime.goexit.abi0", "_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux", "ret_from_fork",
};

/* Go: these run their callee on another stack; what called them lies there (runtime/asm_amd64.s). */
static const char *const switch_names[] = {
	"runtime.systemstack",	    "runtime.systemstack.abi0",	"runtime.mcall",
	"runtime.mcall.abi0",	    "runtime.morestack",	"runtime.morestack.abi0",
	"runtime.asmcgocall",	    "runtime.asmcgocall.abi0",	"runtime.systemstack_switch",
	"runtime.cgocallback.abi0",
};

/* A symbol without a size reaches this far: the longest of these functions is shorter. */
enum { SIZELESS_BYTES = 64 };
/* The entry point is a few instructions that end in a call or a halt. */
enum { ENTRY_BYTES = 48 };

static bool is_among(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void add(struct ranges *ranges, uint64_t start, uint64_t bytes)
{
	uint64_t end = start + bytes;
	if (end <= start || vec_reserve(ranges, ranges->nr + 1))
		return;
	ranges->items[ranges->nr++] = (struct range){start, end};
}

static bool add_symbols(struct object *object, uint32_t section_type)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(object->elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != section_type ||
		    header.sh_entsize == 0)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		size_t nr = data ? data->d_size / header.sh_entsize : 0;
		for (size_t i = 0; i < nr; i++) {
			GElf_Sym symbol;
			if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
				continue;
			const char *name = elf_strptr(object->elf, header.sh_link, symbol.st_name);
			if (!name)
				continue;
			uint64_t bytes = symbol.st_size ? symbol.st_size : SIZELESS_BYTES;
			if (is_among(name, root_names, sizeof(root_names) / sizeof(*root_names)))
				add(&object->roots, symbol.st_value, bytes);
			else if (is_among(name, switch_names,
					  sizeof(switch_names) / sizeof(*switch_names)))
				add(&object->switches, symbol.st_value, bytes);
		}
		return nr > 0;
	}
	return false;
}

static void read_symbols(struct object *object)
{
	if (object->symbols_read)
		return;
	object->symbols_read = true;
	if (object->entry)
		add(&object->roots, object->entry, ENTRY_BYTES);
	if (!add_symbols(object, SHT_SYMTAB))
		add_symbols(object, SHT_DYNSYM);
}

static bool contains(const struct ranges *ranges, uint64_t address)
{
	for (size_t i = 0; i < ranges->nr; i++)
		if (address >= ranges->items[i].start && address < ranges->items[i].end)
			return true;
	return false;
}

bool object_is_root(struct object *object, uint64_t elf_address)
{
	read_symbols(object);
	return contains(&object->roots, elf_address);
}

bool object_is_stack_switch(struct object *object, uint64_t elf_address)
{
	read_symbols(object);
	return contains(&object->switches, elf_address);
}
