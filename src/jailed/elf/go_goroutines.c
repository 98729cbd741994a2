/* SPDX-License-Identifier: MIT */
#include <ctop/elf/go_goroutines.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <ctop/elf/go_functions.h>
#include <ctop/elf/object.h>
#include <ctop/elf/section.h>

#include "read_bytes.h"
#include "relative.h"

enum {
	SYMBOLS_MAX = 8 << 20, /* a table that claims more is lying */
	SECTIONS_MAX = 4096,
	UNITS_MAX = 1 << 18,
	DIES_MAX = 1 << 20, /* of the runtime's unit, and members of a struct */
	STRING_BYTES = 16,  /* of Go's: an address and a length */
	VERSION_BYTES = 32,
};

struct finder {
	Elf *elf;
	struct goroutine_layout *layout;
	uint64_t reasons, reasons_bytes, version;
};

/* ---- symbols ---- */

static void take_symbol(struct finder *finder, const char *name, const GElf_Sym *symbol)
{
	static const char package[] = "runtime.";
	if (strncmp(name, package, sizeof(package) - 1) != 0 ||
	    GELF_ST_TYPE(symbol->st_info) != STT_OBJECT)
		return;
	name += sizeof(package) - 1;
	if (!strcmp(name, "allglen")) {
		finder->layout->nr = symbol->st_value;
	} else if (!strcmp(name, "allgptr")) {
		finder->layout->addresses = symbol->st_value;
	} else if (!strcmp(name, "buildVersion")) {
		finder->version = symbol->st_value;
	} else if (!strcmp(name, "waitReasonStrings")) {
		finder->reasons = symbol->st_value;
		finder->reasons_bytes = symbol->st_size;
	}
}

static bool read_symbols(struct finder *finder)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data = elf_section_named(finder->elf, ".symtab", &header);
	const size_t nr = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX; i++) {
		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		const char *name = elf_strptr(finder->elf, header.sh_link, symbol.st_name);
		if (name)
			take_symbol(finder, name, &symbol);
	}
	return finder->layout->nr && finder->layout->addresses && finder->reasons;
}

/* ---- strings ---- */

/* NULL: they are not all in the file. */
static const uint8_t *bytes_at(Elf *elf, uint64_t address, uint64_t size)
{
	Elf_Scn *section = NULL;
	for (int i = 0; i < SECTIONS_MAX && (section = elf_nextscn(elf, section)); i++) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_ALLOC) || address < header.sh_addr ||
		    address - header.sh_addr >= header.sh_size)
			continue;
		const Elf_Data *data = elf_getdata(section, NULL);
		const uint64_t at = address - header.sh_addr;
		if (data && data->d_buf && at <= data->d_size && size <= data->d_size - at)
			return (const uint8_t *)data->d_buf + at;
	}
	return NULL;
}

/* False: it is not there, or no short line of text. */
static bool read_string(Elf *elf, const uint8_t *header, uint64_t relocated, char *text,
			size_t room)
{
	const uint64_t address = relocated ? relocated : read_u64(header);
	const uint64_t size = read_u64(header + sizeof(uint64_t));
	const uint8_t *bytes = size < room ? bytes_at(elf, address, size) : NULL;
	if (!bytes)
		return false;
	for (uint64_t i = 0; i < size; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == ';')
			return false;
	memcpy(text, bytes, size);
	text[size] = '\0';
	return true;
}

/* Of a goroutine of the runtime itself, which goroutine dumps leave out, too. */
static bool is_runtimes_own(const char *reason)
{
	static const char *const own[] = {
		"GC sweep wait",	  "GC scavenge wait",	    "GC worker (idle)",
		"GC worker (active)",	  "force gc (idle)",	    "finalizer wait",
		"trace reader (blocked)", "timer goroutine (idle)", "cleanup wait",
	};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(reason, own[i]))
			return true;
	return false;
}

/* What the loader puts there, of a program that may lie anywhere; one pass for all reasons. */
static void read_relocated(const struct finder *finder, uint64_t *addresses, size_t nr)
{
	struct elf_relative relative;
	uint64_t at, value;
	elf_relative_init(&relative, finder->elf);
	while (elf_relative_next(&relative, &at, &value)) {
		const uint64_t behind = at - finder->reasons;
		if (behind % STRING_BYTES == 0 && behind / STRING_BYTES < nr)
			addresses[behind / STRING_BYTES] = value;
	}
}

static bool read_reasons(const struct finder *finder)
{
	uint64_t relocated[GOROUTINE_REASONS] = {0};
	size_t nr = finder->reasons_bytes / STRING_BYTES;
	const uint8_t *strings = bytes_at(finder->elf, finder->reasons, finder->reasons_bytes);
	if (!strings || !nr)
		return false;
	nr = nr < GOROUTINE_REASONS ? nr : GOROUTINE_REASONS;
	read_relocated(finder, relocated, nr);
	for (size_t i = 0; i < GOROUTINE_REASONS; i++) {
		char *reason = finder->layout->reasons[i];
		if (i >= nr || !read_string(finder->elf, strings + i * STRING_BYTES, relocated[i],
					    reason, GOROUTINE_REASON_BYTES))
			snprintf(reason, GOROUTINE_REASON_BYTES, "parked");
		else if (is_runtimes_own(reason))
			reason[0] = '\0';
		else if (!reason[0])
			snprintf(reason, GOROUTINE_REASON_BYTES, "parked");
	}
	return true;
}

/* ---- offsets ---- */

/* False: it has no such member, or it lies too far behind. */
static bool offset_of(Dwarf_Die *structure, const char *name, uint16_t *offset, Dwarf_Die *type)
{
	Dwarf_Die member;
	if (dwarf_child(structure, &member))
		return false;
	for (int i = 0; i < DIES_MAX; i++) {
		const char *is = dwarf_diename(&member);
		if (is && !strcmp(is, name) && dwarf_tag(&member) == DW_TAG_member) {
			Dwarf_Attribute attribute;
			Dwarf_Word value;
			if (dwarf_formudata(
				    dwarf_attr(&member, DW_AT_data_member_location, &attribute),
				    &value) ||
			    value >= GOROUTINE_BYTES_MAX)
				return false;
			*offset = (uint16_t)value;
			return !type ||
			       dwarf_formref_die(dwarf_attr(&member, DW_AT_type, &attribute), type);
		}
		if (dwarf_siblingof(&member, &member))
			return false;
	}
	return false;
}

/* Of a struct in a struct. */
static bool offset_in(Dwarf_Die *structure, const char *outer, const char *name, uint16_t *offset)
{
	Dwarf_Die type;
	uint16_t base, behind;
	if (!offset_of(structure, outer, &base, &type))
		return false;
	for (int i = 0; i < 4 && dwarf_tag(&type) == DW_TAG_typedef; i++) {
		Dwarf_Attribute attribute;
		if (!dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attribute), &type))
			return false;
	}
	if (!offset_of(&type, name, &behind, NULL))
		return false;
	*offset = (uint16_t)(base + behind);
	return true;
}

static bool read_structure(Dwarf_Die *g, struct goroutine_layout *layout)
{
	if (!offset_of(g, "trackingSeq", &layout->sequence, NULL))
		layout->sequence = 0;
	if (!offset_of(g, "gopc", &layout->creator, NULL))
		layout->creator = 0;
	return offset_in(g, "stack", "hi", &layout->stack_hi) &&
	       offset_in(g, "sched", "sp", &layout->sp) &&
	       offset_in(g, "sched", "pc", &layout->pc) &&
	       offset_of(g, "atomicstatus", &layout->status, NULL) &&
	       offset_of(g, "goid", &layout->id, NULL) &&
	       offset_of(g, "waitreason", &layout->reason, NULL);
}

static bool read_unit(Dwarf_Die *unit, struct goroutine_layout *layout)
{
	const char *name = dwarf_diename(unit);
	Dwarf_Die die;
	if (!name || strcmp(name, "runtime") != 0 || dwarf_child(unit, &die))
		return false;
	for (int i = 0; i < DIES_MAX; i++) {
		if (dwarf_tag(&die) == DW_TAG_structure_type && (name = dwarf_diename(&die)) &&
		    !strcmp(name, "runtime.g"))
			return read_structure(&die, layout);
		if (dwarf_siblingof(&die, &die))
			return false;
	}
	return false;
}

static bool read_dwarf(const struct finder *finder)
{
	Dwarf *dwarf = dwarf_begin_elf(finder->elf, DWARF_C_READ, NULL);
	Dwarf_Off at = 0, next;
	size_t header;
	bool found = false;
	for (int i = 0; dwarf && !found && i < UNITS_MAX; i++, at = next) {
		Dwarf_Die unit;
		if (dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL))
			break;
		found = dwarf_offdie(dwarf, at + header, &unit) && read_unit(&unit, finder->layout);
	}
	dwarf_end(dwarf);
	return found;
}

/* Without DWARF: tests/unit/elf/go_goroutines.c compares it with what DWARF says. */
static const struct {
	const char *version;
	struct goroutine_layout layout;
} known[] = {
	{"go1.19",
	 {.stack_hi = 8,
	  .sp = 56,
	  .pc = 64,
	  .status = 144,
	  .id = 152,
	  .reason = 176,
	  .sequence = 189,
	  .creator = 296}},
};

/* "go1.19" is that of "go1.19.8", too, and not of "go1.190". */
static bool is_version(const char *version, const char *of)
{
	const size_t size = strlen(of);
	return !strncmp(version, of, size) && (version[size] == '.' || version[size] == '\0');
}

static bool use_version(const struct finder *finder)
{
	char version[VERSION_BYTES];
	struct goroutine_layout *layout = finder->layout;
	const uint8_t *string = bytes_at(finder->elf, finder->version, STRING_BYTES);
	struct elf_relative relative;
	uint64_t at, value, address = 0;
	elf_relative_init(&relative, finder->elf);
	while (!address && elf_relative_next(&relative, &at, &value))
		address = at == finder->version ? value : 0;
	if (!string || !read_string(finder->elf, string, address, version, sizeof(version)))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_version(version, known[i].version)) {
			const struct goroutine_layout *is = &known[i].layout;
			layout->stack_hi = is->stack_hi;
			layout->sp = is->sp;
			layout->pc = is->pc;
			layout->status = is->status;
			layout->id = is->id;
			layout->reason = is->reason;
			layout->sequence = is->sequence;
			layout->creator = is->creator;
			return true;
		}
	return false;
}

/* ---- the whole ---- */

static enum goroutine_refusal find(struct finder *finder)
{
	struct go_functions functions;
	GElf_Ehdr header;
	if (!gelf_getehdr(finder->elf, &header) || !go_functions_open(&functions, finder->elf))
		return GOROUTINES_NOT_GO;
	finder->layout->entry = header.e_entry;
	if (!read_symbols(finder))
		return GOROUTINES_NO_SYMBOLS;
	if (!read_reasons(finder))
		return GOROUTINES_DAMAGED;
	if (!read_dwarf(finder) && !use_version(finder))
		return GOROUTINES_NO_LAYOUT;
	return goroutine_layout_is_sane(finder->layout) ? GOROUTINES_SHOWN : GOROUTINES_DAMAGED;
}

enum goroutine_refusal go_goroutines_find(int fd, struct goroutine_layout *layout)
{
	struct error error;
	struct object *object = object_open(fd, &error);
	*layout = (struct goroutine_layout){0};
	/* All that is looked for lies in words of 64 bits. */
	if (!object || object_machine(object) == EM_386) {
		object_free(object);
		return GOROUTINES_NOT_GO;
	}
	struct finder finder = {.elf = object_elf(object), .layout = layout};
	const enum goroutine_refusal refusal = find(&finder);
	object_free(object);
	return refusal;
}
