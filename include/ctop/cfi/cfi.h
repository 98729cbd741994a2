/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_CFI_H
#define CTOP_CFI_CFI_H

/* The rules of one module, evaluated on first touch and kept by range. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/cfi/rule.h>
#include <ctop/code/code_rules.h>
#include <ctop/elf/go_functions.h>

struct cfi;
struct object;

/* The unwind tables of one module, with the ranges already evaluated. Shared between processes. */
struct cfi *cfi_new(struct object *object); /* borrows object; NULL: out of memory */
void cfi_free(struct cfi *cfi);

/*
 * watch is called with true before anything of the module's file is read for a rule, and with false after
 * it: who reads untrusted tables may want to leave word of it.
 */
void cfi_set_watch(struct cfi *cfi, void (*watch)(void *context, bool reading), void *context);

/*
 * The rule at an elf address: RULE_NONE when nothing covers it. Flags about the code are not filled in.
 * True when it had to be evaluated.
 */
bool cfi_rule(struct cfi *cfi, uint64_t elf_address, struct rule *rule);

/* The long rule number `offset` of a RULE_LONG that cfi_rule() gave; valid as long as the cfi. */
const struct long_rule *cfi_long_rule(const struct cfi *cfi, int32_t number);

/* The function of a Go program that an elf address is in, by its runtime's own table; false: there is none. */
bool cfi_go_function(struct cfi *cfi, uint64_t elf_address, struct go_function *function);

/* The rule at an elf address that no table covers, as the module's code tells it: code_rules_find(). */
enum code_found cfi_code_rule(struct cfi *cfi, struct code_reader *reader, uint64_t elf_address,
			      bool after_call, struct code_rule *rule);

#endif
