/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/kernel_debug.h>

#include <limits.h>
#include <string.h>
#include <gelf.h>

static bool find_text_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t *address)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Sym symbol;
	for (int i = 0; i < (int)(nr < INT_MAX ? nr : INT_MAX); i++) {
		if (!gelf_getsym(data, i, &symbol))
			return false;
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name || strcmp(name, "_text") != 0)
			continue;
		*address = symbol.st_value;
		return true;
	}
	return false;
}

static bool find_text(Elf *elf, uint64_t *address)
{
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB &&
		    find_text_in(elf, section, &header, address))
			return true;
	}
	return false;
}

bool kernel_debug_find(Elf *vmlinux, const struct kallsyms *kallsyms, struct kernel_debug *debug)
{
	uint64_t in_file;
	if (!kallsyms_text(kallsyms, &debug->start, &debug->end) || !find_text(vmlinux, &in_file))
		return false;
	debug->shift = in_file - debug->start;
	return true;
}

bool kernel_debug_address(const struct kernel_debug *debug, uint64_t address, uint64_t *elf_address)
{
	*elf_address = address + debug->shift;
	return address >= debug->start && address < debug->end;
}
