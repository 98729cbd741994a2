/* SPDX-License-Identifier: MIT */
#include <ctop/cfi/expression.h>

#include <dwarf.h>
#include <errno.h>

#include <ctop/elf/dwarf_bytes.h>

enum {
	STACK_MAX = 32,
	STEPS_MAX = 512, /* a loop in hostile CFI ends here */
	BRANCH_BYTES = 3,
	OP_MAX_BYTES = 21 /* two numbers of ten bytes each */
};

static bool is_known(uint8_t atom)
{
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return true;
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return true;
	switch (atom) {
	case DW_OP_addr:
	case DW_OP_deref:
	case DW_OP_deref_size:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_pick:
	case DW_OP_swap:
	case DW_OP_rot:
	case DW_OP_abs:
	case DW_OP_and:
	case DW_OP_div:
	case DW_OP_minus:
	case DW_OP_mod:
	case DW_OP_mul:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_plus_uconst:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_eq:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_ne:
	case DW_OP_skip:
	case DW_OP_bra:
	case DW_OP_bregx:
	case DW_OP_nop:
	case DW_OP_call_frame_cfa:
		return true;
	default:
		return false;
	}
}

/* The operands of an operation; false: it is one that is left to libdw. */
static bool read_operands(struct dwarf_bytes *bytes, Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		op->number = (uint64_t)dwarf_sleb(bytes);
		return true;
	}
	switch (op->atom) {
	case DW_OP_addr:
	case DW_OP_skip:
	case DW_OP_bra:
	case DW_OP_call_frame_cfa:
		return false;
	case DW_OP_const1u:
	case DW_OP_deref_size:
	case DW_OP_pick:
		op->number = dwarf_fixed(bytes, 1);
		return true;
	case DW_OP_const1s:
		op->number = (uint64_t)(int64_t)(int8_t)dwarf_fixed(bytes, 1);
		return true;
	case DW_OP_const2u:
		op->number = dwarf_fixed(bytes, 2);
		return true;
	case DW_OP_const2s:
		op->number = (uint64_t)(int64_t)(int16_t)dwarf_fixed(bytes, 2);
		return true;
	case DW_OP_const4u:
		op->number = dwarf_fixed(bytes, 4);
		return true;
	case DW_OP_const4s:
		op->number = (uint64_t)(int64_t)(int32_t)dwarf_fixed(bytes, 4);
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		op->number = dwarf_fixed(bytes, 8);
		return true;
	case DW_OP_constu:
	case DW_OP_plus_uconst:
		op->number = dwarf_uleb(bytes);
		return true;
	case DW_OP_consts:
		op->number = (uint64_t)dwarf_sleb(bytes);
		return true;
	case DW_OP_bregx:
		op->number = dwarf_uleb(bytes);
		op->number2 = (uint64_t)dwarf_sleb(bytes);
		return true;
	default:
		return is_known(op->atom);
	}
}

int expression_read(const uint8_t *bytes, size_t size, Dwarf_Op *ops, size_t room)
{
	struct dwarf_bytes left = dwarf_bytes(bytes, size);
	size_t nr = 0;
	while (left.at < left.end) {
		if (nr == room)
			return -ENOTSUP;
		const Dwarf_Word offset = (Dwarf_Word)(left.at - bytes);
		ops[nr] = (Dwarf_Op){.offset = offset, .atom = dwarf_u8(&left)};
		if (!read_operands(&left, &ops[nr++]) || left.bad)
			return -ENOTSUP;
	}
	return (int)nr;
}

/* The operation that a branch leads to, or -EINVAL; the end of the expression is one. */
static int branch_target(const Dwarf_Op *ops, size_t nr_ops, size_t branch)
{
	uint64_t target = ops[branch].offset + BRANCH_BYTES + (uint64_t)(int16_t)ops[branch].number;
	for (size_t i = 0; i < nr_ops; i++)
		if (ops[i].offset == target)
			return (int)i;
	/* libdw does not say how long the last operation is. */
	uint64_t beyond = target - ops[nr_ops - 1].offset;
	return beyond > 0 && beyond <= OP_MAX_BYTES ? (int)nr_ops : -EINVAL;
}

int expression_copy(const Dwarf_Op *ops, size_t nr_ops, struct expression_op *copy, size_t room)
{
	if (nr_ops == 0 || nr_ops > room || nr_ops > UINT16_MAX)
		return -EINVAL;
	for (size_t i = 0; i < nr_ops; i++) {
		if (!is_known(ops[i].atom))
			return -EINVAL;
		copy[i] = (struct expression_op){
			.atom = ops[i].atom, .number = ops[i].number, .number2 = ops[i].number2};
		if (ops[i].atom == DW_OP_skip || ops[i].atom == DW_OP_bra) {
			int target = branch_target(ops, nr_ops, i);
			if (target < 0)
				return target;
			copy[i].target = (uint16_t)target;
		}
	}
	return (int)nr_ops;
}

struct machine_stack {
	uint64_t items[STACK_MAX];
	size_t nr;
	bool fault; /* over- or underflow, division by zero */
};

static void push(struct machine_stack *stack, uint64_t value)
{
	if (stack->nr == STACK_MAX)
		stack->fault = true;
	else
		stack->items[stack->nr++] = value;
}

static uint64_t pop(struct machine_stack *stack)
{
	if (stack->nr == 0) {
		stack->fault = true;
		return 0;
	}
	return stack->items[--stack->nr];
}

/* Copies the item that lies depth below the top onto the top. */
static void pick(struct machine_stack *stack, uint64_t depth)
{
	if (depth >= stack->nr)
		stack->fault = true;
	else
		push(stack, stack->items[stack->nr - 1 - depth]);
}

static uint64_t shift_right_arithmetic(uint64_t value, uint64_t by)
{
	uint64_t sign = value >> 63 ? UINT64_MAX : 0;
	if (by == 0)
		return value;
	if (by > 63)
		return sign;
	return value >> by | sign << (64 - by);
}

static uint64_t divide(struct machine_stack *stack, uint64_t a, uint64_t b)
{
	if (b == 0) {
		stack->fault = true;
		return 0;
	}
	if (b == UINT64_MAX) /* -1: the quotient of INT64_MIN does not fit */
		return 0 - a;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo(struct machine_stack *stack, uint64_t a, uint64_t b)
{
	if (b == 0) {
		stack->fault = true;
		return 0;
	}
	return a % b;
}

/* Operations on the two topmost items; false when atom is none of them. */
static bool binary(struct machine_stack *stack, uint8_t atom)
{
	static const uint8_t atoms[] = {DW_OP_and, DW_OP_div,  DW_OP_minus, DW_OP_mod, DW_OP_mul,
					DW_OP_or,  DW_OP_plus, DW_OP_shl,   DW_OP_shr, DW_OP_shra,
					DW_OP_xor, DW_OP_eq,   DW_OP_ge,    DW_OP_gt,  DW_OP_le,
					DW_OP_lt,  DW_OP_ne};
	if (!memchr(atoms, atom, sizeof(atoms)))
		return false;
	uint64_t b = pop(stack), a = pop(stack), value = 0;
	switch (atom) {
	case DW_OP_and:
		value = a & b;
		break;
	case DW_OP_div:
		value = divide(stack, a, b);
		break;
	case DW_OP_minus:
		value = a - b;
		break;
	case DW_OP_mod:
		value = modulo(stack, a, b);
		break;
	case DW_OP_mul:
		value = a * b;
		break;
	case DW_OP_or:
		value = a | b;
		break;
	case DW_OP_plus:
		value = a + b;
		break;
	case DW_OP_shl:
		value = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		value = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		value = shift_right_arithmetic(a, b);
		break;
	case DW_OP_xor:
		value = a ^ b;
		break;
	case DW_OP_eq:
		value = a == b;
		break;
	case DW_OP_ge: /* comparisons are signed */
		value = (int64_t)a >= (int64_t)b;
		break;
	case DW_OP_gt:
		value = (int64_t)a > (int64_t)b;
		break;
	case DW_OP_le:
		value = (int64_t)a <= (int64_t)b;
		break;
	case DW_OP_lt:
		value = (int64_t)a < (int64_t)b;
		break;
	default:
		value = a != b;
		break;
	}
	push(stack, value);
	return true;
}

/* Operations on the stack alone that are not binary; false when atom is none of them. */
static bool shuffle(struct machine_stack *stack, const struct expression_op *op)
{
	uint64_t a, b, c;
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		pick(stack, 0);
		return true;
	case DW_OP_drop:
		pop(stack);
		return true;
	case DW_OP_over:
		pick(stack, 1);
		return true;
	case DW_OP_pick:
		pick(stack, op->number);
		return true;
	case DW_OP_swap:
		a = pop(stack), b = pop(stack);
		push(stack, a), push(stack, b);
		return true;
	case DW_OP_rot: /* the top goes below the next two */
		a = pop(stack), b = pop(stack), c = pop(stack);
		push(stack, a), push(stack, c), push(stack, b);
		return true;
	case DW_OP_abs:
		a = pop(stack);
		push(stack, a >> 63 ? 0 - a : a);
		return true;
	case DW_OP_neg:
		push(stack, 0 - pop(stack));
		return true;
	case DW_OP_not:
		push(stack, ~pop(stack));
		return true;
	case DW_OP_plus_uconst:
		push(stack, pop(stack) + op->number);
		return true;
	default:
		return false;
	}
}

static enum stack_reason push_register(struct machine_stack *stack,
				       const struct registers *registers, uint64_t number,
				       uint64_t offset)
{
	if (number >= UNWIND_NR_REGS)
		return STACK_REASON_BAD_CFI;
	if (!registers_know(registers, (unsigned)number))
		return STACK_REASON_NO_RULE;
	push(stack, registers->value[number] + offset);
	return STACK_REASON_NONE;
}

static enum stack_reason dereference(struct machine_stack *stack, const struct memory *memory,
				     uint64_t size)
{
	if (size == 0 || size > sizeof(uint64_t))
		return STACK_REASON_BAD_CFI;
	uint64_t value, address = pop(stack);
	if (stack->fault)
		return STACK_REASON_BAD_CFI;
	enum stack_reason reason = memory_read(memory, address, size, &value);
	push(stack, value);
	return reason;
}

/* Operations that bring in values from outside, constants included. */
static enum stack_reason fetch(struct machine_stack *stack, const struct expression_op *op,
			       const struct expression_input *input)
{
	uint8_t atom = op->atom;
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(stack, (uint64_t)(atom - DW_OP_lit0));
		return STACK_REASON_NONE;
	}
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return push_register(stack, input->registers, (uint64_t)(atom - DW_OP_breg0),
				     op->number);
	switch (atom) {
	case DW_OP_bregx:
		return push_register(stack, input->registers, op->number, op->number2);
	case DW_OP_deref:
		return dereference(stack, input->memory, sizeof(uint64_t));
	case DW_OP_deref_size:
		return dereference(stack, input->memory, op->number);
	case DW_OP_addr:
		push(stack, op->number + input->memory->bias);
		return STACK_REASON_NONE;
	case DW_OP_call_frame_cfa:
		if (!input->cfa)
			return STACK_REASON_BAD_CFI;
		push(stack, *input->cfa);
		return STACK_REASON_NONE;
	default: /* expression_copy() let through only constants beyond these */
		push(stack, op->number);
		return STACK_REASON_NONE;
	}
}

enum stack_reason expression_evaluate(const struct expression_op *ops, size_t nr_ops,
				      const struct expression_input *input, uint64_t *value)
{
	struct machine_stack stack = {.nr = 0};
	size_t at = 0;
	for (unsigned steps = 0; at < nr_ops; steps++) {
		const struct expression_op *op = &ops[at++];
		if (steps == STEPS_MAX)
			return STACK_REASON_BAD_CFI;
		if (op->atom == DW_OP_skip || (op->atom == DW_OP_bra && pop(&stack) != 0)) {
			at = op->target;
		} else if (op->atom != DW_OP_bra && !binary(&stack, op->atom) &&
			   !shuffle(&stack, op)) {
			enum stack_reason reason = fetch(&stack, op, input);
			if (reason)
				return reason;
		}
		if (stack.fault)
			return STACK_REASON_BAD_CFI;
	}
	*value = pop(&stack);
	return stack.fault ? STACK_REASON_BAD_CFI : STACK_REASON_NONE;
}
