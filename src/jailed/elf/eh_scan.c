/* SPDX-License-Identifier: MIT */
#include <ctop/elf/eh_scan.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/sort.h>
#include <ctop/base/vec.h>
#include <ctop/elf/section.h>

/* The header all linkers write: eh_frame_ptr pcrel, count absolute, table relative to the header. */
enum { HEADER_BYTES = 12 };
static const uint8_t usual_header[4] = {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					DW_EH_PE_datarel | DW_EH_PE_sdata4};

static bool find_by_sections(Elf *elf, struct eh_sections *sections)
{
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		if (strcmp(at.name, ".eh_frame") == 0) {
			sections->frame = elf_rawdata(at.section, NULL);
			sections->frame_address = at.header.sh_addr;
		} else if (strcmp(at.name, ".eh_frame_hdr") == 0) {
			sections->header = elf_rawdata(at.section, NULL);
			sections->header_address = at.header.sh_addr;
		}
	}
	return sections->frame != NULL;
}

/* Without section headers only a usual .eh_frame_hdr says where .eh_frame starts; it ends with its segment. */
static bool find_by_segment(Elf *elf, struct eh_sections *sections)
{
	size_t nr;
	GElf_Phdr segment, found = {.p_type = PT_NULL};
	if (elf_getphdrnum(elf, &nr) != 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME)
			found = segment;
	if (found.p_type == PT_NULL || found.p_filesz < HEADER_BYTES)
		return false;
	Elf_Data *header =
		elf_getdata_rawchunk(elf, (int64_t)found.p_offset, found.p_filesz, ELF_T_BYTE);
	if (!header || header->d_size < HEADER_BYTES ||
	    memcmp(header->d_buf, usual_header, sizeof(usual_header)) != 0)
		return false;
	int32_t relative;
	memcpy(&relative, (const uint8_t *)header->d_buf + 4, sizeof(relative));
	uint64_t address = found.p_vaddr + 4 + (uint64_t)(int64_t)relative;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		uint64_t skip = address - segment.p_vaddr;
		sections->frame = elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + skip),
						       segment.p_filesz - skip, ELF_T_BYTE);
		sections->frame_address = address;
		sections->header = header;
		sections->header_address = found.p_vaddr;
		return sections->frame != NULL;
	}
	return false;
}

bool eh_sections_find(Elf *elf, struct eh_sections *sections)
{
	*sections = (struct eh_sections){0};
	return find_by_sections(elf, sections) || find_by_segment(elf, sections);
}

bool eh_lookup_find(const struct eh_sections *sections, struct eh_lookup *lookup)
{
	const Elf_Data *header = sections->header;
	int32_t frame;
	uint32_t nr;
	if (!header || !header->d_buf || header->d_size < HEADER_BYTES ||
	    memcmp(header->d_buf, usual_header, sizeof(usual_header)) != 0)
		return false;
	const uint8_t *bytes = header->d_buf;
	memcpy(&frame, bytes + 4, sizeof(frame));
	memcpy(&nr, bytes + 8, sizeof(nr));
	*lookup = (struct eh_lookup){
		.rows = bytes + HEADER_BYTES,
		.nr = nr,
		.address = sections->header_address,
	};
	return lookup->address + 4 + (uint64_t)(int64_t)frame == sections->frame_address &&
	       (header->d_size - HEADER_BYTES) / EH_LOOKUP_ROW_BYTES >= nr;
}

void eh_lookup_get(const struct eh_lookup *lookup, size_t index, uint64_t *start, uint64_t *address)
{
	int32_t relative[2];
	memcpy(relative, lookup->rows + index * EH_LOOKUP_ROW_BYTES, sizeof(relative));
	*start = lookup->address + (uint64_t)(int64_t)relative[0];
	*address = lookup->address + (uint64_t)(int64_t)relative[1];
}

/* Bytes of a pointer in this encoding; 0 for the ones of variable or unknown length. */
static size_t encoded_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

/* Reads size bytes, extended by their sign when the encoding has one. */
static uint64_t read_encoded(const uint8_t *at, uint8_t encoding, size_t size)
{
	uint64_t value = 0;
	memcpy(&value, at, size);
	bool negative = (encoding & DW_EH_PE_signed) && (value >> (size * 8 - 1) & 1);
	return negative && size < 8 ? value | UINT64_MAX << (size * 8) : value;
}

/* The encoding of its FDEs' addresses, from a CIE's augmentation; DW_EH_PE_omit when not understood. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
	const char *letter = cie->augmentation;
	const uint8_t *data = cie->augmentation_data, *end = data + cie->augmentation_data_size;
	if (!letter || *letter == '\0')
		return DW_EH_PE_absptr;
	if (*letter++ != 'z' || !data)
		return DW_EH_PE_omit;
	for (; *letter; letter++) {
		if (*letter == 'S' || *letter == 'B')
			continue;
		if (data >= end)
			return DW_EH_PE_omit;
		uint8_t encoding = *data++;
		if (*letter == 'R')
			return encoding;
		if (*letter == 'P') {
			size_t size = encoded_bytes(encoding);
			if (size == 0 || (size_t)(end - data) < size)
				return DW_EH_PE_omit;
			data += size;
		} else if (*letter != 'L') {
			return DW_EH_PE_omit;
		}
	}
	return DW_EH_PE_absptr;
}

static uint8_t encoding_of(struct fde_reader *reader, const Dwarf_FDE *fde)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	if (fde->CIE_pointer != reader->cie_offset) {
		reader->cie_offset = fde->CIE_pointer;
		reader->encoding = DW_EH_PE_omit;
		if (dwarf_next_cfi(reader->ident, reader->sections->frame, true, fde->CIE_pointer,
				   &next, &entry) == 0 &&
		    dwarf_cfi_cie_p(&entry))
			reader->encoding = cie_encoding(&entry.cie);
	}
	return reader->encoding;
}

/* Decodes what an FDE covers; false when that is nothing or could not be understood. */
static bool decode(struct fde_reader *reader, const Dwarf_FDE *fde, struct fde_entry *covered)
{
	uint8_t encoding = encoding_of(reader, fde);
	size_t size = encoding == DW_EH_PE_omit ? 0 : encoded_bytes(encoding);
	if (size == 0 || (size_t)(fde->end - fde->start) < 2 * size)
		return false;
	const uint8_t *frame = reader->sections->frame->d_buf;
	uint64_t start = read_encoded(fde->start, encoding, size);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		start += reader->sections->frame_address + (uint64_t)(fde->start - frame);
	else if ((encoding & 0x70) != DW_EH_PE_absptr)
		return false;
	/* The length is encoded like the start, but relative to nothing. */
	uint64_t bytes = read_encoded(fde->start + size, encoding & 0x07, size);
	covered->start = start;
	covered->end = start + bytes < start ? UINT64_MAX : start + bytes;
	return bytes != 0;
}

/* The entry at an offset of .eh_frame, and where the next one is. 1: *found has it; 0: another kind, or not understood; -1: that was all. */
static int read_entry(struct fde_reader *reader, uint64_t offset, uint64_t *next,
		      struct fde_entry *found)
{
	Dwarf_CFI_Entry entry;
	const int status =
		dwarf_next_cfi(reader->ident, reader->sections->frame, true, offset, next, &entry);
	if (status > 0 || *next <= offset)
		return -1;
	if (status < 0 || dwarf_cfi_cie_p(&entry) || !decode(reader, &entry.fde, found))
		return 0;
	found->address = reader->sections->frame_address + offset;
	return 1;
}

void fde_reader_init(struct fde_reader *reader, Elf *elf, const struct eh_sections *sections)
{
	*reader = (struct fde_reader){
		.ident = (const unsigned char *)elf_getident(elf, NULL),
		.sections = sections,
		.cie_offset = UINT64_MAX,
	};
}

bool fde_reader_get(struct fde_reader *reader, uint64_t address, struct fde_entry *found)
{
	uint64_t next = 0;
	return reader->ident && address >= reader->sections->frame_address &&
	       read_entry(reader, address - reader->sections->frame_address, &next, found) > 0;
}

int fde_list_scan(struct fde_list *list, Elf *elf, const struct eh_sections *sections)
{
	struct fde_reader reader;
	struct eh_lookup lookup;
	struct fde_entry found;
	uint64_t next = 0;
	int status = 0;
	/* As many as the file says, which its size bounds: growing would touch new memory again and again. */
	if (eh_lookup_find(sections, &lookup) && vec_reserve(list, lookup.nr))
		return -ENOMEM;
	fde_reader_init(&reader, elf, sections);
	for (uint64_t offset = 0; reader.ident && status >= 0; offset = next) {
		status = read_entry(&reader, offset, &next, &found);
		if (status <= 0)
			continue;
		if (vec_reserve(list, list->nr + 1))
			return -ENOMEM;
		list->items[list->nr++] = found;
	}
	sort_by_u64(list->items, list->nr, sizeof(*list->items));
	return 0;
}

void fde_list_release(struct fde_list *list)
{
	free(list->items);
	*list = (struct fde_list){0};
}

bool fde_list_agrees(const struct fde_list *list, const struct eh_sections *sections)
{
	struct eh_lookup lookup;
	if (!eh_lookup_find(sections, &lookup) || lookup.nr != list->nr)
		return false;
	for (size_t i = 0; i < lookup.nr; i++) {
		uint64_t start, address;
		eh_lookup_get(&lookup, i, &start, &address);
		if (start != list->items[i].start || address != list->items[i].address)
			return false;
	}
	return true;
}

int fde_list_header(const struct fde_list *list, uint64_t frame_address, uint8_t **bytes,
		    size_t *size)
{
	/* At address 0 "relative to the header" is absolute; eight bytes hold any address. */
	static const uint8_t encodings[4] = {1, DW_EH_PE_udata8, DW_EH_PE_udata4,
					     DW_EH_PE_datarel | DW_EH_PE_sdata8};
	if (list->nr > UINT32_MAX)
		return -E2BIG;
	uint32_t nr = (uint32_t)list->nr;
	*size = sizeof(encodings) + sizeof(frame_address) + sizeof(nr) +
		list->nr * 2 * sizeof(uint64_t);
	*bytes = malloc(*size);
	if (!*bytes)
		return -ENOMEM;
	uint8_t *at = *bytes;
	memcpy(at, encodings, sizeof(encodings));
	at += sizeof(encodings);
	memcpy(at, &frame_address, sizeof(frame_address));
	at += sizeof(frame_address);
	memcpy(at, &nr, sizeof(nr));
	at += sizeof(nr);
	for (size_t i = 0; i < list->nr; i++, at += 2 * sizeof(uint64_t)) {
		const uint64_t row[2] = {list->items[i].start, list->items[i].address};
		memcpy(at, row, sizeof(row));
	}
	return 0;
}
