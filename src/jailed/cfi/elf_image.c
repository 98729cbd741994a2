/* SPDX-License-Identifier: MIT */
#include "elf_image.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, NAMES_MAX_BYTES = 128 };

static const char names_section[] = ".shstrtab";

static size_t align(size_t offset)
{
	return (offset + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Appends a name to the string table at *used; returns its index there. */
static uint32_t add_name(char *names, size_t *used, const char *name)
{
	size_t size = strlen(name) + 1;
	assert(*used + size <= NAMES_MAX_BYTES);
	memcpy(names + *used, name, size);
	*used += size;
	return (uint32_t)(*used - size);
}

static void write_header(char *bytes, const GElf_Ehdr *model, size_t headers_at, size_t nr_headers)
{
	Elf64_Ehdr header = {
		.e_type = ET_DYN,
		.e_machine = model->e_machine,
		.e_version = EV_CURRENT,
		.e_shoff = headers_at,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (Elf64_Half)nr_headers,
		.e_shstrndx = (Elf64_Half)(nr_headers - 1),
	};
	memcpy(header.e_ident, model->e_ident, EI_NIDENT);
	memcpy(bytes, &header, sizeof(header));
}

int elf_image_init(struct elf_image *image, const GElf_Ehdr *model,
		   const struct elf_image_section *sections, size_t nr_sections)
{
	assert(nr_sections <= ELF_IMAGE_MAX_SECTIONS);
	if (model->e_ident[EI_CLASS] != ELFCLASS64 || model->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOTSUP;
	Elf64_Shdr headers[ELF_IMAGE_MAX_SECTIONS + 2] = {0}; /* the null section and the names */
	size_t nr_headers = nr_sections + 2;
	char names[NAMES_MAX_BYTES] = "";
	size_t names_used = 1;
	size_t size = align(sizeof(Elf64_Ehdr));
	for (size_t i = 0; i < nr_sections; i++) {
		headers[i + 1] = (Elf64_Shdr){
			.sh_name = add_name(names, &names_used, sections[i].name),
			.sh_type = SHT_PROGBITS,
			.sh_flags = sections[i].flags,
			.sh_addr = sections[i].address,
			.sh_offset = size,
			.sh_size = sections[i].size,
			.sh_addralign = 8,
		};
		size = align(size + sections[i].size);
	}
	uint32_t own_name = add_name(names, &names_used, names_section);
	headers[nr_headers - 1] = (Elf64_Shdr){
		.sh_name = own_name,
		.sh_type = SHT_STRTAB,
		.sh_offset = size,
		.sh_size = names_used,
		.sh_addralign = 1,
	};
	size_t headers_at = align(size + names_used);
	size = headers_at + nr_headers * sizeof(Elf64_Shdr);

	char *bytes = calloc(1, size);
	if (!bytes)
		return -ENOMEM;
	write_header(bytes, model, headers_at, nr_headers);
	for (size_t i = 0; i < nr_sections; i++)
		if (sections[i].size > 0)
			memcpy(bytes + headers[i + 1].sh_offset, sections[i].bytes,
			       sections[i].size);
	memcpy(bytes + headers[nr_headers - 1].sh_offset, names, names_used);
	memcpy(bytes + headers_at, headers, nr_headers * sizeof(Elf64_Shdr));

	Elf *elf = elf_memory(bytes, size);
	if (!elf) {
		free(bytes);
		return -EINVAL;
	}
	*image = (struct elf_image){.elf = elf, .bytes = bytes};
	return 0;
}

void elf_image_release(struct elf_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	free(image->bytes);
	*image = (struct elf_image){0};
}
