/* SPDX-License-Identifier: MIT */
#include "code_entries.h"

#include <gelf.h>
#include <string.h>

#include <ctop/elf/object.h>

enum {
	ENTRY_BYTES_MAX = 128, /* gcc's longest has 57 */
	ARRAY_MAX = 4,	       /* what has a priority comes before what start files bring */
	SECTIONS_MAX = 1 << 10
};

static void add(struct code_entries *entries, uint64_t start)
{
	if (start != 0 && entries->nr < CODE_ENTRIES_MAX)
		entries->starts[entries->nr++] = start;
}

/* The first pointers of an array. Linkers write them there, though the loader will, too. */
static void add_of_array(struct code_entries *entries, Elf_Scn *section)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	const size_t nr = data && data->d_buf ? data->d_size / MACHINE_ADDRESS_BYTES : 0;
	for (size_t i = 0; i < nr && i < ARRAY_MAX; i++) {
		uint64_t start;
		memcpy(&start, (const uint8_t *)data->d_buf + i * sizeof(start), sizeof(start));
		add(entries, start);
	}
}

static void add_of_section(struct code_entries *entries, Elf *elf, size_t names, Elf_Scn *section)
{
	GElf_Shdr header;
	if (!gelf_getshdr(section, &header))
		return;
	if (header.sh_type == SHT_INIT_ARRAY || header.sh_type == SHT_FINI_ARRAY) {
		add_of_array(entries, section);
		return;
	}
	if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
		return;
	const char *name = elf_strptr(elf, names, header.sh_name);
	if (name && (strcmp(name, ".init") == 0 || strcmp(name, ".fini") == 0))
		add(entries, header.sh_addr);
}

void code_entries_read(struct code_entries *entries, const struct object *object)
{
	Elf *elf = object_elf(object);
	Elf_Scn *section = NULL;
	size_t names;
	*entries = (struct code_entries){.nr = 0};
	if (elf_getshdrstrndx(elf, &names))
		return;
	for (unsigned i = 0; i < SECTIONS_MAX && (section = elf_nextscn(elf, section)); i++)
		add_of_section(entries, elf, names, section);
}

bool code_entries_find(const struct code_entries *entries, uint64_t address,
		       struct code_function *function)
{
	bool found = false;
	for (size_t i = 0; i < entries->nr; i++) {
		const uint64_t start = entries->starts[i];
		if (address < start || address - start >= ENTRY_BYTES_MAX ||
		    (found && start < function->start))
			continue;
		*function = (struct code_function){start, start + ENTRY_BYTES_MAX};
		found = true;
	}
	for (size_t i = 0; found && i < entries->nr; i++)
		if (entries->starts[i] > address && entries->starts[i] < function->end)
			function->end = entries->starts[i];
	return found;
}
