/* SPDX-License-Identifier: MIT */
#include "frame_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/elf/eh_scan.h>
#include <ctop/elf/section.h>

/* What a compressed section may claim to unpack to: Chromium's .debug_frame is 60 MB. */
#define DEBUG_FRAME_MAX_BYTES (UINT64_C(256) << 20)

int frame_table_open_eh(struct frame_table *table, Elf *elf)
{
	*table = (struct frame_table){0};
	table->cfi = dwarf_getcfi_elf(elf);
	if (table->cfi || frame_table_repair_eh(table, elf))
		return 0;
	return -ENOENT;
}

/* Shows libdw the same .eh_frame beside a lookup table made from the list. */
static int open_with_list(struct frame_table *table, Elf *elf, const struct fde_list *list,
			  const struct eh_sections *sections)
{
	GElf_Ehdr header;
	uint8_t *lookup;
	size_t lookup_bytes;
	if (!gelf_getehdr(elf, &header))
		return -EINVAL;
	int failure = fde_list_header(list, sections->frame_address, &lookup, &lookup_bytes);
	if (failure)
		return failure;
	/* libdw uses a lookup table only where it comes before what it leads to. */
	const struct elf_image_section copies[] = {
		{.name = ".eh_frame_hdr", .bytes = lookup, .size = lookup_bytes},
		{.name = ".eh_frame",
		 .address = sections->frame_address,
		 .bytes = sections->frame->d_buf,
		 .size = sections->frame->d_size},
	};
	struct frame_table opened = {0};
	failure = elf_image_init(&opened.image, &header, copies, 2);
	free(lookup);
	if (failure)
		return failure;
	opened.cfi = dwarf_getcfi_elf(opened.image.elf);
	if (!opened.cfi) {
		elf_image_release(&opened.image);
		return -EINVAL;
	}
	frame_table_release(table);
	*table = opened;
	return 0;
}

bool frame_table_repair_eh(struct frame_table *table, Elf *elf)
{
	struct eh_sections sections;
	struct fde_list list = {0};
	bool repaired = false;
	if (!eh_sections_find(elf, &sections))
		return false;
	if (fde_list_scan(&list, elf, &sections) == 0 && list.nr > 0 &&
	    !fde_list_agrees(&list, &sections))
		repaired = open_with_list(table, elf, &list, &sections) == 0;
	fde_list_release(&list);
	return repaired;
}

/* The section's bytes as they are in the file, compressed or not. */
static int find_debug_frame(Elf *elf, struct elf_image_section *found)
{
	struct named_section at = {0};
	while (elf_next_section(elf, &at)) {
		GElf_Chdr compression;
		const bool gnu_compressed = strcmp(at.name, ".zdebug_frame") == 0;
		if (!gnu_compressed && strcmp(at.name, ".debug_frame") != 0)
			continue;
		if ((at.header.sh_flags & SHF_COMPRESSED) &&
		    (!gelf_getchdr(at.section, &compression) ||
		     compression.ch_size > DEBUG_FRAME_MAX_BYTES))
			return -EFBIG;
		Elf_Data *data = elf_rawdata(at.section, NULL);
		if (!data || !data->d_buf || data->d_size == 0)
			return -EINVAL;
		*found = (struct elf_image_section){
			.name = gnu_compressed ? ".zdebug_frame" : ".debug_frame",
			.flags = at.header.sh_flags & SHF_COMPRESSED,
			.bytes = data->d_buf,
			.size = data->d_size,
		};
		return 0;
	}
	return -ENOENT;
}

int frame_table_open_debug(struct frame_table *table, Elf *elf)
{
	struct elf_image_section section;
	GElf_Ehdr header;
	*table = (struct frame_table){0};
	if (!gelf_getehdr(elf, &header))
		return -EINVAL;
	int failure = find_debug_frame(elf, &section);
	if (failure)
		return failure;
	failure = elf_image_init(&table->image, &header, &section, 1);
	if (failure)
		return failure;
	table->dwarf = dwarf_begin_elf(table->image.elf, DWARF_C_READ, NULL);
	if (table->dwarf)
		table->cfi = dwarf_getcfi(table->dwarf);
	if (!table->cfi) {
		frame_table_release(table);
		return -EINVAL;
	}
	return 0;
}

void frame_table_release(struct frame_table *table)
{
	if (table->cfi && !table->dwarf)
		dwarf_cfi_end(table->cfi);
	if (table->dwarf)
		dwarf_end(table->dwarf);
	elf_image_release(&table->image);
	*table = (struct frame_table){0};
}
