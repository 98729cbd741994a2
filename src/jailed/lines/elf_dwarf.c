/* SPDX-License-Identifier: MIT */
#include <ctop/lines/elf_dwarf.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include <ctop/elf/section.h>

/* What compressed sections may claim to unpack to, together. */
#define UNPACKED_MAX_BYTES (UINT64_C(256) << 20)

/* .zdebug_*: "ZLIB", and what it unpacks to, as 8 bytes, big-endian. Of what else it may be libelf unpacks nothing. */
static uint64_t old_unpacked_bytes(Elf_Scn *section)
{
	static const char magic[] = {'Z', 'L', 'I', 'B'};
	const Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t bytes;
	if (!data || !data->d_buf || data->d_size < sizeof(magic) + sizeof(bytes) ||
	    memcmp(data->d_buf, magic, sizeof(magic)) != 0)
		return 0;
	memcpy(&bytes, (const char *)data->d_buf + sizeof(magic), sizeof(bytes));
	return be64toh(bytes);
}

static uint64_t unpacked_bytes_of(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr packed;
	uint64_t bytes = 0;
	if (header->sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &packed))
		bytes = packed.ch_size;
	else if (!strncmp(name, ".zdebug", 7))
		bytes = old_unpacked_bytes(section);
	return bytes < UNPACKED_MAX_BYTES ? bytes : UNPACKED_MAX_BYTES;
}

/* Whether there is a section of that name, or of its old one, and what is compressed is bounded. */
static bool is_bearable(Elf *elf, const char *info, const char *old_info, uint64_t *unpacked_bytes)
{
	uint64_t bytes = 0;
	bool has_dwarf = false;
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		has_dwarf = has_dwarf || !strcmp(at.name, info) || !strcmp(at.name, old_info);
		bytes += unpacked_bytes_of(at.section, &at.header, at.name);
		if (bytes >= UNPACKED_MAX_BYTES)
			return false;
	}
	*unpacked_bytes = bytes;
	return has_dwarf;
}

bool elf_dwarf_is_bearable(Elf *elf, uint64_t *unpacked_bytes)
{
	return is_bearable(elf, ".debug_info", ".zdebug_info", unpacked_bytes);
}

bool elf_dwarf_split_is_bearable(Elf *elf, uint64_t *unpacked_bytes)
{
	return is_bearable(elf, ".debug_info.dwo", ".debug_info.dwo", unpacked_bytes);
}

const char *elf_dwarf_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}
