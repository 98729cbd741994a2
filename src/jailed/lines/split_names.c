/* SPDX-License-Identifier: MIT */
#include <ctop/lines/split_names.h>

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdio.h>

#include <ctop/lines/elf_dwarf.h>

#include "split_unit.h"

enum { UNITS_MAX = 1 << 18 };

static bool put_name(Dwarf_Die *unit, char *path, size_t path_bytes)
{
	const struct split_names names = split_names_of(unit);
	if (!names.name || !names.name[0])
		return false;
	const bool is_whole = names.name[0] == '/' || !names.directory || !names.directory[0];
	const int size = is_whole
				 ? snprintf(path, path_bytes, "%s", names.name)
				 : snprintf(path, path_bytes, "%s/%s", names.directory, names.name);
	return size > 0 && (size_t)size < path_bytes;
}

static bool name_in(Dwarf *dwarf, uint64_t id, char *path, size_t path_bytes)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	for (int i = 0; i < UNITS_MAX; i++, at = next) {
		Dwarf_Die unit;
		if (dwarf_nextcu(dwarf, at, &next, &header_bytes, NULL, NULL, NULL) || next <= at)
			break;
		if (dwarf_offdie(dwarf, at + header_bytes, &unit) &&
		    split_skeleton_of(&unit).id == id)
			return put_name(&unit, path, path_bytes);
	}
	return false;
}

static Elf *open_elf(int fd)
{
	elf_version(EV_CURRENT);
	return elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

bool split_name(int fd, uint64_t id, char *path, size_t path_bytes)
{
	uint64_t unpacked_bytes;
	Elf *elf = id ? open_elf(fd) : NULL;
	Dwarf *dwarf = elf && elf_dwarf_is_bearable(elf, &unpacked_bytes)
			       ? dwarf_begin_elf(elf, DWARF_C_READ, NULL)
			       : NULL;
	const bool is_named = dwarf && name_in(dwarf, id, path, path_bytes);
	dwarf_end(dwarf);
	elf_end(elf);
	return is_named;
}

bool split_is_in(int fd, uint64_t id)
{
	const struct split_skeleton skeleton = {.id = id};
	Elf *elf = id ? open_elf(fd) : NULL;
	struct split_unit *unit = elf ? split_unit_open(elf, NULL, &skeleton) : NULL;
	const bool is_in = unit != NULL;
	split_unit_free(unit);
	elf_end(elf);
	return is_in;
}
