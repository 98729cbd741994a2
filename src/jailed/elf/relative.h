/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ELF_RELATIVE_H
#define CTOP_ELF_RELATIVE_H

/* Addresses that the loader puts into memory of a file that may lie anywhere, where the linker may have left it empty. */

#include <stdbool.h>
#include <stdint.h>

#include <libelf.h>

struct elf_relative {
	Elf *elf;
	Elf_Scn *section;
	Elf_Data *data; /* NULL: the next section's */
	uint16_t machine;
	int next, nr;
};

void elf_relative_init(struct elf_relative *relative, Elf *elf);
/* The next one: the elf address of what is put somewhere, and of where it is put. False: there are no more. */
bool elf_relative_next(struct elf_relative *relative, uint64_t *at, uint64_t *value);

#endif
