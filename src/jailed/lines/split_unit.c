/* SPDX-License-Identifier: MIT */
#include "split_unit.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_MAX = 1 << 16, ADDRESS_BYTES = 8 };

/* ---- the skeleton ---- */

static uint64_t number_of(Dwarf_Die *die, unsigned name, unsigned name_of_gnu)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (!dwarf_attr(die, name, &attribute) && !dwarf_attr(die, name_of_gnu, &attribute))
		return 0;
	return dwarf_formudata(&attribute, &value) ? 0 : value;
}

static const char *text_of(Dwarf_Die *die, unsigned name, unsigned name_of_gnu)
{
	Dwarf_Attribute attribute;
	if (!dwarf_attr(die, name, &attribute) && !dwarf_attr(die, name_of_gnu, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* A unit's id, if it is of that type. Of DWARF 4, too, libdw says so by what its entry has. */
static uint64_t id_of(Dwarf_Die *unit, uint8_t type)
{
	uint64_t id = 0;
	uint8_t is = 0;
	return !dwarf_cu_info(unit->cu, NULL, &is, NULL, NULL, &id, NULL, NULL) && is == type ? id
											      : 0;
}

struct split_skeleton split_skeleton_of(Dwarf_Die *unit)
{
	struct split_skeleton skeleton = {.id = id_of(unit, DW_UT_skeleton)};
	Dwarf_Addr base = 0;
	if (!skeleton.id)
		return skeleton;
	skeleton.base = dwarf_lowpc(unit, &base) ? 0 : base;
	skeleton.addresses_at = number_of(unit, DW_AT_addr_base, DW_AT_GNU_addr_base);
	skeleton.ranges_at = number_of(unit, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base);
	return skeleton;
}

struct split_names split_names_of(Dwarf_Die *unit)
{
	return (struct split_names){text_of(unit, DW_AT_dwo_name, DW_AT_GNU_dwo_name),
				    text_of(unit, DW_AT_comp_dir, DW_AT_comp_dir)};
}

/* ---- the unit, as the sections of a file ---- */

enum { ADDRESSES = NR_SPLIT_SECTIONS, RANGES, NAMES, NR_SECTIONS };

static const char section_names[] = "\0.debug_info\0.debug_abbrev\0.debug_str\0.debug_str_offsets\0"
				    ".debug_rnglists\0.debug_addr\0.debug_ranges\0.shstrtab";

struct split_unit {
	struct memory_elf made;
	Dwarf *dwarf;
	Dwarf_Off at; /* of its entry */
	Dwarf_Half version;
	struct section_bytes parts[NR_SECTIONS];
	uint64_t base;
};

/* The unit must say itself that it is the one: an index may say anything. */
static bool find_unit(struct split_unit *unit, uint64_t id)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	for (int i = 0; i < UNITS_MAX; i++, at = next) {
		Dwarf_Die die;
		if (dwarf_nextcu(unit->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) ||
		    next <= at)
			return false;
		unit->at = at + header_bytes;
		if (!dwarf_offdie(unit->dwarf, unit->at, &die) ||
		    id_of(&die, DW_UT_split_compile) != id)
			continue;
		uint8_t address_bytes = 0;
		return !dwarf_cu_info(die.cu, &unit->version, NULL, NULL, NULL, NULL,
				      &address_bytes, NULL) &&
		       address_bytes == ADDRESS_BYTES;
	}
	return false;
}

struct split_unit *split_unit_open(Elf *elf, Elf *program, const struct split_skeleton *skeleton)
{
	struct split_unit *unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->base = skeleton->base;
	bool is_open = skeleton->id && split_file_find(elf, skeleton->id, unit->parts);
	if (is_open && program) {
		unit->parts[ADDRESSES] = split_bytes_from(split_bytes_of(program, ".debug_addr"),
							  skeleton->addresses_at);
		unit->parts[RANGES] = split_bytes_from(split_bytes_of(program, ".debug_ranges"),
						       skeleton->ranges_at);
	}
	is_open = is_open && memory_elf_open(&unit->made, unit->parts, NR_SECTIONS, section_names,
					     sizeof(section_names));
	unit->dwarf = is_open ? dwarf_begin_elf(unit->made.elf, DWARF_C_READ, NULL) : NULL;
	if (unit->dwarf && find_unit(unit, skeleton->id))
		return unit;
	split_unit_free(unit);
	return NULL;
}

void split_unit_free(struct split_unit *unit)
{
	if (!unit)
		return;
	dwarf_end(unit->dwarf);
	memory_elf_close(&unit->made);
	free(unit);
}

bool split_unit_die_at(const struct split_unit *unit, Dwarf_Off at, Dwarf_Die *die)
{
	return dwarf_offdie(unit->dwarf, at, die) != NULL;
}

bool split_unit_die(const struct split_unit *unit, Dwarf_Die *die)
{
	return split_unit_die_at(unit, unit->at, die);
}

const uint8_t *split_unit_end(const struct split_unit *unit)
{
	return unit->parts[SPLIT_INFO].at + unit->parts[SPLIT_INFO].size;
}

/* ---- ranges ---- */

static bool take(struct section_bytes *bytes, void *value, size_t size)
{
	if (bytes->size < size)
		return false;
	memcpy(value, bytes->at, size);
	*bytes = split_bytes_from(*bytes, size);
	return true;
}

static bool take_uleb(struct section_bytes *bytes, uint64_t *value)
{
	uint8_t byte = 0x80;
	*value = 0;
	for (unsigned shift = 0; byte & 0x80; shift += 7) {
		if (!take(bytes, &byte, sizeof(byte)))
			return false;
		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
	}
	return true;
}

static bool take_index(const struct split_unit *unit, struct section_bytes *bytes,
		       uint64_t *address)
{
	uint64_t index;
	const struct section_bytes addresses = unit->parts[ADDRESSES];
	if (!take_uleb(bytes, &index) || index >= addresses.size / ADDRESS_BYTES)
		return false;
	memcpy(address, addresses.at + index * ADDRESS_BYTES, ADDRESS_BYTES);
	return true;
}

/* Where in .debug_rnglists the list of an index begins: DWARF 5, 7.28. */
static bool offset_of_list(const struct split_unit *unit, uint64_t index, uint64_t *offset)
{
	enum { HEADER_BYTES = 12, COUNT_AT = 8 };
	const struct section_bytes lists = unit->parts[SPLIT_RNGLISTS];
	uint32_t bytes, nr, in_list;
	if (lists.size < HEADER_BYTES)
		return false;
	memcpy(&bytes, lists.at, sizeof(bytes));
	memcpy(&nr, lists.at + COUNT_AT, sizeof(nr));
	if (bytes == UINT32_MAX || index >= nr ||
	    index >= (lists.size - HEADER_BYTES) / sizeof(in_list))
		return false;
	memcpy(&in_list, lists.at + HEADER_BYTES + index * sizeof(in_list), sizeof(in_list));
	*offset = HEADER_BYTES + (uint64_t)in_list;
	return true;
}

/* dwarf_formudata() knows no index into lists. */
static bool offset_of_ranges(const struct split_unit *unit, Dwarf_Attribute *attribute,
			     uint64_t *offset)
{
	const struct section_bytes info = unit->parts[SPLIT_INFO];
	Dwarf_Word value;
	if (attribute->form != DW_FORM_rnglistx) {
		const bool is_number = dwarf_formudata(attribute, &value) == 0;
		*offset = value;
		return is_number;
	}
	struct section_bytes form =
		split_bytes_from(info, (uint64_t)((const uint8_t *)attribute->valp - info.at));
	return take_uleb(&form, offset) && offset_of_list(unit, *offset, offset);
}

void split_ranges_begin(struct split_ranges *ranges, const struct split_unit *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr start, end;
	uint64_t offset;
	*ranges = (struct split_ranges){.unit = unit, .base = unit->base};
	if (dwarf_attr(die, DW_AT_ranges, &attribute)) {
		ranges->is_list = true;
		if (offset_of_ranges(unit, &attribute, &offset))
			ranges->rest = split_bytes_from(
				unit->parts[unit->version < 5 ? (int)RANGES : (int)SPLIT_RNGLISTS],
				offset);
	} else if (!dwarf_lowpc(die, &start) && !dwarf_highpc(die, &end)) {
		ranges->start = start;
		ranges->end = end;
	}
}

/* Of DWARF 4: pairs of addresses; the largest one says what the next ones are counted from. */
static bool next_pair(struct split_ranges *ranges, uint64_t *start, uint64_t *end)
{
	while (take(&ranges->rest, start, sizeof(*start)) &&
	       take(&ranges->rest, end, sizeof(*end)) && (*start || *end)) {
		if (*start != UINT64_MAX) {
			*start += ranges->base;
			*end += ranges->base;
			return true;
		}
		ranges->base = *end;
	}
	return false;
}

/* Of DWARF 5, 7.25. */
static bool next_of_list(struct split_ranges *ranges, uint64_t *start, uint64_t *end)
{
	const struct split_unit *unit = ranges->unit;
	struct section_bytes *rest = &ranges->rest;
	uint8_t kind;
	while (take(rest, &kind, sizeof(kind))) {
		switch (kind) {
		case DW_RLE_base_addressx:
			if (!take_index(unit, rest, &ranges->base))
				return false;
			break;
		case DW_RLE_base_address:
			if (!take(rest, &ranges->base, ADDRESS_BYTES))
				return false;
			break;
		case DW_RLE_startx_endx:
			return take_index(unit, rest, start) && take_index(unit, rest, end);
		case DW_RLE_startx_length:
			if (!take_index(unit, rest, start) || !take_uleb(rest, end))
				return false;
			*end += *start;
			return true;
		case DW_RLE_offset_pair:
			if (!take_uleb(rest, start) || !take_uleb(rest, end))
				return false;
			*start += ranges->base;
			*end += ranges->base;
			return true;
		case DW_RLE_start_end:
			return take(rest, start, ADDRESS_BYTES) && take(rest, end, ADDRESS_BYTES);
		case DW_RLE_start_length:
			if (!take(rest, start, ADDRESS_BYTES) || !take_uleb(rest, end))
				return false;
			*end += *start;
			return true;
		default: /* the end, or nothing that can be read */
			return false;
		}
	}
	return false;
}

bool split_ranges_next(struct split_ranges *ranges, uint64_t *start, uint64_t *end)
{
	if (ranges->is_list)
		return ranges->unit->version < 5 ? next_pair(ranges, start, end)
						 : next_of_list(ranges, start, end);
	*start = ranges->start;
	*end = ranges->end;
	ranges->start = ranges->end = 0;
	return *end > 0;
}
