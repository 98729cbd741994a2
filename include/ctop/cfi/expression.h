/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_EXPRESSION_H
#define CTOP_CFI_EXPRESSION_H

/*
 * DWARF expressions as CFI uses them, copied out of libdw's memory with their
 * branches resolved, or read from their bytes where they have none, and a bounded evaluator for them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include <ctop/stack_end.h>
#include <ctop/machine/machine.h>
#include <ctop/machine/memory.h>

struct expression_op {
	uint64_t number, number2;
	uint16_t target; /* of a branch: the index of the next operation */
	uint8_t atom;
	uint8_t unused[5]; /* zero, so that equal operations are equal bytes */
};

/*
 * Reads the operations of an expression, as libdw would. Returns how many, or -ENOTSUP where there are more than room, or one
 * that is left to libdw: branches, addresses, and what the evaluator does not know.
 */
int expression_read(const uint8_t *bytes, size_t size, Dwarf_Op *ops, size_t room);

/*
 * Copies operations. Returns how many, or -EINVAL when there are more than room or one
 * that the evaluator does not know.
 */
int expression_copy(const Dwarf_Op *ops, size_t nr_ops, struct expression_op *copy, size_t room);

struct expression_input {
	const struct registers *registers;
	const struct memory *memory;
	const uint64_t *cfa; /* NULL: this is the expression of the CFA itself */
};

/*
 * The value left on top of the expression's stack. STACK_REASON_BAD_CFI when the expression
 * overflows a bound or makes no sense, NO_RULE when it needs a register that is not
 * known, or the reason of a failed memory read.
 */
enum stack_reason expression_evaluate(const struct expression_op *ops, size_t nr_ops,
				      const struct expression_input *input, uint64_t *value);

#endif
