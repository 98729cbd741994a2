/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_RULE_H
#define CTOP_CODE_CODE_RULE_H

/*
 * Rules where no table has any: read from the function's instructions. Two ways that must agree where both lead
 * somewhere: from the function's start to the address, and from there to its return. The code is untrusted: work is
 * bounded for a rule and for a module, and who uses a rule checks what it finds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/machine/machine.h>

/* A piece of code, at the address where a module's file has it. */
struct code_view {
	uint64_t serial;      /* unlike any other's; not 0 */
	const uint8_t *bytes; /* NULL: they are read, as constant data is */
	uint64_t start;
	size_t size;
	/* One bit a byte; NULL: not known. */
	const uint64_t *branched_to; /* some branch leads there */
	const uint64_t *starts;	     /* a function may begin there */
	const uint64_t *parts;	     /* a part of a function that lies elsewhere may begin there */
	/* Constant data: for jump tables. NULL: there is none. */
	bool (*read)(const void *context, uint64_t address, void *bytes, size_t size);
	const void *context;
	uint64_t read_steps; /* what one read costs, in instructions */
};

enum code_ways { CODE_FROM_START = 1, CODE_TO_RETURN = 2 };

struct code_location {
	uint8_t reg; /* the 8 bytes at this register + offset; UNWIND_PC: at the CFA + offset */
	bool known;  /* it was saved; else it still has its value, unless it is lost */
	bool lost;
	int32_t offset;
};

struct code_rule {
	uint8_t ways; /* enum code_ways; 0: no rule */
	uint8_t cfa_register;
	bool in_memory; /* CFA = *(cfa_register + offset) + add; else cfa_register + offset */
	int32_t offset, add;
	uint64_t start; /* CODE_FROM_START: where the function begins */
	bool guessed; /* that is only where the one before it has ended, or another one may begin on the way */
	struct code_location saved[MACHINE_NR_SAVED];
};

/* What an analysis may cost, in instructions. */
enum { CODE_RULE_MAX_STEPS = 1 << 17 };

struct code_reader; /* memory for the work, for any number of rules in turn */
struct code_reader *code_reader_new(void);
void code_reader_free(struct code_reader *reader);
/* How much of modules' code may be read for now: the caller's to fill up. 0 at first. */
uint64_t *code_reader_allowance(struct code_reader *reader);

/* From a first instruction to where the next function starts. */
struct code_function {
	uint64_t start, end;
};

/* Functions that an address may be in, those first that are more likely; all of them in the view. */
enum { CODE_FUNCTIONS_MAX = 32 };
struct code_functions {
	struct code_function items[CODE_FUNCTIONS_MAX];
	size_t nr;
	size_t nearest; /* the one that the address lies behind, if nr is not 0 */
};

/*
 * The rule at address. after_call: a call ends with the byte there. Takes what it cost from *steps, and gives none when
 * that is not enough.
 */
struct code_rule code_rule_read(struct code_reader *reader, const struct code_view *view,
				const struct code_functions *functions, uint64_t address,
				bool after_call, uint64_t *steps);

#endif
