/* SPDX-License-Identifier: MIT */
#include "elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

/* The largest program seen has a million functions. */
enum { SYMBOLS_MAX = 16 << 20 };

static Elf_Scn *find_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, header) || (type && header->sh_type != type))
			continue;
		const char *found = elf_strptr(elf, names, header->sh_name);
		if (!name || (found && strcmp(found, name) == 0))
			return section;
	}
	return NULL;
}

/* Lower is better: global before weak before local, functions before plain labels, then fewer underscores. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info), type = GELF_ST_TYPE(symbol->st_info);
	size_t underscores = strspn(name, "_");
	unsigned rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 16 : 32;
	if (type == STT_NOTYPE)
		rank += 64;
	return (uint8_t)(rank + (underscores < 15 ? underscores : 15));
}

static bool is_function(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value || !name[0])
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Labels of assembly; "$x" and the like are an Arm assembler's marks. */
	if (type != STT_NOTYPE || name[0] == '$' || symbol->st_shndx >= SHN_LORESERVE)
		return false;
	GElf_Shdr section;
	return gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) &&
	       section.sh_flags & SHF_EXECINSTR;
}

static int add_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       struct function_table *table)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, (int)i, &symbol))
			continue;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name || !is_function(elf, &symbol, name))
			continue;
		const struct function_entry entry = {
			.start = symbol.st_value,
			.bytes = symbol.st_size,
			.name = name,
			.rank = rank_of(&symbol, name),
		};
		if (function_table_add(table, &entry))
			return -ENOMEM;
	}
	return 0;
}

int elf_symbols_add(Elf *elf, struct function_table *table, bool *has_symtab)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, SHT_SYMTAB, NULL, &header);
	*has_symtab = section != NULL;
	if (!section)
		section = find_section(elf, SHT_DYNSYM, NULL, &header);
	return section ? add_symbols(elf, section, &header, table) : 0;
}

const char *elf_debuglink(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, 0, ".gnu_debuglink", &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf || !memchr(data->d_buf, '\0', data->d_size))
		return "";
	return data->d_buf;
}
