/* SPDX-License-Identifier: MIT */
#include <ctop/elf/section.h>

#include <string.h>

bool elf_next_section(Elf *elf, struct named_section *at)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((at->section = elf_nextscn(elf, at->section))) {
		if (!gelf_getshdr(at->section, &at->header) || at->header.sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, at->header.sh_name);
		at->name = name ? name : "";
		return true;
	}
	return false;
}

Elf_Data *elf_section_named(Elf *elf, const char *name, Elf64_Shdr *header)
{
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		*header = at.header;
		if (!strcmp(at.name, name))
			return elf_getdata(at.section, NULL);
	}
	return NULL;
}
