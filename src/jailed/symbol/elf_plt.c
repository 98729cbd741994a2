/* SPDX-License-Identifier: MIT */
#include "elf_plt.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/elf/section.h>

/*
 * A stub jumps through a slot of the GOT, and a relocation says whose address
 * the dynamic linker writes there (psABI x86-64, "Procedure Linkage Table").
 * Stubs are decoded rather than counted, since linkers order .plt.sec and
 * .plt.got as they like.
 */
struct slot {
	uint64_t address; /* elf address of the GOT entry */
	uint64_t addend;  /* an indirect function's resolver, where name is NULL */
	const char *name; /* libelf's */
};

struct slots {
	struct slot *items;
	size_t nr, capacity;
};

enum { RELOCATIONS_MAX = 4 << 20, STUBS_MAX = 1 << 20, STUB_BYTES = 16 };

static const char *symbol_name(Elf *elf, const GElf_Shdr *relocations, uint64_t info)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Scn *section = elf_getscn(elf, relocations->sh_link);
	if (!section || !gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t index = GELF_R_SYM(info);
	if (!data || !index || index > INT32_MAX || !gelf_getsym(data, (int)index, &symbol))
		return NULL;
	const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name && name[0] ? name : NULL;
}

static int add_slots(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct slots *slots)
{
	Elf_Data *data = elf_getdata(section, NULL);
	/* Straight from libelf's buffer: a library has 200,000, nearly all for its data. */
	const bool is_wide = data && data->d_buf && data->d_type == ELF_T_RELA &&
			     gelf_getclass(elf) == ELFCLASS64;
	const Elf64_Rela *rows = is_wide ? data->d_buf : NULL;
	size_t nr = is_wide ? data->d_size / sizeof(*rows) : 0;
	for (size_t i = 0; i < nr && i < RELOCATIONS_MAX; i++) {
		const Elf64_Rela relocation = rows[i];
		uint32_t type = (uint32_t)ELF64_R_TYPE(relocation.r_info);
		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    type != R_X86_64_IRELATIVE)
			continue;
		const struct slot slot = {
			.address = relocation.r_offset,
			.addend = (uint64_t)relocation.r_addend,
			.name = type == R_X86_64_IRELATIVE
					? NULL
					: symbol_name(elf, header, relocation.r_info),
		};
		if (!slot.name && type != R_X86_64_IRELATIVE)
			continue;
		if (vec_reserve(slots, slots->nr + 1))
			return -ENOMEM;
		slots->items[slots->nr++] = slot;
	}
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;
	return (left->address > right->address) - (left->address < right->address);
}

/* All slots by address. */
static int read_slots(Elf *elf, struct slots *slots)
{
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		int result = add_slots(elf, section, &header, slots);
		if (result)
			return result;
	}
	if (slots->nr)
		qsort(slots->items, slots->nr, sizeof(*slots->items), compare_slots);
	return 0;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	const struct slot key = {.address = address};
	return slots->nr ? bsearch(&key, slots->items, slots->nr, sizeof(key), compare_slots)
			 : NULL;
}

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* The GOT entry that a stub of that many bytes jumps through: [endbr64] [bnd]
 * jmp *disp32(%rip). */
static bool decode_jump(const uint8_t *stub, size_t bytes, uint64_t address, uint64_t *slot)
{
	size_t at = 0;
	if (memcmp(stub, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	if (stub[at] == 0xf2)
		at++;
	if (at + 6 > bytes || stub[at] != 0xff || stub[at + 1] != 0x25)
		return false;
	int32_t displacement;
	memcpy(&displacement, stub + at + 2, sizeof(displacement));
	*slot = address + at + 6 + (uint64_t)(int64_t)displacement;
	return true;
}

/* With CET the stubs in .plt only push the relocation's number: [endbr64] push
 * imm32. */
static bool decode_push(const uint8_t *stub, uint32_t *relocation)
{
	size_t at = memcmp(stub, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	if (stub[at] != 0x68)
		return false;
	memcpy(relocation, stub + at + 1, sizeof(*relocation));
	return true;
}

struct plt {
	Elf *elf;
	Elf_Data *relocations; /* of .rela.plt, in its own order; or NULL */
	struct slots slots;
};

/* The GOT entry of a relocation in .rela.plt by its number. */
static bool slot_of_relocation(const struct plt *plt, uint32_t number, uint64_t *slot)
{
	GElf_Rela relocation;
	if (!plt->relocations || number > INT32_MAX ||
	    !gelf_getrela(plt->relocations, (int)number, &relocation))
		return false;
	*slot = relocation.r_offset;
	return true;
}

static int add_stub(struct elf_symbols *symbols, const struct slot *slot, uint64_t address,
		    uint32_t bytes)
{
	static const char suffix[] = "@plt";
	char name[SYMBOL_NAME_MAX];
	struct symbol_hit hit;
	const char *target = slot->name;
	if (!target && elf_symbols_find(symbols, slot->addend, &hit) && hit.start == slot->addend)
		target = hit.name;
	if (target) {
		size_t size = strnlen(target, sizeof(name) - sizeof(suffix));
		const char *version = memchr(target, '@', size);
		if (version)
			size = (size_t)(version - target);
		memcpy(name, target, size);
		memcpy(name + size, suffix, sizeof(suffix));
	} else {
		/* An indirect function without a symbol: in objdump's words. */
		snprintf(name, sizeof(name), "*ABS*+0x%" PRIx64 "%s", slot->addend, suffix);
	}
	return elf_symbols_add_stub(symbols, address, bytes, name);
}

static int add_section(struct elf_symbols *symbols, const struct plt *plt, const char *section)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_named(plt->elf, section, &header);
	if (!data || !data->d_buf || header.sh_type != SHT_PROGBITS)
		return 0;
	uint32_t step = header.sh_entsize == 8 ? 8 : STUB_BYTES;
	size_t nr = data->d_size / step;
	for (size_t i = 0; i < nr && i < STUBS_MAX; i++) {
		uint8_t stub[STUB_BYTES] = {0};
		uint64_t address = header.sh_addr + i * step, slot_address;
		uint32_t number;
		memcpy(stub, (const uint8_t *)data->d_buf + i * step, step);
		if (!decode_jump(stub, step, address, &slot_address) &&
		    !(decode_push(stub, &number) && slot_of_relocation(plt, number, &slot_address)))
			continue;
		const struct slot *slot = find_slot(&plt->slots, slot_address);
		if (slot && add_stub(symbols, slot, address, step))
			return -ENOMEM;
	}
	return 0;
}

int elf_plt_add(struct elf_symbols *symbols, Elf *elf)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	GElf_Ehdr header;
	GElf_Shdr relocations;
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return 0;
	struct plt plt = {.elf = elf};
	plt.relocations = elf_section_named(elf, ".rela.plt", &relocations);
	if (plt.relocations && relocations.sh_type != SHT_RELA)
		plt.relocations = NULL;
	int result = read_slots(elf, &plt.slots);
	for (size_t i = 0; !result && i < sizeof(sections) / sizeof(sections[0]); i++)
		result = add_section(symbols, &plt, sections[i]);
	free(plt.slots.items);
	return result;
}
