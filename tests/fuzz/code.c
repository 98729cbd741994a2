/* SPDX-License-Identifier: MIT */
/*
 * Code that no unwind table covers: where the function begins, where in it the rule is wanted, a jump table's bytes,
 * then the code. Whatever it does, work ends, and a rule is one that the unwinder can follow.
 */
#include "fuzz.h"
#include <ctop/code/code_rule.h>
#include <ctop/machine/instruction.h>

enum { TABLE_BYTES = 64 };
#define CODE_ADDRESS  UINT64_C(0x401000)
#define TABLE_ADDRESS UINT64_C(0x400000)

static bool read_table(const void *context, uint64_t address, void *bytes, size_t size)
{
	if (address < TABLE_ADDRESS || address - TABLE_ADDRESS > TABLE_BYTES - size)
		return false;
	memcpy(bytes, (const uint8_t *)context + (address - TABLE_ADDRESS), size);
	return true;
}

static void check_decoder(const uint8_t *code, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		struct instruction instruction;
		if (instruction_read(code + at, size - at, &instruction))
			REQUIRE(instruction.length > 0 && instruction.length <= size - at &&
				instruction.length <= INSTRUCTION_MAX_BYTES);
	}
}

static void check_rule(const struct code_rule *rule)
{
	REQUIRE(rule->ways <= (CODE_FROM_START | CODE_TO_RETURN));
	if (!rule->ways)
		return;
	REQUIRE(rule->cfa_register < UNWIND_PC);
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		REQUIRE(rule->saved[i].reg <= UNWIND_PC);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct code_reader *reader;
	static uint64_t serial;
	struct input input = {bytes, size};
	uint8_t table[TABLE_BYTES];
	const uint16_t start = input_u16(&input), at = input_u16(&input);
	const bool after_call = at & 1;
	input_take(&input, table, sizeof(table));
	uint8_t *code = fuzz_copy(input.at, input.left);
	uint64_t *branched_to = calloc(input.left / 64 + 1, sizeof(*branched_to));
	uint64_t *parts = calloc(input.left / 64 + 1, sizeof(*parts));
	if (!reader)
		reader = code_reader_new();
	REQUIRE(reader && branched_to && parts);
	if (start < input.left)
		parts[start / 64] |= UINT64_C(1) << start % 64;
	const struct code_view view = {
		.serial = ++serial,
		.bytes = code,
		.start = CODE_ADDRESS,
		.size = input.left,
		.branched_to = branched_to,
		.parts = parts,
		.read = read_table,
		.context = table,
	};
	check_decoder(code, input.left);
	uint64_t steps = 4 * CODE_RULE_MAX_STEPS;
	const uint64_t end = CODE_ADDRESS + input.left;
	struct code_functions functions = {.nr = 0};
	if (start < input.left)
		functions = (struct code_functions){.items = {{CODE_ADDRESS + start, end},
							      {CODE_ADDRESS, CODE_ADDRESS + start}},
						    .nr = start ? 2 : 1};
	const struct code_rule rule =
		code_rule_read(reader, &view, &functions, CODE_ADDRESS + at, after_call, &steps);
	check_rule(&rule);
	REQUIRE(steps >= 3 * CODE_RULE_MAX_STEPS);
	/* Another rule of the same function, from what is known of it. */
	const struct code_rule again =
		code_rule_read(reader, &view, &functions, CODE_ADDRESS + at, after_call, &steps);
	REQUIRE(again.ways == rule.ways && again.offset == rule.offset);
	free(branched_to);
	free(parts);
	free(code);
	return 0;
}
