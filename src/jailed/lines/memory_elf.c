/* SPDX-License-Identifier: MIT */
#include "memory_elf.h"

#include <gelf.h>
#include <string.h>

static bool add_section(Elf *elf, size_t name_at, struct section_bytes bytes, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_newscn(elf);
	Elf_Data *data = section ? elf_newdata(section) : NULL;
	if (!data || !gelf_getshdr(section, &header))
		return false;
	data->d_buf = (void *)(uintptr_t)bytes.at; /* nobody writes there */
	data->d_size = bytes.size;
	data->d_type = ELF_T_BYTE;
	data->d_align = 1;
	header.sh_name = (GElf_Word)name_at;
	header.sh_type = type;
	header.sh_size = bytes.size;
	header.sh_addralign = 1;
	return gelf_update_shdr(section, &header);
}

bool memory_elf_open(struct memory_elf *made, struct section_bytes *sections, size_t nr,
		     const char *names, size_t names_size)
{
	made->file.header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_EXEC, /* nothing is left to be relocated */
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(made->file.header),
		.e_shoff = sizeof(made->file.header),
		.e_shnum = 1,
		.e_shentsize = sizeof(made->file.none),
		.e_shstrndx = (Elf64_Half)nr,
	};
	made->elf = elf_memory((char *)&made->file, sizeof(made->file));
	sections[nr - 1] = (struct section_bytes){(const uint8_t *)names, names_size};
	bool is_made = made->elf != NULL;
	size_t name_at = 1;
	for (size_t i = 0; is_made && i < nr; i++) {
		/* libdw takes one without bytes for damage: it has no name. */
		is_made = add_section(made->elf, sections[i].size ? name_at : 0, sections[i],
				      i == nr - 1 ? SHT_STRTAB : SHT_PROGBITS);
		name_at += strlen(names + name_at) + 1;
	}
	return is_made;
}

void memory_elf_close(struct memory_elf *made)
{
	elf_end(made->elf);
	made->elf = NULL;
}
