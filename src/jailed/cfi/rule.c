/* SPDX-License-Identifier: MIT */
#include <ctop/cfi/rule.h>

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include <ctop/elf/object.h>

#include "frame_program.h"

/* Operations of an expression that is read without libdw; that of the PLT has nine. */
enum { ROW_EXPRESSION_MAX_OPS = 24 };

static bool is_saved(unsigned number)
{
	return MACHINE_SAVED_MASK >> number & 1;
}

static int take_expression(const Dwarf_Op *ops, size_t nr_ops, enum recovery_kind kind,
			   struct recovery *recovery, struct long_rule *rule)
{
	int nr = expression_copy(ops, nr_ops, rule->ops + rule->nr_ops,
				 LONG_RULE_MAX_OPS - rule->nr_ops);
	if (nr < 0)
		return nr;
	recovery->kind = (uint8_t)kind;
	recovery->first_op = (uint16_t)rule->nr_ops;
	recovery->nr_ops = (uint16_t)nr;
	rule->nr_ops += (uint32_t)nr;
	return 0;
}

/* "register + offset" as a single operation. */
static bool is_register_plus(const Dwarf_Op *op, uint8_t *reg, int64_t *offset)
{
	uint64_t number = op->atom == DW_OP_bregx ? op->number : (uint64_t)op->atom - DW_OP_breg0;
	if (op->atom != DW_OP_bregx && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31))
		return false;
	if (number >= UNWIND_NR_REGS)
		return false;
	*reg = (uint8_t)number;
	*offset = (int64_t)(op->atom == DW_OP_bregx ? op->number2 : op->number);
	return true;
}

/* A register's location or value, as dwarf_frame_register() gives it. */
static int take_location(const Dwarf_Op *ops, size_t nr_ops, struct recovery *recovery,
			 struct long_rule *rule)
{
	bool is_value = nr_ops > 0 && ops[nr_ops - 1].atom == DW_OP_stack_value;
	size_t nr = nr_ops - is_value;
	/* Every expression of CFI starts with the CFA on the stack; the short ones ignore it. */
	size_t skip = nr > 0 && ops[0].atom == DW_OP_call_frame_cfa;
	const Dwarf_Op *op = ops + skip;

	if (nr == skip) {
		if (!skip)
			return -EINVAL;
		recovery->kind = is_value ? RECOVERY_CFA : RECOVERY_AT_CFA;
		return 0;
	}
	if (nr == skip + 1) {
		if (skip && op->atom == DW_OP_plus_uconst) {
			recovery->kind = is_value ? RECOVERY_CFA : RECOVERY_AT_CFA;
			recovery->offset = (int64_t)op->number;
			return 0;
		}
		if (op->atom == DW_OP_regx) {
			if (op->number >= UNWIND_NR_REGS)
				return -EINVAL;
			recovery->kind = RECOVERY_REGISTER;
			recovery->reg = (uint8_t)op->number;
			return 0;
		}
		if (is_register_plus(op, &recovery->reg, &recovery->offset)) {
			recovery->kind = is_value ? RECOVERY_REGISTER : RECOVERY_AT_REGISTER;
			return 0;
		}
	}
	return take_expression(ops, nr, is_value ? RECOVERY_EXPRESSION : RECOVERY_AT_EXPRESSION,
			       recovery, rule);
}

/*
 * Of a register that has neither location nor value. libdw's defaults for x86-64 name column 0 where rbx (3) is meant: it
 * answers "same value" for rax and "undefined" for rbx when CFI says nothing of them. So the ABI decides about these.
 */
static enum recovery_kind kind_of_unsaved(unsigned number, bool same)
{
	return is_saved(number) || (same && number != 0) ? RECOVERY_SAME : RECOVERY_UNDEFINED;
}

static int take_register(Dwarf_Frame *frame, int column, unsigned number, struct recovery *recovery,
			 struct long_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t nr_ops;
	if (dwarf_frame_register(frame, column, memory, &ops, &nr_ops) != 0)
		return -EINVAL;
	if (nr_ops > 0)
		return take_location(ops, nr_ops, recovery, rule);
	recovery->kind = kind_of_unsaved(number, ops == NULL);
	return 0;
}

static int take_cfa(const Dwarf_Op *ops, size_t nr_ops, struct recovery *cfa,
		    struct long_rule *rule)
{
	if (nr_ops == 0)
		return -EINVAL;
	if (nr_ops == 1 && is_register_plus(&ops[0], &cfa->reg, &cfa->offset)) {
		cfa->kind = RECOVERY_REGISTER;
		return 0;
	}
	return take_expression(ops, nr_ops, RECOVERY_EXPRESSION, cfa, rule);
}

static bool is_constant(const struct expression_op *op, uint64_t *value)
{
	bool literal = op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31;
	*value = literal ? (uint64_t)(op->atom - DW_OP_lit0) : op->number;
	return literal || op->atom == DW_OP_const1u || op->atom == DW_OP_const1s ||
	       op->atom == DW_OP_constu || op->atom == DW_OP_consts;
}

static bool is_register_op(const struct expression_op *op, unsigned number)
{
	return op->atom == DW_OP_breg0 + number;
}

/* breg R a; deref; [plus_uconst b]: where a function put its caller's stack pointer by hand. */
static bool shorten_dereference(const struct expression_op *ops, size_t nr_ops, struct rule *rule)
{
	if (nr_ops < 2 || nr_ops > 3 || ops[1].atom != DW_OP_deref)
		return false;
	if (ops[0].atom < DW_OP_breg0 || ops[0].atom >= DW_OP_breg0 + UNWIND_NR_REGS)
		return false;
	int64_t offset = (int64_t)ops[0].number;
	uint64_t add = nr_ops == 3 ? ops[2].number : 0;
	if (nr_ops == 3 && ops[2].atom != DW_OP_plus_uconst)
		return false;
	if (offset < INT32_MIN || offset > INT32_MAX || add > INT16_MAX)
		return false;
	rule->kind = RULE_DEREF;
	rule->cfa_register = (uint8_t)(ops[0].atom - DW_OP_breg0);
	rule->offset = (int32_t)offset;
	rule->add = (int16_t)add;
	return true;
}

/* What linkers write for .plt: rsp + 8 + (((rip & 15) >= n) << 3). */
static bool shorten_plt(const struct expression_op *ops, size_t nr_ops, struct rule *rule)
{
	uint64_t mask, from, shift;
	if (nr_ops != 9 || !is_register_op(&ops[0], UNWIND_SP) ||
	    !is_register_op(&ops[1], UNWIND_PC) || ops[1].number != 0 ||
	    !is_constant(&ops[2], &mask) || mask != 15 || ops[3].atom != DW_OP_and ||
	    !is_constant(&ops[4], &from) || from > 16 || ops[5].atom != DW_OP_ge ||
	    !is_constant(&ops[6], &shift) || shift != 3 || ops[7].atom != DW_OP_shl ||
	    ops[8].atom != DW_OP_plus || ops[0].number > INT16_MAX)
		return false;
	rule->kind = RULE_PLT;
	rule->cfa_register = UNWIND_SP;
	rule->offset = (int32_t)ops[0].number;
	rule->add = (int16_t)from;
	return true;
}

/* How many words below the CFA a register was saved; 0: nowhere there. */
static uint8_t slot_of(const struct recovery *recovery)
{
	int64_t below = (int64_t)(0 - (uint64_t)recovery->offset);
	if (recovery->kind != RECOVERY_AT_CFA || below <= 0 || below % MACHINE_ADDRESS_BYTES != 0 ||
	    below / MACHINE_ADDRESS_BYTES > UINT8_MAX)
		return 0;
	return (uint8_t)(below / MACHINE_ADDRESS_BYTES);
}

static bool is_link(unsigned number)
{
	return MACHINE_HAS_LINK && number == machine_saved[MACHINE_NR_SAVED - 1];
}

/* True when the registers are where ordinary code has them; fills rule->saved. */
static bool shorten_registers(const struct long_rule *from, struct rule *rule)
{
	const struct recovery *registers = from->registers;
	const struct recovery *pc = &registers[UNWIND_PC];
	uint8_t return_slot = slot_of(pc);
	bool in_link = pc->kind == RECOVERY_REGISTER && pc->offset == 0 && is_link(pc->reg);
	if ((return_slot == 0 && !in_link) || registers[UNWIND_SP].kind != RECOVERY_CFA ||
	    registers[UNWIND_SP].offset != 0)
		return false;
	for (unsigned i = 0; i < UNWIND_PC; i++)
		if (!is_saved(i) && i != UNWIND_SP && registers[i].kind != RECOVERY_UNDEFINED)
			return false;
	rule->deepest = return_slot ? return_slot : 1;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		const struct recovery *recovery = &registers[machine_saved[i]];
		if (recovery->kind == RECOVERY_SAME || is_link(machine_saved[i]))
			continue;
		rule->saved[i] = slot_of(recovery);
		if (rule->saved[i] == 0)
			return false;
		if (rule->saved[i] > rule->deepest)
			rule->deepest = rule->saved[i];
	}
	return machine_set_return_slot(rule->saved, return_slot);
}

static bool shorten(const struct long_rule *from, struct rule *rule)
{
	const struct recovery *cfa = &from->cfa;
	if (!shorten_registers(from, rule))
		return false;
	if (cfa->kind == RECOVERY_REGISTER) {
		if (cfa->offset < INT32_MIN || cfa->offset > INT32_MAX)
			return false;
		rule->kind = RULE_OFFSET;
		rule->cfa_register = cfa->reg;
		rule->offset = (int32_t)cfa->offset;
		return true;
	}
	const struct expression_op *ops = from->ops + cfa->first_op;
	return shorten_dereference(ops, cfa->nr_ops, rule) || shorten_plt(ops, cfa->nr_ops, rule);
}

/* -ENOENT when the return address is undefined, -EINVAL when it makes no sense. */
static int complete_return(struct recovery *pc, unsigned return_column)
{
	if (pc->kind == RECOVERY_UNDEFINED)
		return -ENOENT;
	if (pc->kind == RECOVERY_SAME) {
		if (!is_link(return_column))
			return -EINVAL; /* a function that is its own caller */
		*pc = (struct recovery){.kind = RECOVERY_REGISTER, .reg = (uint8_t)return_column};
	}
	return 0;
}

/* Reads the whole row. -EINVAL when it is malformed, -ENOENT when the return address is undefined. */
static int read_row(Dwarf_Frame *frame, struct long_rule *rule, bool *is_signal)
{
	int return_column = dwarf_frame_info(frame, NULL, NULL, is_signal);
	if (return_column < 0)
		return -EINVAL;
	/* The return address first: where it is undefined the rest does not matter. */
	struct recovery *pc = &rule->registers[UNWIND_PC];
	Dwarf_Op *ops;
	size_t nr_ops;
	int failure = take_register(frame, return_column, UNWIND_PC, pc, rule);
	if (failure)
		return failure;
	failure = complete_return(pc, (unsigned)return_column);
	if (failure)
		return failure;
	if (dwarf_frame_cfa(frame, &ops, &nr_ops) != 0)
		return -EINVAL;
	failure = take_cfa(ops, nr_ops, &rule->cfa, rule);
	if (failure)
		return failure;
	for (unsigned i = 0; i < UNWIND_PC; i++) {
		if (is_link(i))
			continue; /* undefined: no caller gets back what it called with */
		failure = take_register(frame, (int)i, i, &rule->registers[i], rule);
		if (failure)
			return failure;
	}
	return 0;
}

/*
 * A return address that lies at the CFA or above it belongs to this frame still: glibc's resolver for arm64
 * (sysdeps/aarch64/dl-trampoline.S) starts with what the PLT has pushed for it. The caller's stack begins behind it.
 */
static void include_return_address(struct long_rule *rule)
{
	const struct recovery *pc = &rule->registers[UNWIND_PC];
	if (!MACHINE_HAS_LINK || rule->cfa.kind != RECOVERY_REGISTER ||
	    pc->kind != RECOVERY_AT_CFA || pc->offset < 0 || pc->offset >= INT16_MAX)
		return;
	const uint64_t above = (uint64_t)pc->offset + MACHINE_ADDRESS_BYTES;
	rule->cfa.offset = (int64_t)((uint64_t)rule->cfa.offset + above);
	for (unsigned i = 0; i < UNWIND_NR_REGS; i++)
		if (rule->registers[i].kind == RECOVERY_AT_CFA)
			rule->registers[i].offset =
				(int64_t)((uint64_t)rule->registers[i].offset - above);
}

/* Of a row that is read and makes sense. */
static void finish(struct long_rule *scratch, bool is_signal, struct rule *rule)
{
	if (is_signal)
		rule->flags |= RULE_SIGNAL;
	else
		include_return_address(scratch);
	if (scratch->nr_ops > 0)
		rule->flags |= RULE_EXPRESSION;
	/* A signal frame restores every register, which the short form cannot say. */
	if (is_signal || !shorten(scratch, rule)) {
		*rule = (struct rule){.kind = RULE_LONG, .flags = rule->flags};
	}
}

void rule_from_frame(Dwarf_Frame *frame, struct rule *rule, struct long_rule *scratch)
{
	bool is_signal = false;
	memset(scratch, 0, sizeof(*scratch));
	*rule = (struct rule){.kind = RULE_BAD};
	int failure = read_row(frame, scratch, &is_signal);
	if (failure)
		rule->kind = failure == -ENOENT ? RULE_ROOT : RULE_BAD;
	else
		finish(scratch, is_signal, rule);
}

/* ---- rows that were read without libdw ---- */

/* The operations as libdw gives them: those of a register's begin with the CFA, and end with what says that it is a value. */
static int take_row_expression(const struct frame_row *row, const struct frame_column *column,
			       struct recovery *recovery, struct long_rule *rule)
{
	Dwarf_Op ops[ROW_EXPRESSION_MAX_OPS + 2];
	const bool is_cfa = column == &row->cfa;
	size_t nr = 0;
	if (!is_cfa)
		ops[nr++] = (Dwarf_Op){.atom = DW_OP_call_frame_cfa};
	const int nr_read = expression_read(row->section + column->offset, column->expression_bytes,
					    ops + nr, ROW_EXPRESSION_MAX_OPS);
	if (nr_read <= 0)
		return -ENOTSUP;
	nr += (size_t)nr_read;
	if (is_cfa)
		return take_cfa(ops, nr, recovery, rule);
	if (column->kind == RECOVERY_EXPRESSION)
		ops[nr++] = (Dwarf_Op){.atom = DW_OP_stack_value};
	return take_location(ops, nr, recovery, rule);
}

static int take_column(const struct frame_row *row, const struct frame_column *column,
		       unsigned number, struct recovery *recovery, struct long_rule *rule)
{
	if (column->expression_bytes)
		return take_row_expression(row, column, recovery, rule);
	recovery->kind = column->kind;
	recovery->reg = column->reg;
	recovery->offset = column->offset;
	if (column->kind == RECOVERY_UNDEFINED || column->kind == RECOVERY_SAME)
		recovery->kind = (uint8_t)kind_of_unsaved(number, column->kind == RECOVERY_SAME);
	return 0;
}

/* As read_row(), with another -errno when libdw is to say what comes of the row. */
static int read_columns(const struct frame_row *row, struct long_rule *rule)
{
	struct recovery *pc = &rule->registers[UNWIND_PC];
	if (row->return_column != MACHINE_RETURN_COLUMN)
		return -ENOTSUP;
	int failure = take_column(row, &row->registers[row->return_column], UNWIND_PC, pc, rule);
	if (!failure)
		failure = complete_return(pc, row->return_column);
	if (failure)
		return failure;
	if (row->cfa.kind == RECOVERY_UNDEFINED)
		return -EINVAL;
	failure = take_column(row, &row->cfa, UNWIND_PC, &rule->cfa, rule);
	for (unsigned i = 0; i < UNWIND_PC && !failure; i++)
		if (!is_link(i))
			failure =
				take_column(row, &row->registers[i], i, &rule->registers[i], rule);
	return failure;
}

bool rule_from_row(const struct frame_row *row, struct rule *rule, struct long_rule *scratch)
{
	memset(scratch, 0, sizeof(*scratch));
	*rule = (struct rule){.kind = RULE_ROOT};
	const int failure = read_columns(row, scratch);
	if (failure)
		return failure == -ENOENT;
	finish(scratch, false, rule);
	return true;
}

uint8_t rule_flags_of_function(struct object *object, uint64_t elf_address)
{
	enum known_function function = object_known_function(object, elf_address);
	if (function == FUNCTION_ROOT)
		return RULE_IN_ROOT_FUNCTION;
	return function == FUNCTION_ORDINARY ? 0 : RULE_IN_KNOWN_FUNCTION;
}
