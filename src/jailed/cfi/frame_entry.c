/* SPDX-License-Identifier: MIT */
#include "frame_entry.h"

#include <dwarf.h>

#include <ctop/elf/dwarf_bytes.h>

enum {
	LENGTH_BYTES = 4,
	POINTER_BYTES = 4,
	EXTENDED_LENGTH = -1, /* the 64-bit format: an eight-byte length follows */
	ENCODING_FORMAT = 0x0f,
	ENCODING_BASE = 0x70,
	AUGMENTATION_MAX = 8
};

struct cie {
	struct dwarf_bytes program;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t return_column;
	uint8_t encoding; /* of its FDEs' addresses */
};

bool frame_section_open(struct frame_section *section, Elf *elf)
{
	struct eh_sections found;
	*section = (struct frame_section){0};
	if (!eh_sections_find(elf, &found) || !found.frame->d_buf ||
	    !eh_lookup_find(&found, &section->lookup))
		return false;
	section->bytes = found.frame->d_buf;
	section->size = found.frame->d_size;
	section->address = found.frame_address;
	return section->size <= INT32_MAX;
}

/* The entry at an offset, behind its length and as long as that says; *id is what follows the length, at *id_offset. */
static bool read_entry(const struct frame_section *section, uint64_t offset,
		       struct dwarf_bytes *entry, uint32_t *id, uint64_t *id_offset)
{
	if (offset >= section->size)
		return false;
	*entry = dwarf_bytes(section->bytes + offset, section->size - offset);
	const uint32_t length = (uint32_t)dwarf_fixed(entry, LENGTH_BYTES);
	if (entry->bad || length == (uint32_t)EXTENDED_LENGTH || length > dwarf_left(entry))
		return false;
	entry->end = entry->at + length;
	*id_offset = offset + LENGTH_BYTES;
	*id = (uint32_t)dwarf_fixed(entry, POINTER_BYTES);
	return !entry->bad;
}

/* Bytes of a pointer in this encoding; 0 for those that are not plain. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	default:
		return 0;
	}
}

static bool is_plain(uint8_t encoding)
{
	const uint8_t base = encoding & ENCODING_BASE;
	return pointer_bytes(encoding) && !(encoding & DW_EH_PE_indirect) &&
	       (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel);
}

static uint64_t read_pointer(struct dwarf_bytes *bytes, uint8_t encoding)
{
	const size_t size = pointer_bytes(encoding);
	const uint64_t value = dwarf_fixed(bytes, size);
	const bool is_narrow = size == 4 && (encoding & ENCODING_FORMAT) == DW_EH_PE_sdata4;
	return is_narrow ? (uint64_t)(int64_t)(int32_t)value : value;
}

/* "zR", "zPLR" and the like; data is what they describe. Signal frames ('S') are few. */
static bool read_augmentation(const char *letters, struct dwarf_bytes data, uint8_t *encoding)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			*encoding = dwarf_u8(&data);
			break;
		case 'P': {
			const uint8_t personality = dwarf_u8(&data);
			const size_t size = pointer_bytes(personality);
			if (!size || (personality & ENCODING_BASE) == DW_EH_PE_aligned)
				return false;
			dwarf_skip(&data, size);
			break;
		}
		case 'L':
			dwarf_u8(&data);
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
			break;
		default:
			return false;
		}
	}
	return !data.bad && is_plain(*encoding);
}

static bool read_cie(const struct frame_section *section, uint64_t offset, struct cie *cie)
{
	struct dwarf_bytes bytes;
	char letters[AUGMENTATION_MAX];
	size_t nr_letters = 0;
	uint32_t id;
	uint64_t id_offset;
	if (!read_entry(section, offset, &bytes, &id, &id_offset) || id != 0)
		return false;
	const uint8_t version = dwarf_u8(&bytes);
	do {
		if (nr_letters == AUGMENTATION_MAX)
			return false;
		letters[nr_letters] = (char)dwarf_u8(&bytes);
	} while (letters[nr_letters++]);
	cie->code_factor = dwarf_uleb(&bytes);
	cie->data_factor = dwarf_sleb(&bytes);
	cie->return_column =
		dwarf_u8(&bytes); /* in version 3 a LEB128: of one byte, as of real columns */
	cie->encoding = DW_EH_PE_absptr;
	if ((version != 1 && version != 3) || letters[0] != 'z' || cie->return_column > 0x7f)
		return false;
	const uint64_t size = dwarf_uleb(&bytes);
	const uint8_t *data = bytes.at;
	dwarf_skip(&bytes, size);
	cie->program = bytes;
	return !bytes.bad &&
	       read_augmentation(letters + 1, dwarf_bytes(data, size), &cie->encoding);
}

static bool read_fde(const struct frame_section *section, uint64_t offset, uint64_t address,
		     struct frame_entry *entry)
{
	struct dwarf_bytes bytes;
	struct cie cie;
	uint32_t distance;
	uint64_t distance_offset;
	if (!read_entry(section, offset, &bytes, &distance, &distance_offset) || distance == 0 ||
	    distance > distance_offset || !read_cie(section, distance_offset - distance, &cie))
		return false;
	const bool is_relative = (cie.encoding & ENCODING_BASE) == DW_EH_PE_pcrel;
	const uint64_t base =
		is_relative ? section->address + (uint64_t)(bytes.at - section->bytes) : 0;
	const uint64_t start = base + read_pointer(&bytes, cie.encoding);
	const uint64_t end = start + read_pointer(&bytes, cie.encoding);
	dwarf_skip(&bytes, dwarf_uleb(&bytes));
	*entry = (struct frame_entry){
		.start = start,
		.end = end,
		.section = section->bytes,
		.initial = cie.program.at,
		.initial_bytes = dwarf_left(&cie.program),
		.program = bytes.at,
		.end_of_program = bytes.end,
		.code_factor = cie.code_factor,
		.data_factor = cie.data_factor,
		.return_column = cie.return_column,
	};
	return !bytes.bad && start <= address && address < end;
}

bool frame_section_find(const struct frame_section *section, uint64_t address,
			struct frame_entry *entry)
{
	const uint8_t *rows = section->lookup.rows;
	const int64_t wanted = (int64_t)(address - section->lookup.address);
	size_t low = 0, high = section->lookup.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		int32_t start;
		memcpy(&start, rows + middle * EH_LOOKUP_ROW_BYTES, sizeof(start));
		if (wanted < start)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0)
		return false;
	int32_t distance;
	memcpy(&distance, rows + (low - 1) * EH_LOOKUP_ROW_BYTES + EH_LOOKUP_ROW_BYTES / 2,
	       sizeof(distance));
	const uint64_t at = section->lookup.address + (uint64_t)(int64_t)distance;
	return read_fde(section, at - section->address, address, entry);
}
