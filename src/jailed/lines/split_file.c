/* SPDX-License-Identifier: MIT */
#include "split_file.h"

#include <gelf.h>
#include <string.h>

#include <ctop/elf/section.h>
#include <ctop/lines/elf_dwarf.h>

/* ---- sections ---- */

struct section_bytes split_bytes_of(Elf *elf, const char *name)
{
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		if (strcmp(at.name, name) != 0)
			continue;
		if (at.header.sh_flags & SHF_COMPRESSED && elf_compress(at.section, 0, 0) < 0)
			break;
		const Elf_Data *data = elf_getdata(at.section, NULL);
		if (!data || !data->d_buf)
			break;
		return (struct section_bytes){data->d_buf, data->d_size};
	}
	return (struct section_bytes){0};
}

struct section_bytes split_bytes_from(struct section_bytes bytes, uint64_t skipped)
{
	if (skipped >= bytes.size)
		return (struct section_bytes){0};
	return (struct section_bytes){bytes.at + skipped, bytes.size - (size_t)skipped};
}

static uint32_t u32_at(struct section_bytes bytes, size_t at)
{
	uint32_t value;
	memcpy(&value, bytes.at + at, sizeof(value));
	return value;
}

static uint64_t u64_at(struct section_bytes bytes, size_t at)
{
	uint64_t value;
	memcpy(&value, bytes.at + at, sizeof(value));
	return value;
}

/* ---- packages ---- */

/*
 * .debug_cu_index: DWARF 5, 7.3.5.3. Version 2 is GNU's, of DWARF 4 (https://gcc.gnu.org/wiki/DebugFissionDWP). A hash table of ids, the
 * rows that they have, then which section each column is of, where the parts of each row begin, and how large they are.
 */
enum { HEADER_BYTES = 16, VERSION_OF_GNU = 2, VERSION_OF_DWARF = 5, COLUMNS_MAX = 64 };

struct package {
	struct section_bytes index;
	uint32_t version, nr_columns, nr_rows, nr_slots;
	size_t rows_at, columns_at, offsets_at, sizes_at;
};

static bool open_package(struct package *package, Elf *elf)
{
	const struct section_bytes index = split_bytes_of(elf, ".debug_cu_index");
	if (index.size < HEADER_BYTES)
		return false;
	/* Of DWARF 5 it is two bytes, and two of padding. */
	*package = (struct package){
		.index = index,
		.version = u32_at(index, 0) & UINT16_MAX,
		.nr_columns = u32_at(index, 4),
		.nr_rows = u32_at(index, 8),
		.nr_slots = u32_at(index, 12),
	};
	if ((package->version != VERSION_OF_GNU && package->version != VERSION_OF_DWARF) ||
	    !package->nr_columns || package->nr_columns > COLUMNS_MAX || !package->nr_slots ||
	    package->nr_slots & (package->nr_slots - 1))
		return false;
	/* Of 32-bit numbers: no product or sum of these overflows. */
	const uint64_t row_bytes = sizeof(uint32_t) * (uint64_t)package->nr_columns;
	const uint64_t rows_at = HEADER_BYTES + sizeof(uint64_t) * (uint64_t)package->nr_slots;
	const uint64_t columns_at = rows_at + sizeof(uint32_t) * (uint64_t)package->nr_slots;
	const uint64_t offsets_at = columns_at + row_bytes;
	const uint64_t sizes_at = offsets_at + row_bytes * package->nr_rows;
	if (sizes_at + row_bytes * package->nr_rows > index.size)
		return false;
	package->rows_at = (size_t)rows_at;
	package->columns_at = (size_t)columns_at;
	package->offsets_at = (size_t)offsets_at;
	package->sizes_at = (size_t)sizes_at;
	return true;
}

/* The row of a unit, from 1; 0: it has none. */
static uint32_t row_of(const struct package *package, uint64_t id)
{
	const uint64_t mask = package->nr_slots - 1;
	uint64_t slot = id & mask;
	for (uint32_t i = 0; i < package->nr_slots; i++) {
		const uint32_t row =
			u32_at(package->index, package->rows_at + sizeof(uint32_t) * slot);
		if (!row)
			return 0;
		if (u64_at(package->index, HEADER_BYTES + sizeof(uint64_t) * slot) == id)
			return row <= package->nr_rows ? row : 0;
		slot = (slot + ((id >> 32 & mask) | 1)) & mask;
	}
	return 0;
}

/* Which section a column is of: DWARF 5, table 7.1; of GNU's version the numbers from 5 on are others. */
static enum split_section section_of(const struct package *package, uint32_t number)
{
	switch (number) {
	case 1:
		return SPLIT_INFO;
	case 3:
		return SPLIT_ABBREV;
	case 6:
		return SPLIT_STR_OFFSETS;
	case 8:
		return package->version == VERSION_OF_DWARF ? SPLIT_RNGLISTS : NR_SPLIT_SECTIONS;
	default:
		return NR_SPLIT_SECTIONS;
	}
}

/* Its part of each section; strings are common to all. What leads out of a section is not there. */
static void cut_to_row(const struct package *package, uint32_t row,
		       struct section_bytes parts[NR_SPLIT_SECTIONS])
{
	const size_t in_rows = sizeof(uint32_t) * package->nr_columns * (row - 1);
	bool has[NR_SPLIT_SECTIONS] = {[SPLIT_STR] = true};
	for (uint32_t i = 0; i < package->nr_columns; i++) {
		const size_t in_row = sizeof(uint32_t) * i;
		const enum split_section section =
			section_of(package, u32_at(package->index, package->columns_at + in_row));
		const uint32_t from =
			u32_at(package->index, package->offsets_at + in_rows + in_row);
		const uint32_t size = u32_at(package->index, package->sizes_at + in_rows + in_row);
		if (section == NR_SPLIT_SECTIONS || has[section])
			continue;
		has[section] = true;
		parts[section] = split_bytes_from(parts[section], from);
		parts[section].size = size <= parts[section].size ? size : 0;
	}
	for (int i = 0; i < NR_SPLIT_SECTIONS; i++)
		if (!has[i])
			parts[i].size = 0;
}

bool split_file_is_package(Elf *elf)
{
	Elf64_Shdr header;
	return elf_section_named(elf, ".debug_cu_index", &header) != NULL;
}

bool split_file_find(Elf *elf, uint64_t id, struct section_bytes parts[NR_SPLIT_SECTIONS])
{
	static const char *const names[NR_SPLIT_SECTIONS] = {
		[SPLIT_INFO] = ".debug_info.dwo",
		[SPLIT_ABBREV] = ".debug_abbrev.dwo",
		[SPLIT_STR] = ".debug_str.dwo",
		[SPLIT_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[SPLIT_RNGLISTS] = ".debug_rnglists.dwo",
	};
	struct package package;
	uint64_t unpacked_bytes;
	if (!elf_dwarf_split_is_bearable(elf, &unpacked_bytes))
		return false;
	for (int i = 0; i < NR_SPLIT_SECTIONS; i++)
		parts[i] = split_bytes_of(elf, names[i]);
	if (split_file_is_package(elf)) {
		const uint32_t row = open_package(&package, elf) ? row_of(&package, id) : 0;
		if (!row)
			return false;
		cut_to_row(&package, row, parts);
	}
	return parts[SPLIT_INFO].size && parts[SPLIT_ABBREV].size;
}
