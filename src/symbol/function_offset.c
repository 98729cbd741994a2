/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/function_offset.h>

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <ctop/object/object.h>

/* A table that claims more is lying, and would take its time. */
enum { SYMBOLS_MAX = 8 << 20 };

struct match {
	const char *name;
	uint64_t address;
	bool found, global;
};

/* The string at an offset of a table, when it ends there. */
static const char *string_at(const Elf_Data *strings, size_t at)
{
	const char *bytes = strings->d_buf;
	if (!bytes || at >= strings->d_size || !memchr(bytes + at, '\0', strings->d_size - at))
		return NULL;
	return bytes + at;
}

static void match_symbol(struct match *match, const GElf_Sym *symbol, const Elf_Data *strings)
{
	const char *name = string_at(strings, symbol->st_name);
	bool global = GELF_ST_BIND(symbol->st_info) != STB_LOCAL;
	/* Of an indirect function the value is its resolver's: that is not what anybody calls. */
	if (!name || GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    strcmp(name, match->name) != 0 || (match->found && (match->global || !global)))
		return;
	match->address = symbol->st_value;
	match->found = true;
	match->global = global;
}

static void match_table(struct match *match, Elf *elf, uint32_t type)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != type || !header.sh_entsize)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		Elf_Scn *linked = elf_getscn(elf, header.sh_link);
		const Elf_Data *strings = linked ? elf_getdata(linked, NULL) : NULL;
		if (!data || !strings)
			continue;
		size_t nr = data->d_size / (size_t)header.sh_entsize;
		GElf_Sym symbol;
		for (int i = 0; i < (int)(nr < SYMBOLS_MAX ? nr : SYMBOLS_MAX); i++)
			if (gelf_getsym(data, i, &symbol))
				match_symbol(match, &symbol, strings);
	}
}

static int offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t nr = 0;
	if (elf_getphdrnum(elf, &nr))
		return -ENOEXEC;
	for (size_t i = 0; i < nr && i < INT16_MAX; i++) {
		GElf_Phdr segment;
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || address < segment.p_vaddr ||
		    address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return 0;
	}
	return -ENOENT;
}

int function_offset(int fd, const char *name, uint64_t *offset)
{
	struct error error;
	struct object *object = object_open(fd, &error);
	if (!object)
		return -ENOEXEC;
	struct match match = {.name = name};
	match_table(&match, object_elf(object), SHT_SYMTAB);
	if (!match.found)
		match_table(&match, object_elf(object), SHT_DYNSYM);
	int result = match.found ? offset_of(object_elf(object), match.address, offset) : -ENOENT;
	object_free(object);
	return result;
}
