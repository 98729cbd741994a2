/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_ELF_IMAGE_H
#define CTOP_CFI_ELF_IMAGE_H

/*
 * A little ELF file in memory that holds a few sections of another one. libdw
 * takes whole files only: this shows it the one section wanted (and spares it
 * decompressing the others), or a lookup table better than the file's own.
 */

#include <stddef.h>
#include <stdint.h>
#include <gelf.h>

struct elf_image_section {
	const char *name;
	uint64_t address;
	uint64_t flags; /* SHF_ */
	const void *bytes;
	size_t size;
};

enum { ELF_IMAGE_MAX_SECTIONS = 4 };

struct elf_image {
	Elf *elf;
	char *bytes;
};

/* A file of the same machine as model (64-bit, little-endian) with copies of the sections. 0 or -errno. */
int elf_image_init(struct elf_image *image, const GElf_Ehdr *model,
		   const struct elf_image_section *sections, size_t nr_sections);
void elf_image_release(struct elf_image *image); /* all zero is fine */

#endif
