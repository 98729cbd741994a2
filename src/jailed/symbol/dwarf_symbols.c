/* SPDX-License-Identifier: MIT */
#include "dwarf_symbols.h"

#include <elfutils/libdw.h>
#include <errno.h>
#include <stdbool.h>

#include <ctop/lines/elf_dwarf.h>
#include <ctop/symbol/elf_symbols.h>

/* Of hot and cold parts of one function there are two or three. */
enum { PARTS_MAX = 64, UNITS_MAX = 1 << 20 };

struct reading {
	struct elf_symbols *symbols;
	int result;
};

static int add_function(Dwarf_Die *die, void *context)
{
	struct reading *reading = context;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	const char *name = elf_dwarf_name(die);
	for (int part = 0; name && name[0] && part < PARTS_MAX; part++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		if (!start || end <= start || end - start > UINT32_MAX)
			continue;
		if (elf_symbols_add_stub(reading->symbols, start, (uint32_t)(end - start), name))
			reading->result = -ENOMEM;
	}
	return reading->result ? DWARF_CB_ABORT : DWARF_CB_OK;
}

int dwarf_symbols_add(struct elf_symbols *symbols, Elf *elf)
{
	struct reading reading = {.symbols = symbols};
	size_t known = elf_symbols_count(symbols);
	uint64_t unpacked_bytes;
	Dwarf *dwarf = elf_dwarf_is_bearable(elf, &unpacked_bytes)
			       ? dwarf_begin_elf(elf, DWARF_C_READ, NULL)
			       : NULL;
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	for (int i = 0; dwarf && !reading.result && i < UNITS_MAX; i++, at = next) {
		Dwarf_Die unit;
		if (dwarf_nextcu(dwarf, at, &next, &header_bytes, NULL, NULL, NULL) || next <= at)
			break;
		if (dwarf_offdie(dwarf, at + header_bytes, &unit))
			dwarf_getfuncs(&unit, add_function, &reading, 0);
	}
	dwarf_end(dwarf);
	return reading.result ? reading.result : elf_symbols_count(symbols) > known;
}
