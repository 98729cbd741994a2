/* SPDX-License-Identifier: MIT */
#include <ctop/elf/section.h>

#include <gelf.h>
#include <string.h>

Elf_Data *elf_section_named(Elf *elf, const char *name, Elf64_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, header) || header->sh_type == SHT_NOBITS)
			continue;
		const char *found = elf_strptr(elf, names, header->sh_name);
		if (found && strcmp(found, name) == 0)
			return elf_getdata(section, NULL);
	}
	return NULL;
}
