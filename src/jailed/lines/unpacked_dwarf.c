/* SPDX-License-Identifier: MIT */
#include "unpacked_dwarf.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <ctop/base/library.h>
#include <ctop/elf/section.h>

#include "memory_elf.h"

static const char section_names[] =
	"\0.debug_info\0.debug_types\0.debug_abbrev\0.debug_line\0.debug_str\0.debug_line_str"
	"\0.debug_str_offsets\0.debug_addr\0.debug_ranges\0.debug_rnglists\0.shstrtab";
enum { NR_SECTIONS = 11 };

struct unpacked_dwarf {
	struct memory_elf made;
	struct section_bytes sections[NR_SECTIONS];
	uint8_t *unpacked[NR_SECTIONS]; /* of these what was compressed; NULL: it was not */
};

/* ---- libdeflate: its header need not be there where ctop is built ---- */

struct libdeflate_decompressor;
static struct {
	struct libdeflate_decompressor *(*alloc)(void);
	void (*free)(struct libdeflate_decompressor *decompressor);
	/* The length got may be NULL: then it is an error that it is another one than asked for. 0: fine. */
	int (*unpack)(struct libdeflate_decompressor *decompressor, const void *in, size_t in_size,
		      void *out, size_t out_size, size_t *got);
} libdeflate;

void unpacked_dwarf_prepare(void)
{
	void *library = library_load("libdeflate.so.0");
	if (!library ||
	    !library_find(library, "libdeflate_alloc_decompressor", &libdeflate.alloc) ||
	    !library_find(library, "libdeflate_free_decompressor", &libdeflate.free) ||
	    !library_find(library, "libdeflate_zlib_decompress", &libdeflate.unpack))
		libdeflate.alloc = NULL;
}

static bool unpack_by_libdeflate(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
	struct libdeflate_decompressor *decompressor = libdeflate.alloc();
	if (!decompressor)
		return false;
	const int result = libdeflate.unpack(decompressor, in, in_size, out, out_size, NULL);
	libdeflate.free(decompressor);
	return result == 0;
}

static bool unpack_by_zlib(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
	uLongf got = out_size;
	return uncompress(out, &got, in, in_size) == Z_OK && got == out_size;
}

/* ---- sections ---- */

/* Its place in the names; NR_SECTIONS: it is not needed. */
static size_t place_of(const char *name)
{
	const char *at = section_names + 1;
	for (size_t i = 0; i < NR_SECTIONS - 1; i++, at += strlen(at) + 1)
		if (!strcmp(at, name))
			return i;
	return NR_SECTIONS;
}

static bool unpack(struct unpacked_dwarf *unpacked, size_t place, Elf_Scn *section,
		   const Elf_Data *data)
{
	GElf_Chdr packed;
	const size_t header_bytes = sizeof(Elf64_Chdr);
	if (!gelf_getchdr(section, &packed) || packed.ch_type != ELFCOMPRESS_ZLIB ||
	    data->d_size < header_bytes || !packed.ch_size)
		return false;
	const uint8_t *in = (const uint8_t *)data->d_buf + header_bytes;
	const size_t in_size = data->d_size - header_bytes, size = packed.ch_size;
	uint8_t *out = unpacked->unpacked[place] = malloc(size);
	if (!out ||
	    !(libdeflate.alloc ? unpack_by_libdeflate : unpack_by_zlib)(in, in_size, out, size))
		return false;
	unpacked->sections[place] = (struct section_bytes){out, size};
	return true;
}

static bool take_section(struct unpacked_dwarf *unpacked, const struct named_section *at)
{
	const size_t place = place_of(at->name);
	if (place == NR_SECTIONS)
		return true;
	const Elf_Data *data = elf_rawdata(at->section, NULL);
	if (!data || !data->d_buf || unpacked->sections[place].size)
		return false;
	if (at->header.sh_flags & SHF_COMPRESSED)
		return unpack(unpacked, place, at->section, data);
	unpacked->sections[place] = (struct section_bytes){data->d_buf, data->d_size};
	return true;
}

/* False: something is damaged, or of an older kind, which is left to libdw. */
static bool take_sections(struct unpacked_dwarf *unpacked, Elf *elf)
{
	bool is_any_packed = false;
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		if (!take_section(unpacked, &at))
			return false;
		is_any_packed |= at.header.sh_flags & SHF_COMPRESSED;
	}
	/* .debug_info may be packed the old way. */
	return is_any_packed && unpacked->sections[0].size;
}

/* Of files that are still to be relocated libdw knows how. */
static bool is_of_this_kind(Elf *elf)
{
	GElf_Ehdr header;
	return gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

struct unpacked_dwarf *unpacked_dwarf_new(Elf *elf)
{
	struct unpacked_dwarf *unpacked = calloc(1, sizeof(*unpacked));
	if (unpacked && is_of_this_kind(elf) && take_sections(unpacked, elf) &&
	    memory_elf_open(&unpacked->made, unpacked->sections, NR_SECTIONS, section_names,
			    sizeof(section_names)))
		return unpacked;
	unpacked_dwarf_free(unpacked);
	return NULL;
}

void unpacked_dwarf_free(struct unpacked_dwarf *unpacked)
{
	if (!unpacked)
		return;
	memory_elf_close(&unpacked->made);
	for (size_t i = 0; i < NR_SECTIONS; i++)
		free(unpacked->unpacked[i]);
	free(unpacked);
}

Elf *unpacked_dwarf_elf(const struct unpacked_dwarf *unpacked)
{
	return unpacked->made.elf;
}
