/* SPDX-License-Identifier: MIT */
/* One step by a rule, from stack pointers that a hostile program has made up. */
#include "jailed/unwind/step.h"

#include "test.h"

enum { SAVED_FP_SLOT = 2, RECORD_BYTES = 16 };
static const uint64_t words[] = {1, 2, 0x1010, 0x401000};
static const struct memory memory = {
	.stack = (const uint8_t *)words,
	.start = UINT64_C(1) << 40,
	.end = (UINT64_C(1) << 40) + sizeof(words),
};

/* CFA = sp + 16, where the caller's frame pointer and the return address have been pushed. */
static enum stack_reason step_from(uint64_t sp, struct registers *registers)
{
	struct rule rule = {
		.kind = RULE_OFFSET,
		.cfa_register = UNWIND_SP,
		.offset = RECORD_BYTES,
		.deepest = SAVED_FP_SLOT,
	};
	const struct step_input input = {.rule = &rule, .memory = &memory};
	rule.saved[MACHINE_FP_INDEX] = SAVED_FP_SLOT;
	machine_set_return_slot(rule.saved, 1);
	*registers = (struct registers){.known = 0};
	registers_set(registers, UNWIND_SP, sp);
	return step_by_rule(&input, registers);
}

static void a_record_in_the_dump(void)
{
	struct registers registers;
	CHECK_EQ(step_from(memory.end - RECORD_BYTES, &registers), STACK_REASON_NONE);
	CHECK_EQ(registers.value[UNWIND_SP], memory.end);
	CHECK_EQ(registers.value[UNWIND_FP], 0x1010);
	CHECK_EQ(registers.value[UNWIND_PC], 0x401000);
}

static void a_record_below_the_dump(void)
{
	/* Whoever took these for places in the dump would read far outside of it. */
	static const uint64_t below[] = {RECORD_BYTES, 4096, UINT64_C(1) << 30,
					 (UINT64_C(1) << 40) - 64};
	struct registers registers;
	for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++)
		CHECK_EQ(step_from(memory.start - below[i], &registers), STACK_REASON_BAD_ADDRESS);
}

static void a_record_above_the_dump(void)
{
	struct registers registers;
	CHECK_EQ(step_from(memory.end - 8, &registers), STACK_REASON_DUMP_END);
	CHECK_EQ(step_from(memory.end + 4096, &registers), STACK_REASON_DUMP_END);
	CHECK(step_from(UINT64_MAX - 8, &registers) != STACK_REASON_NONE);
}

int main(void)
{
	RUN(a_record_in_the_dump);
	RUN(a_record_below_the_dump);
	RUN(a_record_above_the_dump);
	return test_done();
}
