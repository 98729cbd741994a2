/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_MEMORY_ELF_H
#define CTOP_LINES_MEMORY_ELF_H

/* An ELF file that is none on disk: sections whose bytes lie anywhere in memory, for libdw. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

struct section_bytes {
	const uint8_t *at;
	size_t size; /* 0: there are none */
};

struct memory_elf {
	/* All that stands in a file: libelf adds sections to one that has any. */
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr none;
	} file;
	Elf *elf; /* NULL: none */
};

/*
 * names: of the sections, in their order, each behind a 0, as a table of strings begins with one; .shstrtab, which has them, is the last. Neither the sections' bytes nor *made
 * may move before memory_elf_close(), which is due in any case. False: out of memory.
 */
bool memory_elf_open(struct memory_elf *made, struct section_bytes *sections, size_t nr,
		     const char *names, size_t names_size);
void memory_elf_close(struct memory_elf *made);

#endif
