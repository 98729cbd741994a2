/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an .eh_frame: where in it the one FDE of its lookup table is, then the section. What is read from it without libdw is what libdw
 * reads; and with a lookup table of any bytes nothing is read beyond the section.
 */
#include <elf.h>

#include "fuzz.h"
#include "jailed/cfi/elf_image.h"
#include "jailed/cfi/frame_entry.h"
#include "jailed/cfi/frame_program.h"
#include <ctop/cfi/rule.h>

enum { HEADER_BYTES = 12, SCRATCH_WORDS = (LONG_RULE_MAX_BYTES + 7) / 8 };
#define HEADER_ADDRESS UINT64_C(0x1000)
#define FRAME_ADDRESS  UINT64_C(0x2000)

/* What the one table covers: everything from here on. */
#define FIRST_ADDRESS UINT64_C(0x800)

static void check_row(const struct frame_section *section, uint64_t address,
		      const struct frame_row *row)
{
	REQUIRE(row->end > address);
	for (unsigned i = 0; i <= UNWIND_NR_REGS; i++) {
		const struct frame_column *column =
			i < UNWIND_NR_REGS ? &row->registers[i] : &row->cfa;
		REQUIRE(column->kind <= RECOVERY_EXPRESSION && column->reg < UNWIND_NR_REGS);
		if (column->expression_bytes)
			REQUIRE(column->offset >= 0 && (size_t)column->offset <= section->size &&
				column->expression_bytes <= section->size - (size_t)column->offset);
	}
}

/* False when the rule is libdw's to make. */
static bool read_rule(const struct frame_section *section, uint64_t address, struct rule *rule,
		      uint64_t *end, struct long_rule *scratch)
{
	struct frame_entry entry;
	struct frame_row row;
	if (!frame_section_find(section, address, &entry))
		return false;
	REQUIRE(entry.start <= address && address < entry.end);
	if (!frame_program_run(&entry, address, &row))
		return false;
	check_row(section, address, &row);
	*end = row.end;
	return rule_from_row(&row, rule, scratch);
}

static void compare(Elf *elf, const struct frame_section *section, uint64_t address)
{
	uint64_t ours[SCRATCH_WORDS], theirs[SCRATCH_WORDS], end;
	struct rule rule, their_rule;
	Dwarf_Frame *frame;
	Dwarf_Addr their_end;
	memset(&rule, 0, sizeof(rule));
	memset(&their_rule, 0, sizeof(their_rule));
	if (!read_rule(section, address, &rule, &end, (struct long_rule *)ours))
		return;
	REQUIRE(rule.kind <= RULE_LONG && rule.kind != RULE_NONE && rule.kind != RULE_BAD);
	/* It keeps what it has read, by which it would answer other questions. */
	Dwarf_CFI *libdw = dwarf_getcfi_elf(elf);
	REQUIRE(libdw && dwarf_cfi_addrframe(libdw, address, &frame) == 0);
	rule_from_frame(frame, &their_rule, (struct long_rule *)theirs);
	REQUIRE(dwarf_frame_info(frame, NULL, &their_end, NULL) >= 0);
	REQUIRE(memcmp(&rule, &their_rule, sizeof(rule)) == 0 && end == their_end);
	if (rule.kind == RULE_LONG) {
		const struct long_rule *long_rule = (struct long_rule *)ours;
		REQUIRE(long_rule->nr_ops <= LONG_RULE_MAX_OPS);
		REQUIRE(memcmp(ours, theirs, long_rule_bytes(long_rule)) == 0);
	}
	free(frame);
	dwarf_cfi_end(libdw);
}

/* The addresses at which something may change: all, near the start that the FDE has. */
static void compare_all(Elf *elf, const struct frame_section *section)
{
	enum { NEAR = 0x140, STRIDE = 7 };
	for (uint64_t address = FIRST_ADDRESS; address < FIRST_ADDRESS + NEAR; address++)
		compare(elf, section, address);
	for (uint64_t address = FIRST_ADDRESS + NEAR; address < 0x1100000; address *= STRIDE)
		compare(elf, section, address);
	compare(elf, section, UINT64_MAX - 1);
}

static void any_lookup_table(const struct frame_section *section)
{
	static const uint64_t addresses[] = {0, 1, 0x800, 0x2000, 0x7fffffff, UINT64_MAX};
	struct frame_section other = *section;
	other.lookup.rows = section->bytes;
	other.lookup.nr = section->size / EH_LOOKUP_ROW_BYTES;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		uint64_t scratch[SCRATCH_WORDS], end;
		struct rule rule;
		read_rule(&other, addresses[i], &rule, &end, (struct long_rule *)scratch);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {bytes, size};
	const uint32_t nr = 1, fde = input_u16(&input);
	const int32_t relative[3] = {
		(int32_t)(FRAME_ADDRESS - HEADER_ADDRESS - 4),
		(int32_t)(FIRST_ADDRESS - HEADER_ADDRESS),
		(int32_t)(FRAME_ADDRESS - HEADER_ADDRESS + fde),
	};
	uint8_t header[HEADER_BYTES + EH_LOOKUP_ROW_BYTES] = {1, 0x1b, 0x03, 0x3b};
	memcpy(header + 4, &relative[0], sizeof(relative[0]));
	memcpy(header + 8, &nr, sizeof(nr));
	memcpy(header + HEADER_BYTES, &relative[1], EH_LOOKUP_ROW_BYTES);
	GElf_Ehdr model = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_machine = MACHINE_ELF};
	const struct elf_image_section copies[] = {
		{.name = ".eh_frame_hdr",
		 .address = HEADER_ADDRESS,
		 .bytes = header,
		 .size = sizeof(header)},
		{.name = ".eh_frame",
		 .address = FRAME_ADDRESS,
		 .bytes = input.at,
		 .size = input.left},
	};
	struct elf_image image;
	elf_version(EV_CURRENT);
	if (input.left == 0 || elf_image_init(&image, &model, copies, 2) != 0)
		return 0;
	struct frame_section found;
	REQUIRE(frame_section_open(&found, image.elf));
	REQUIRE(found.size == input.left && found.address == FRAME_ADDRESS &&
		found.lookup.nr == 1 && found.lookup.address == HEADER_ADDRESS);
	/* The same bytes where one too many is seen. */
	struct frame_section section = found;
	uint8_t *copy = fuzz_copy(input.at, input.left);
	section.bytes = copy;
	compare_all(image.elf, &section);
	any_lookup_table(&section);
	free(copy);
	elf_image_release(&image);
	return 0;
}
