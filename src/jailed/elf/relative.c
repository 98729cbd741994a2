/* SPDX-License-Identifier: MIT */
#include "relative.h"

#include <gelf.h>
#include <limits.h>
#include <stddef.h>

void elf_relative_init(struct elf_relative *relative, Elf *elf)
{
	GElf_Ehdr header;
	*relative = (struct elf_relative){
		.elf = elf,
		.machine = gelf_getehdr(elf, &header) ? header.e_machine : EM_NONE,
	};
}

static bool is_relative(uint16_t machine, uint64_t type)
{
	return (machine == EM_X86_64 && type == R_X86_64_RELATIVE) ||
	       (machine == EM_AARCH64 && type == R_AARCH64_RELATIVE);
}

static bool next_section(struct elf_relative *relative)
{
	while ((relative->section = elf_nextscn(relative->elf, relative->section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(relative->section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		relative->data = elf_getdata(relative->section, NULL);
		const size_t nr = relative->data ? relative->data->d_size / sizeof(Elf64_Rela) : 0;
		relative->next = 0;
		relative->nr = nr < INT_MAX ? (int)nr : INT_MAX;
		return true;
	}
	return false;
}

bool elf_relative_next(struct elf_relative *relative, uint64_t *at, uint64_t *value)
{
	GElf_Rela found;
	do {
		while (relative->data && relative->next < relative->nr &&
		       gelf_getrela(relative->data, relative->next++, &found)) {
			if (!is_relative(relative->machine, GELF_R_TYPE(found.r_info)))
				continue;
			*at = found.r_offset;
			*value = (uint64_t)found.r_addend;
			return true;
		}
	} while (next_section(relative));
	return false;
}
