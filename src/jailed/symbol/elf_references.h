/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_ELF_REFERENCES_H
#define CTOP_SYMBOL_ELF_REFERENCES_H

/*
 * Where functions begin in code that neither symbols nor the unwind table tell of, as assemblers leave it: at what the file's
 * code calls, or takes the address of. Only aligned addresses count, as assembly calls labels inside of its functions, too. Of
 * x86-64; every byte is untrusted, and is read as a reference where it looks like one.
 */

#include <stddef.h>
#include <stdint.h>

#include <libelf.h>

struct elf_references {
	uint64_t *items; /* elf addresses, sorted */
	size_t nr, capacity;
};

/* Reads the code of a file, once. 0 or -ENOMEM. */
int elf_references_read(struct elf_references *references, Elf *elf);
void elf_references_release(struct elf_references *references);	      /* all zero is fine */
size_t elf_references_bytes(const struct elf_references *references); /* of heap */

/* The last at or before the address; 0: none. */
uint64_t elf_references_before(const struct elf_references *references, uint64_t address);
/* The first behind the address; UINT64_MAX: none. */
uint64_t elf_references_after(const struct elf_references *references, uint64_t address);

#endif
