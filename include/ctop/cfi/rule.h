/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_RULE_H
#define CTOP_CFI_RULE_H

/*
 * How to get from one frame's registers to its caller's. Nearly every row of real
 * CFI fits the 16 bytes of struct rule, which is what the caches hold; the rest (signal frames,
 * realigned stacks, hand-written code) is a struct long_rule, kept with its module's tables.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <elfutils/libdw.h>

#include <ctop/cfi/expression.h>
#include <ctop/machine/machine.h>

enum rule_kind {
	RULE_NONE,   /* no table covers the address */
	RULE_BAD,    /* one does, but makes no sense */
	RULE_ROOT,   /* the return address is undefined: the outermost frame */
	RULE_OFFSET, /* CFA = cfa_register + offset */
	RULE_DEREF,  /* CFA = *(cfa_register + offset) + add */
	RULE_PLT, /* x86-64: CFA = rsp + offset, + 8 once (rip & 15) >= add: the stub has pushed */
	RULE_LONG /* long rule number `offset` of the module */
};

enum rule_flags {
	/* From the module's tables. */
	RULE_SIGNAL = 1,	    /* the caller was interrupted here: its pc is exact */
	RULE_IN_ROOT_FUNCTION = 2,  /* object_known_function(): FUNCTION_ROOT */
	RULE_IN_KNOWN_FUNCTION = 4, /* another one that is known */
	RULE_EXPRESSION = 8,	    /* takes a DWARF expression */
	/* From the code that follows the look-up address, when that is a return address - 1. */
	RULE_AFTER_CALL = 16,	   /* a call instruction ends there */
	RULE_CODE_UNREADABLE = 32, /* it could not be told */
	RULE_RESTORER = 64,	   /* a signal handler would return to there */
	RULE_STARTS_STACK =
		128, /* no call ends there: it was put below a coroutine's function, and leaves the stack */
};

/* In every kind but LONG machine_return_slot() says where the return address is; the caller's stack ends at the CFA. */
struct rule {
	int32_t offset;
	int16_t add;
	uint8_t kind;
	uint8_t flags;
	uint8_t cfa_register;
	uint8_t saved[MACHINE_NR_SAVED]; /* of machine_saved[i]: 0 unchanged, k at CFA - 8k */
	uint8_t deepest;		 /* the largest of them; at least 1, the return address */
};

enum recovery_kind {
	RECOVERY_UNDEFINED,
	RECOVERY_SAME,
	RECOVERY_AT_CFA,      /* *(CFA + offset) */
	RECOVERY_CFA,	      /* CFA + offset */
	RECOVERY_AT_REGISTER, /* *(reg + offset) */
	RECOVERY_REGISTER,    /* reg + offset */
	RECOVERY_AT_EXPRESSION,
	RECOVERY_EXPRESSION
};

struct recovery {
	int64_t offset;
	uint16_t first_op, nr_ops;
	uint8_t kind;
	uint8_t reg;
	uint8_t unused[2];
};

enum { LONG_RULE_MAX_OPS = 128 };

struct long_rule {
	struct recovery cfa;
	struct recovery registers[UNWIND_NR_REGS];
	uint32_t nr_ops;
	uint32_t unused;
	struct expression_op ops[]; /* LONG_RULE_MAX_OPS of them while it is being made */
};

#define LONG_RULE_MAX_BYTES                                                                        \
	(sizeof(struct long_rule) + LONG_RULE_MAX_OPS * sizeof(struct expression_op))

static inline size_t long_rule_bytes(const struct long_rule *rule)
{
	return sizeof(*rule) + rule->nr_ops * sizeof(rule->ops[0]);
}

struct object;
/* RULE_IN_ROOT_FUNCTION, RULE_IN_KNOWN_FUNCTION or neither. */
uint8_t rule_flags_of_function(struct object *object, uint64_t elf_address);

/*
 * Makes the rule of a row of CFI. When its kind comes out as RULE_LONG, *scratch (LONG_RULE_MAX_BYTES)
 * holds the rest and the caller sets rule->offset to where it keeps it.
 */
void rule_from_frame(Dwarf_Frame *frame, struct rule *rule, struct long_rule *scratch);

struct frame_row;
/*
 * The same of a row that was read without libdw: always what rule_from_frame() would make. False when it is one of the
 * few that are left to libdw.
 */
bool rule_from_row(const struct frame_row *row, struct rule *rule, struct long_rule *scratch);

#endif
