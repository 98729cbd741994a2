/* SPDX-License-Identifier: MIT */
/* The DWARF expression evaluator: known answers, and bounds. */
#include <ctop/cfi/expression.h>

#include <dwarf.h>
#include <errno.h>

#include "test.h"

static const struct registers registers = {.value = {[0] = 10, [7] = 0x1000, [16] = 0x40b},
					   .known = 1U << 0 | 1U << 7 | 1U << 16};
static const uint64_t words[] = {0x1010, 0x8877665544332211, 42};
static const struct memory memory = {
	.stack = (const uint8_t *)words, .start = 0x1000, .end = 0x1018, .bias = 0x100};
static const uint64_t cfa = 0x1008;
static const struct expression_input input = {
	.registers = &registers, .memory = &memory, .cfa = &cfa};

#define OPS(...)                                                                                   \
	(const Dwarf_Op[]){__VA_ARGS__}, sizeof((Dwarf_Op[]){__VA_ARGS__}) / sizeof(Dwarf_Op)
#define OP(name)                                                                                   \
	{                                                                                          \
		.atom = DW_OP_##name                                                               \
	}
#define OP_WITH(name, ...)                                                                         \
	{                                                                                          \
		.atom = DW_OP_##name, __VA_ARGS__                                                  \
	}

static enum stack_reason evaluate(const Dwarf_Op *ops, size_t nr_ops, uint64_t *value)
{
	struct expression_op copy[64];
	int nr = expression_copy(ops, nr_ops, copy, 64);
	CHECK_EQ(nr, nr_ops);
	return expression_evaluate(copy, (size_t)nr, &input, value);
}

static uint64_t value_of(const Dwarf_Op *ops, size_t nr_ops)
{
	uint64_t value = 0;
	CHECK_EQ(evaluate(ops, nr_ops, &value), STACK_REASON_NONE);
	return value;
}

static enum stack_reason failure_of(const Dwarf_Op *ops, size_t nr_ops)
{
	uint64_t value;
	return evaluate(ops, nr_ops, &value);
}

static uint64_t binary(uint8_t atom, uint64_t a, uint64_t b)
{
	const Dwarf_Op ops[] = {
		OP_WITH(const8u, .number = a), OP_WITH(const8u, .number = b), {.atom = atom}};
	return value_of(ops, 3);
}

static void arithmetic(void)
{
	const uint64_t minus_7 = 0 - UINT64_C(7);
	CHECK_EQ(binary(DW_OP_plus, 3, 4), 7);
	CHECK_EQ(binary(DW_OP_minus, 3, 4), -1);
	CHECK_EQ(binary(DW_OP_mul, 3, 4), 12);
	CHECK_EQ(binary(DW_OP_div, minus_7, 2), -3); /* signed */
	CHECK_EQ(binary(DW_OP_div, 5, UINT64_MAX), -5);
	CHECK_EQ(binary(DW_OP_div, UINT64_C(1) << 63, UINT64_MAX), INT64_MIN);
	CHECK_EQ(binary(DW_OP_mod, 7, 4), 3);
	CHECK_EQ(binary(DW_OP_and, 12, 10), 8);
	CHECK_EQ(binary(DW_OP_or, 12, 10), 14);
	CHECK_EQ(binary(DW_OP_xor, 12, 10), 6);
	CHECK_EQ(binary(DW_OP_shl, 1, 63), INT64_MIN);
	CHECK_EQ(binary(DW_OP_shl, 1, 64), 0);
	CHECK_EQ(binary(DW_OP_shr, UINT64_MAX, 60), 15);
	CHECK_EQ(binary(DW_OP_shr, 1, 64), 0);
	CHECK_EQ(binary(DW_OP_shra, minus_7, 1), -4);
	CHECK_EQ(binary(DW_OP_shra, minus_7, 0), -7);
	CHECK_EQ(binary(DW_OP_shra, minus_7, 100), -1);
	CHECK_EQ(binary(DW_OP_shra, 7, 100), 0);
	CHECK_EQ(value_of(OPS(OP(lit31), OP(neg))), -31);
	CHECK_EQ(value_of(OPS(OP(lit31), OP(neg), OP(abs))), 31);
	CHECK_EQ(value_of(OPS(OP(lit0), OP(not ))), -1);
	CHECK_EQ(value_of(OPS(OP(lit1), OP_WITH(plus_uconst, .number = 9))), 10);
}

static void comparisons_are_signed(void)
{
	CHECK_EQ(binary(DW_OP_lt, UINT64_MAX, 0), 1);
	CHECK_EQ(binary(DW_OP_le, 1, 1), 1);
	CHECK_EQ(binary(DW_OP_gt, UINT64_MAX, 0), 0);
	CHECK_EQ(binary(DW_OP_ge, 0, UINT64_MAX), 1);
	CHECK_EQ(binary(DW_OP_eq, 5, 5), 1);
	CHECK_EQ(binary(DW_OP_ne, 5, 5), 0);
}

static void the_stack_is_shuffled(void)
{
	CHECK_EQ(value_of(OPS(OP(lit1), OP(lit2), OP(swap), OP(minus))), 1);
	CHECK_EQ(value_of(OPS(OP(lit1), OP(lit2), OP(drop))), 1);
	CHECK_EQ(value_of(OPS(OP(lit7), OP(lit2), OP(over))), 7);
	CHECK_EQ(value_of(OPS(OP(lit7), OP(lit2), OP(lit3), OP_WITH(pick, .number = 2))), 7);
	CHECK_EQ(value_of(OPS(OP(lit7), OP(dup), OP(plus))), 14);
	/* rot: the top becomes the third, so that below it the former third is second. */
	CHECK_EQ(value_of(OPS(OP(lit1), OP(lit2), OP(lit3), OP(rot))), 2);
	CHECK_EQ(value_of(OPS(OP(lit1), OP(lit2), OP(lit3), OP(rot), OP(drop))), 1);
	CHECK_EQ(value_of(OPS(OP(lit1), OP(lit2), OP(lit3), OP(rot), OP(drop), OP(drop))), 3);
}

static void registers_and_memory(void)
{
	CHECK_EQ(value_of(OPS(OP_WITH(breg7, .number = 8))), 0x1008);
	CHECK_EQ(value_of(OPS(OP_WITH(bregx, .number = 7, .number2 = 8))), 0x1008);
	CHECK_EQ(value_of(OPS(OP_WITH(breg7, .number = 16), OP(deref))), 42);
	CHECK_EQ(value_of(OPS(OP(breg7), OP(deref), OP(deref))), 42);
	CHECK_EQ(value_of(OPS(OP_WITH(breg7, .number = 8), OP_WITH(deref_size, .number = 2))),
		 0x2211);
	CHECK_EQ(value_of(OPS(OP(call_frame_cfa))), 0x1008);
	CHECK_EQ(value_of(OPS(OP_WITH(addr, .number = 0x20))), 0x120);
	/* What a linker writes for .plt, at a pc that ends in 0xb. */
	CHECK_EQ(value_of(OPS(OP_WITH(breg7, .number = 8), OP(breg16), OP(lit15), OP(and),
			      OP(lit11), OP(ge), OP(lit3), OP(shl), OP(plus))),
		 0x1010);
}

static void branches(void)
{
	/* Counts 3 down to 0: lit3; 1: lit1; minus; dup; bra 1. */
	CHECK_EQ(value_of(OPS(OP_WITH(lit3, .offset = 0), OP_WITH(lit1, .offset = 1),
			      OP_WITH(minus, .offset = 2), OP_WITH(dup, .offset = 3),
			      OP_WITH(bra, .offset = 4, .number = (uint64_t)-6))),
		 0);
	/* Over the next operation, and to the end. */
	CHECK_EQ(value_of(OPS(OP_WITH(lit5, .offset = 0), OP_WITH(skip, .offset = 1, .number = 1),
			      OP_WITH(neg, .offset = 4), OP_WITH(skip, .offset = 5, .number = 1),
			      OP_WITH(neg, .offset = 8))),
		 5);
}

static void what_makes_no_sense_is_refused(void)
{
	CHECK_EQ(failure_of(OPS(OP(plus))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(nop))), STACK_REASON_BAD_CFI); /* leaves nothing */
	CHECK_EQ(failure_of(OPS(OP(lit1), OP(lit0), OP(div))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP(lit0), OP(mod))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP_WITH(pick, .number = 1))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP_WITH(pick, .number = UINT64_MAX))),
		 STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(deref))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP_WITH(deref_size, .number = 9))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP_WITH(deref_size, .number = 0))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP(lit1), OP(deref))), STACK_REASON_BAD_ADDRESS);
	CHECK_EQ(failure_of(OPS(OP_WITH(breg7, .number = 17), OP(deref))), STACK_REASON_DUMP_END);
	CHECK_EQ(failure_of(OPS(OP(breg3))), STACK_REASON_NO_RULE); /* not known */
	CHECK_EQ(failure_of(OPS(OP_WITH(bregx, .number = UNWIND_NR_REGS))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP_WITH(bregx, .number = UINT64_MAX))), STACK_REASON_BAD_CFI);
	CHECK_EQ(failure_of(OPS(OP_WITH(skip, .number = (uint64_t)-3))), STACK_REASON_BAD_CFI);
	/* dup for ever */
	CHECK_EQ(failure_of(OPS(OP(lit0), OP_WITH(dup, .offset = 1),
				OP_WITH(skip, .offset = 2, .number = (uint64_t)-4))),
		 STACK_REASON_BAD_CFI);
}

static void what_cannot_be_evaluated_is_not_copied(void)
{
	struct expression_op copy[2];
	const Dwarf_Op unknown = OP(entry_value);
	const Dwarf_Op wild = OP_WITH(bra, .number = 1000);
	const Dwarf_Op back = OP_WITH(skip, .number = (uint64_t)-4);
	const Dwarf_Op many[3] = {OP(lit0), OP(lit0), OP(lit0)};
	CHECK_EQ(expression_copy(&unknown, 1, copy, 2), -EINVAL);
	CHECK_EQ(expression_copy(&wild, 1, copy, 2), -EINVAL);
	CHECK_EQ(expression_copy(&back, 1, copy, 2), -EINVAL);
	CHECK_EQ(expression_copy(many, 3, copy, 2), -EINVAL);
	CHECK_EQ(expression_copy(many, 0, copy, 2), -EINVAL);
}

int main(void)
{
	RUN(arithmetic);
	RUN(comparisons_are_signed);
	RUN(the_stack_is_shuffled);
	RUN(registers_and_memory);
	RUN(branches);
	RUN(what_makes_no_sense_is_refused);
	RUN(what_cannot_be_evaluated_is_not_copied);
	return test_done();
}
