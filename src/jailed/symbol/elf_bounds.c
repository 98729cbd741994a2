/* SPDX-License-Identifier: MIT */
#include "elf_bounds.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include <ctop/base/sort.h>
#include <ctop/base/vec.h>
#include <ctop/elf/eh_scan.h>

void elf_bounds_release(struct elf_bounds *bounds)
{
	free(bounds->code.items);
	free(bounds->entries.items);
	*bounds = (struct elf_bounds){0};
}

size_t elf_bounds_bytes(const struct elf_bounds *bounds)
{
	return (bounds->code.capacity + bounds->entries.capacity) * sizeof(struct elf_range);
}

/* ---- reading ---- */

static int add_range(struct elf_ranges *ranges, uint64_t start, uint64_t bytes)
{
	if (!bytes || bytes > UINT64_MAX - start)
		return 0;
	if (vec_reserve(ranges, ranges->nr + 1))
		return -ENOMEM;
	ranges->items[ranges->nr++] = (struct elf_range){start, start + bytes};
	return 0;
}

static int add_segments(struct elf_bounds *bounds, Elf *elf)
{
	size_t nr = 0;
	int result = 0;
	if (elf_getphdrnum(elf, &nr))
		return 0;
	for (size_t i = 0; !result && i < nr && i < INT16_MAX; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_flags & PF_X)
			result = add_range(&bounds->code, segment.p_vaddr, segment.p_filesz);
	}
	return result;
}

int elf_bounds_add_code(struct elf_bounds *bounds, Elf *elf)
{
	size_t known = bounds->code.nr;
	int result = 0;
	for (Elf_Scn *section = NULL; !result && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR)
			result = add_range(&bounds->code, header.sh_addr, header.sh_size);
	}
	return result || bounds->code.nr > known ? result : add_segments(bounds, elf);
}

/* As the lookup table lists them, in order. 1: done; 0: there is none that does; or -ENOMEM. */
static int add_by_lookup(struct elf_bounds *bounds, Elf *elf, const struct eh_sections *sections)
{
	const size_t known = bounds->entries.nr;
	struct eh_lookup lookup;
	struct fde_reader reader;
	if (!eh_lookup_find(sections, &lookup))
		return 0;
	if (vec_reserve(&bounds->entries, known + lookup.nr))
		return -ENOMEM;
	fde_reader_init(&reader, elf, sections);
	for (size_t i = 0; i < lookup.nr; i++) {
		struct fde_entry entry;
		uint64_t start, address;
		eh_lookup_get(&lookup, i, &start, &address);
		const size_t nr = bounds->entries.nr;
		const uint64_t before = nr > known ? bounds->entries.items[nr - 1].start : 0;
		if (start < before || !fde_reader_get(&reader, address, &entry) ||
		    entry.start != start) {
			bounds->entries.nr = known;
			return 0;
		}
		bounds->entries.items[bounds->entries.nr++] =
			(struct elf_range){entry.start, entry.end};
	}
	return 1;
}

int elf_bounds_add_unwind_table(struct elf_bounds *bounds, Elf *elf)
{
	struct eh_sections sections;
	struct fde_list list = {0};
	if (!eh_sections_find(elf, &sections))
		return 0;
	int result = add_by_lookup(bounds, elf, &sections);
	if (result)
		return result < 0 ? result : 0;
	result = fde_list_scan(&list, elf, &sections);
	if (!result)
		result = vec_reserve(&bounds->entries, bounds->entries.nr + list.nr);
	for (size_t i = 0; !result && i < list.nr; i++)
		bounds->entries.items[bounds->entries.nr++] =
			(struct elf_range){list.items[i].start, list.items[i].end};
	fde_list_release(&list);
	return result;
}

/* ---- order ---- */

/* The last one that begins at or before the address. */
static const struct elf_range *find(const struct elf_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &ranges->items[low - 1] : NULL;
}

/* One entry for each start, that ends in its code and before the next begins. */
static void make_entries_true(struct elf_bounds *bounds)
{
	struct elf_range *items = bounds->entries.items;
	size_t kept = 0;
	for (size_t i = 0; i < bounds->entries.nr; i++) {
		const struct elf_range *code = elf_bounds_code(bounds, items[i].start);
		if (!code || (kept && items[kept - 1].start == items[i].start))
			continue;
		struct elf_range entry = items[i];
		if (entry.end > code->end)
			entry.end = code->end;
		if (kept && items[kept - 1].end > entry.start)
			items[kept - 1].end = entry.start;
		items[kept++] = entry;
	}
	bounds->entries.nr = kept;
}

void elf_bounds_finish(struct elf_bounds *bounds)
{
	sort_by_u64(bounds->code.items, bounds->code.nr, sizeof(struct elf_range));
	sort_by_u64(bounds->entries.items, bounds->entries.nr, sizeof(struct elf_range));
	make_entries_true(bounds);
}

/* ---- looking up ---- */

const struct elf_range *elf_bounds_code(const struct elf_bounds *bounds, uint64_t address)
{
	const struct elf_range *code = find(&bounds->code, address);
	return code && address < code->end ? code : NULL;
}

uint64_t elf_bounds_end(const struct elf_bounds *bounds, uint64_t address)
{
	const struct elf_range *code = elf_bounds_code(bounds, address);
	if (!code)
		return address;
	const struct elf_range *entry = find(&bounds->entries, address);
	if (entry && address < entry->end)
		return entry->end;
	const struct elf_range *next = entry ? entry + 1 : bounds->entries.items;
	bool has_next = next && next < bounds->entries.items + bounds->entries.nr;
	return has_next && next->start < code->end ? next->start : code->end;
}

bool elf_bounds_has_entry(const struct elf_bounds *bounds, uint64_t address)
{
	const struct elf_range *entry = find(&bounds->entries, address);
	return entry && address < entry->end;
}

uint64_t elf_bounds_start(const struct elf_bounds *bounds, uint64_t address)
{
	const struct elf_range *code = elf_bounds_code(bounds, address);
	const struct elf_range *entry = find(&bounds->entries, address);
	uint64_t start = code ? code->start : 0;
	if (entry && entry->start > start)
		start = address < entry->end ? entry->start : entry->end;
	return start;
}
