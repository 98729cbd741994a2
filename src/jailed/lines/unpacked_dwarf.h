/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_UNPACKED_DWARF_H
#define CTOP_LINES_UNPACKED_DWARF_H

/*
 * The sections of a file's DWARF that lines and inlined functions need, unpacked: libdw would unpack all, those of variables, too, and by zlib, which takes more than twice
 * as long as libdeflate where that is installed. Whether what they claim to unpack to is bearable was looked at before (elf_dwarf.h). The bytes are untrusted.
 */

#include <libelf.h>

/* Before the jail: libraries are loaded. */
void unpacked_dwarf_prepare(void);

struct unpacked_dwarf;
/* NULL: nothing is compressed, or not as one section of an ELF file of 64 bits is, or it is damaged, or there is no memory. The file must outlive it. */
struct unpacked_dwarf *unpacked_dwarf_new(Elf *elf);
void unpacked_dwarf_free(struct unpacked_dwarf *unpacked); /* NULL is fine */
/* A file of those sections alone. */
Elf *unpacked_dwarf_elf(const struct unpacked_dwarf *unpacked);

#endif
